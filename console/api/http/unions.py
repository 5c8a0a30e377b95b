"""What is wrong with a value that may be of several kinds, in one sentence: the checks tell of every kind apart, by a
name of their own in the path, which no caller has sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

KINDS = {"str": ("string", "text"), "int": ("int", "a whole number")}
OF_ANOTHER_KIND = ("string_type", "int_type", "int_parsing", "int_from_float", "model_attributes_type")


class Wrong(NamedTuple):
    """One thing that is: where, by pydantic's word for it, and in a sentence."""

    path: tuple[Any, ...]
    kind: str
    words: str


def together(found: Iterable[Wrong]) -> list[Wrong]:
    """Of several kinds that one value might have been: what is wrong with the one it is, or which there are."""
    kept: list[Wrong] = []
    unions: dict[tuple[Any, ...], list[Wrong]] = {}
    all_of_them = list(found)
    for each in all_of_them:
        at = _kind_at(each)
        if at is None or not _others(each.path[: at + 1], all_of_them):
            kept.append(each)
            continue
        place = each.path[:at]
        if place not in unions:
            unions[place] = []
            kept.append(Wrong(place, "", ""))
        unions[place].append(each)
    return [each for one in kept for each in (_one(one.path, unions[one.path]) if one.path in unions else [one])]


def _kind_at(each: Wrong) -> int | None:
    """Where its path names a kind."""
    last = len(each.path) - 1
    for at, part in enumerate(each.path):
        if isinstance(part, str) and at > 0:
            if part.startswith("function-") and part.endswith("]"):
                return at
            if at == last and part in KINDS and each.kind.startswith(KINDS[part][0]):
                return at
    return None


def _others(path: tuple[Any, ...], found: list[Wrong]) -> bool:
    """Whether something else was tried in the same place."""
    at = len(path) - 1
    return any(each.path[:at] == path[:at] and each.path[: at + 1] != path and _kind_at(each) == at for each in found)


def _one(place: tuple[Any, ...], tried: list[Wrong]) -> list[Wrong]:
    after = len(place) + 1
    meant = [each for each in tried if len(each.path) > after or each.kind not in OF_ANOTHER_KIND]
    if meant:
        return [each._replace(path=(*place, *each.path[after:])) for each in meant]
    kinds = [KINDS[name][1] if (name := each.path[-1]) in KINDS else "an object" for each in tried]
    return [Wrong(place, tried[0].kind, f"must be {' or '.join(dict.fromkeys(kinds))}")]
