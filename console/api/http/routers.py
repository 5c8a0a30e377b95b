"""Routers that several modules add to: ninja keeps the methods of one address together only within one router."""

from ninja import Router

topics = Router()
