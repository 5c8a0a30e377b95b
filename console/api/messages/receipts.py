"""Receipts as the API hands them out: opaque and signed, so that they prove a delivery and say where it was.

The engine settles by slot, id and receipt number. Callers get the three, and the score a release needs, as one text:
no number to lose digits of, nothing to guess, nothing to keep on the server.
"""

from __future__ import annotations

import base64
import binascii
import struct

from django.utils.crypto import constant_time_compare, salted_hmac

from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import EntryDelivery

_FORM, _OLD_FORM = struct.Struct(">HQd"), struct.Struct(">HQQ")
_SIGNED_BYTES = 12


class NotAReceipt(ValueError):
    """The text is no receipt of this topic."""


def receipt_of(namespace: str, delivery: Delivery) -> str:
    """The receipt to give to whoever took a message."""
    packed = _FORM.pack(delivery.slot, delivery.receipt, delivery.score) + delivery.raw_id
    signed = _signature(namespace, delivery.topic, packed) + packed
    return base64.urlsafe_b64encode(signed).decode().rstrip("=")


def delivery_of(namespace: str, topic: str, receipt: str, by: str = "", max_retries: int = 0) -> Delivery:
    """What the engine needs to settle: inverse of `receipt_of`, without the content. Raises `NotAReceipt`.

    ``by``: the member of a consumer group that took it, as the engine writes it; "" where none was named.
    ``max_retries``: of the topic, for who asks which attempt it is.

    Nothing is asked of the topic: it may have been deleted, or made again with fewer slots, which the engine answers.
    """
    try:
        signed = base64.b64decode(receipt + "=" * (-len(receipt) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise NotAReceipt("this is no receipt") from None
    signature, packed = signed[:_SIGNED_BYTES], signed[_SIGNED_BYTES:]
    if len(packed) <= _FORM.size or not constant_time_compare(signature, _signature(namespace, topic, packed)):
        raise NotAReceipt("this is no receipt of this topic")
    slot, number, score = _FORM.unpack_from(packed)
    if score < 1:  # a whole number, as receipts had it before scores had places
        slot, number, score = _OLD_FORM.unpack_from(packed)
    kind = EntryDelivery if by else Delivery
    found = kind(topic, slot, packed[_FORM.size :], number, score, None, timed=False, max_retries=max_retries)
    if isinstance(found, EntryDelivery):
        found.signature = by
    return found


def _signature(namespace: str, topic: str, packed: bytes) -> bytes:
    digest = salted_hmac(f"rmq.receipt/{namespace}/{topic}", packed, algorithm="sha256").digest()
    return digest[:_SIGNED_BYTES]
