"""A module of somebody who has made a mistake."""

DECLARED = 1 // 0
