"""Adding entries as sans-IO operations: validates against the topic, groups by slot, builds the script calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from rmq_core.errors import ContentTooLarge, IdNotLarger, RMQError, WrongKind
from rmq_core.figures import digits
from rmq_core.model.composing import entry_of
from rmq_core.model.entry import EntryId, StreamMessage, encode_entry
from rmq_core.model.entry_form import CONTENT
from rmq_core.model.message import as_bytes
from rmq_core.model.topic import Topic
from rmq_core.ops.sending import MESSAGES_AT_ONCE, light_parts
from rmq_core.ops.sent import Sent
from rmq_core.protocol.keys import Keyspace, crc32
from rmq_core.protocol.scripts import BATCH_MAX, Call, Each, Operation, batches
from rmq_core.protocol.streams import add

T = TypeVar("T")


class Sender(Protocol):
    """Who sends: its name, and numbers for its calls, by which a slot knows what it has done already."""

    name: str

    def begin(self) -> tuple[int, int]:
        """The number of a new call, and the lowest of those without an answer."""

    def end(self, number: int) -> None:
        """The call will not be asked for again."""


def check(topic: Topic, message: object) -> StreamMessage:
    """A message, or a bare content, as the entry that it means. Raises `WrongKind`, `InvalidMessage`."""
    if isinstance(message, StreamMessage):
        return message
    kind = getattr(message, "kind", None)
    if kind is None:
        return entry_of(message)  # type: ignore[arg-type]
    raise WrongKind(
        f"topic {topic.name!r} takes stream messages, not {kind.value}: a stream delivers nothing at a time, so a"
        " content is sent there as it is, or with slot_basis=, headers=, fields= or id="
    )


class _Item(NamedTuple):
    """An entry on its way; ``id`` None: the server gives one; ``content``: where it has nothing else."""

    position: int
    id: EntryId | None
    content: bytes | None
    pairs: list[bytes]


def _item(topic: Topic, position: int, given: object) -> tuple[int, _Item]:
    """Its slot, and what goes there."""
    message = given if type(given) is StreamMessage else check(topic, given)
    if message.fields is None and message.slot_basis is None and not message.headers and message.id is None:
        # The common message has nothing but its content; everything else goes the long way.
        content = message.content if type(message.content) is bytes else as_bytes(message.content, "content")
        if len(content) <= topic.max_content_bytes:
            return crc32(content) % topic.slots, _Item(position, None, content, [])
    encoded = encode_entry(message)
    if encoded.size > topic.max_content_bytes:
        raise ContentTooLarge(
            f"an entry of {digits(encoded.size)} bytes; topic {topic.name!r} takes at most"
            f" {digits(topic.max_content_bytes)}: store it elsewhere and send a reference, or raise the topic's limit"
        )
    own = None if message.id is None else EntryId.parse(message.id)
    return crc32(encoded.basis) % topic.slots, _Item(position, own, None, encoded.pairs)


class Batch(NamedTuple):
    """A call, the number it goes by, and which of the messages it adds to which slot."""

    call: Call
    number: int
    slot: int
    positions: Sequence[int]


def calls(keyspace: Keyspace, topic: Topic, messages: Iterable[object], sender: Sender) -> list[Batch]:
    """The calls for some messages, per slot in the order given. Nothing was begun where this raises."""
    by_slot: dict[int, list[_Item]] = {}
    for position, message in enumerate(messages):
        slot, item = _item(topic, position, message)
        by_slot.setdefault(slot, []).append(item)
    for slot, items in by_slot.items():
        _check_order(slot, items)
    made = []
    for slot, items in by_slot.items():
        for some in _portions(items, _size):
            plain = all(item.content is not None for item in some)
            given: list[Any] = [item.content for item in some] if plain else _grouped(some)
            number, floor = sender.begin()
            call = add(keyspace, topic, slot, sender.name, number, floor, given, plain)
            made.append(Batch(call, number, slot, [item.position for item in some]))
    return made


def _check_order(slot: int, items: list[_Item]) -> None:
    """Ids of one's own must grow. What the server gives in between is not known here: the script looks."""
    before: EntryId | None = None
    for item in items:
        if item.id is not None:
            if before is not None and item.id <= before:
                raise IdNotLarger(
                    f"id {item.id} follows {before} in slot {slot}, and is not larger: nothing of this batch was added"
                )
            before = item.id


def _size(item: _Item) -> int:
    return len(item.content) if item.content is not None else sum(map(len, item.pairs))


def _portions(items: Sequence[T], size: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """What fits into one call each."""
    for some in batches(items, BATCH_MAX):
        for light in light_parts(list(map(size, some))):
            yield some[light]


def _grouped(items: Sequence[_Item]) -> list[Any]:
    given: list[Any] = []
    for item in items:
        pairs = item.pairs if item.content is None else [CONTENT, item.content]
        given += ("*" if item.id is None else str(item.id), len(pairs), *pairs)
    return given


def _sent(batch: Batch, reply: list[Any]) -> Iterator[Sent]:
    return (Sent(raw.decode(), batch.slot, False) for raw in reply[1:])


def send(keyspace: Keyspace, topic: Topic, message: object, sender: Sender) -> Operation[Sent]:
    """Adds one entry."""
    (result,) = yield from send_each(keyspace, topic, [message], sender)
    if isinstance(result, Exception):
        raise result
    return result


def send_each(
    keyspace: Keyspace, topic: Topic, messages: Sequence[object], sender: Sender, several: type[Each] = Each
) -> Operation[list[Sent | Exception]]:
    """Adds entries, with a result for each: those of one slot, up to 1,000 and 8 MiB, are added all or none."""
    results: dict[int, Sent | Exception] = {}
    fit = []
    for position, message in enumerate(messages):
        try:
            _item(topic, position, message)
        except RMQError as error:
            results[position] = error
        else:
            fit.append(position)
    try:
        made = calls(keyspace, topic, [messages[position] for position in fit], sender)
    except IdNotLarger as error:
        return [results.get(position, error) for position in range(len(messages))]
    try:
        replies = yield several(batch.call for batch in made)
    finally:
        for batch in made:
            sender.end(batch.number)
    for batch, reply in zip(made, replies, strict=True):
        told: list[Sent | Exception] = (
            [reply] * len(batch.positions) if isinstance(reply, Exception) else [*_sent(batch, reply)]
        )
        for position, result in zip(batch.positions, told, strict=True):
            results[fit[position]] = result
    return [results[position] for position in range(len(messages))]


def groups(keyspace: Keyspace, topic: Topic, messages: Iterable[object], sender: Sender) -> Iterator[list[Batch]]:
    """The calls that send a stream of messages, some thousand messages at a time."""
    for some in batches(messages, MESSAGES_AT_ONCE):
        bare = _bare(topic, some)
        yield calls(keyspace, topic, some, sender) if bare is None else _bare_calls(keyspace, topic, bare, sender)


def _bare(topic: Topic, messages: Sequence[object]) -> list[bytes] | None:
    """Contents that are nothing more; None: some are, or cannot be sent, which `calls` looks at one by one."""
    if not set(map(type, messages)) <= {bytes, str}:
        return None
    try:
        contents: list[bytes] = [each if type(each) is bytes else each.encode() for each in messages]  # type: ignore[attr-defined]
    except UnicodeEncodeError:
        return None
    return contents if all(contents) and max(map(len, contents)) <= topic.max_content_bytes else None


def _bare_calls(keyspace: Keyspace, topic: Topic, contents: list[bytes], sender: Sender) -> list[Batch]:
    """As `calls`, for whoever asks for no result of each: as little work for one as can be."""
    by_slot: list[list[bytes]] = [[] for _ in range(topic.slots)]
    slots = topic.slots
    for content in contents:
        by_slot[crc32(content) % slots].append(content)
    made = []
    for slot, given in enumerate(by_slot):
        for some in _portions(given, len):
            number, floor = sender.begin()
            made.append(Batch(add(keyspace, topic, slot, sender.name, number, floor, some, True), number, slot, ()))
    return made


class Under:
    """The batches of a stream of calls that are under way."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._groups: deque[list[Batch]] = deque()

    def calls(self, groups: Iterable[list[Batch]]) -> Iterator[list[Call]]:
        """The calls of each group."""
        for group in groups:
            self._groups.append(group)
            yield [batch.call for batch in group]

    def answered(self, replies: Sequence[list[Any]]) -> int:
        """Takes the replies of the next group; how many entries they added."""
        self._end(self._groups.popleft())
        return sum(len(reply) - 1 for reply in replies)

    def end(self) -> None:
        """What is without an answer now will have none."""
        while self._groups:
            self._end(self._groups.popleft())

    def _end(self, group: list[Batch]) -> None:
        for batch in group:
            self._sender.end(batch.number)
