"""The keys of one test's namespace: looking for them, removing them."""

from __future__ import annotations

from typing import Protocol


class KeySpace(Protocol):
    """What a plain, a cluster and a fake client have in common."""

    def scan_iter(self, match: str, count: int) -> object: ...

    def pttl(self, name: bytes) -> int: ...

    def delete(self, *names: bytes) -> object: ...


def keys_of(client: KeySpace, namespace: str) -> list[str]:
    """Every key that belongs to ``namespace``, sorted, in printable form.

    But for those that end by themselves, and those that are kept on purpose: which topics and routes were deleted, the
    format, which data set it is, when it was restored, and what was rehearsed in it.
    """
    return _left(client, namespace, _scan(client, namespace))


def remove_keys_of(client: KeySpace, namespace: str) -> list[str]:
    """Removes all; which of them ``keys_of`` would have named."""
    found = _scan(client, namespace)
    left = _left(client, namespace, found)
    for key in found:
        client.delete(key)  # one by one, for on a cluster they live on several nodes
    return left


def _left(client: KeySpace, namespace: str, found: list[bytes]) -> list[str]:
    kept = {
        f"{name}{{{namespace}:topics}}".encode()
        for name in ("deleted", "routes-deleted", "format", "data-set", "restored", "rehearsed")
    }
    return sorted(repr(key)[2:-1] for key in found if key not in kept and client.pttl(key) == -1)


def _scan(client: KeySpace, namespace: str) -> list[bytes]:
    return list(client.scan_iter(match=f"*{namespace}:*", count=1_000))  # type: ignore[call-overload]
