"""Shapes of the API by name: ninja keeps one per name, so a second one would take the place of the first."""

from __future__ import annotations

from collections import Counter

from ninja import Schema

from console.api.http import routers  # noqa: F401  (imports every module that defines a shape)


def _shapes(kind: type) -> set[type]:
    return {kind, *(deeper for each in kind.__subclasses__() for deeper in _shapes(each))}


def test_each_shape_has_a_name_of_its_own() -> None:
    ours = [each.__name__ for each in _shapes(Schema) if each.__module__.startswith("console.")]
    assert len(ours) > 30
    assert [name for name, count in Counter(ours).items() if count > 1] == []
