"""Every error the engine raises, and the one table from script status codes to exceptions.

Their tree:

    RMQError
    ├── ConfigurationError      a setting, URL or server that cannot be used as it is
    │   ├── EvictionEnabled     the server may throw messages away under memory pressure
    │   ├── ServerTooOld        the server lacks commands the scripts need
    │   ├── SettingRefused      a server does not let a setting be used, or the package it needs is not there
    │   └── UnknownFormat       what is stored was written by a release that is newer, or another one
    ├── TopicError
    │   ├── InvalidTopic        a definition that breaks a rule
    │   ├── UnknownTopic        nobody has defined that topic
    │   │   └── UnknownGroup    the topic has no such consumer group
    │   ├── UnreadableTopic     what is stored under that name is no definition this release can read
    │   ├── TopicConflict       the same name is already defined with another kind or slot amount
    │   ├── VersionConflict     somebody else changed the definition meanwhile
    │   ├── TopicReshaped       the topic was deleted, or deleted and defined again, since this caller read it
    │   ├── TopicNotEmpty       refusing to delete a topic that still holds messages
    │   └── TooManyHolds        the topic has as many holds as it may
    ├── MessageError
    │   ├── InvalidMessage      wrong type, priority, range, time, key, headers
    │   ├── ContentTooLarge     above the topic's max_content_bytes
    │   ├── DueInThePast        a fixed time that has already gone by
    │   ├── IdNotLarger         an id of one's own that a stream's slot is past already
    │   ├── NoResult            nothing is kept of what a message's listener returned, or not yet
    │   │   └── MessageFailed   nor will be: it is a dead letter
    │   └── WrongKind           a message, or a call, that does not fit the kind of the topic
    ├── RouteError
    │   ├── InvalidRoute        a definition of a route that breaks a rule, or does not fit its topics
    │   ├── UnknownRoute        nobody has defined that route
    │   ├── RouteConflict       the same name is already defined with another source or other targets
    │   ├── RouteNotEmpty       refusing to delete a route that has something on its way
    │   └── TargetRefuses       a target takes nothing now
    ├── InvalidFilter           a filter of messages with a field that is none or has a wrong value
    ├── BacklogFull             the topic holds as many waiting messages as it may; send again later
    │   └── JournalFull         the readers of its journal are too far behind; send again later
    ├── OwnershipError
    │   ├── Fenced              the slot belongs to another owner epoch
    │   ├── EpochTooLow         an acquisition with an epoch below the one already seen
    │   ├── WorkerNameTaken     another live worker has that name
    │   ├── LeadershipLost      somebody else may lead now
    │   └── ZooKeeperUnavailable  no session could be had with the ZooKeeper servers
    ├── ConnectionLost          the server did not answer, after every retry
    ├── ServerFull              the server is at its maxmemory, or its disk takes no more; nothing more was stored
    ├── ScriptFailed            the server refused a command for a reason this library does not expect
    ├── UnfinishedWork          a listener returned something that still has to run
    ├── ProducerClosed          sending through a producer that was closed
    ├── PipelineError           an archive, reconciliation or restore that cannot go on
    └── EmbeddedServerError     a server started for development or tests did not come up
"""

from __future__ import annotations

import re
from typing import Any

from rmq_core.figures import digits


def _made_again(kind: type[RMQError], args: tuple[Any, ...]) -> RMQError:
    return kind.__new__(kind, *args)


class RMQError(Exception):
    """Root of every error of this library; its text is written for the person who reads it."""

    follow_up_to: str = ""
    """To which topic something was to be sent that follows a message, where it is that which is refused."""

    def __reduce__(self) -> tuple[Any, ...]:
        # As it is, whatever its constructor takes: an error that cannot be made again breaks pools of processes.
        return _made_again, (type(self), self.args), self.__dict__


class ConfigurationError(RMQError):
    """A setting, URL or server that cannot be used as it is."""


class EvictionEnabled(ConfigurationError):
    """The server's ``maxmemory-policy`` lets it delete messages."""


class ServerTooOld(ConfigurationError):
    """The server is older than Redis 6.2."""


class SettingRefused(ConfigurationError):
    """A server turned a setting down, such as a password, or the package that it needs is not installed."""


class UnknownFormat(ConfigurationError):
    """What is stored is in a format that this release does not know."""


class TopicError(RMQError):
    """Something about a topic definition."""


class InvalidTopic(TopicError):
    """A topic definition that breaks a rule."""


class UnknownTopic(TopicError):
    """Nobody has defined that topic."""


class UnknownGroup(UnknownTopic):
    """The stream topic has no consumer group of that name."""


class UnreadableTopic(TopicError):
    """What is stored under that name is no definition this release can read."""


class TopicConflict(TopicError):
    """The name is already defined with another kind or slot amount."""


class VersionConflict(TopicError):
    """The stored definition is not the version the change was made from."""


class TopicReshaped(TopicError):
    """The topic was deleted, or deleted and defined again, since this caller read its definition; nothing was done."""


class TopicNotEmpty(TopicError):
    """The topic still holds messages."""


class TooManyHolds(TopicError):
    """The topic has as many holds as it may; lift one first."""


class OrderMoved(TopicError):
    """Another version than the one that was named is the next of its key by now. ``next``: which."""

    def __init__(self, message: str, next: int) -> None:
        super().__init__(message)
        self.next = next


class MessageError(RMQError):
    """Something about one message."""


class InvalidMessage(MessageError):
    """A message field has a wrong type or value."""


class ContentTooLarge(MessageError):
    """The content is larger than the topic allows."""


class DueInThePast(MessageError):
    """The delivery time has already gone by on the server's clock."""


class IdNotLarger(MessageError):
    """An id of one's own must be larger than all that the slot of the stream has had."""


class WrongKind(MessageError):
    """The message's kind is not the topic's, or the topic's kind has no such call."""


class NoResult(MessageError):
    """No result of a message is kept, or not yet."""


class MessageFailed(NoResult):
    """The message is a dead letter, so it has no result."""


class InvalidFilter(RMQError):
    """A filter of messages has a field that is none, or one with a wrong value; ``field`` names it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class RouteError(RMQError):
    """Something about a route."""


class InvalidRoute(RouteError):
    """A definition of a route that breaks a rule, or does not fit its topics."""

    taken_by: str = ""
    """Which route takes from its source already, where that is why."""


class UnknownRoute(RouteError):
    """Nobody has defined that route."""


class RouteConflict(RouteError):
    """The name is already defined with another source or other targets."""


class RouteNotEmpty(RouteError):
    """The route has taken something that its targets have not got yet."""


class TargetRefuses(RouteError):
    """A target of the route takes nothing now; nothing was moved."""


class BacklogFull(RMQError):
    """The topic's ``max_backlog`` is reached; duplicates of waiting messages still merge.

    ``retry_after_ms``: when it is worth another try. ``sent``: (new, merged) of the batch that came so far;
    ``unsent``: the messages of it that were refused (those the caller's iterable has not yielded yet are not in it).
    """

    def __init__(
        self, text: str, retry_after_ms: int, sent: tuple[int, int] = (0, 0), unsent: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(text)
        self.retry_after_ms = retry_after_ms
        self.sent = sent
        self.unsent = unsent


class JournalFull(BacklogFull):
    """The journal of a slot holds as many entries as it may: its readers must catch up before more is sent.

    ``unsent`` is empty: which messages of a batch came through is not known. Send all of them again; equal ids merge.
    """


class OwnershipError(RMQError):
    """Something about who may consume a slot."""


class Fenced(OwnershipError):
    """The slot is owned by another epoch; this caller may not take or settle."""


class EpochTooLow(OwnershipError):
    """An acquisition came with an epoch below the highest one the slot has seen."""


class WorkerNameTaken(OwnershipError):
    """Another live worker has registered under that name."""


class LeadershipLost(OwnershipError):
    """The term is over: somebody else may be leading already."""


class ZooKeeperUnavailable(OwnershipError):
    """The ZooKeeper servers did not grant a session."""


class ConnectionLost(RMQError):
    """The server could not be reached within the retry budget."""


class ServerFull(RMQError):
    """The server is at its ``maxmemory``, or cannot write to its disk; nothing more was stored."""


class ScriptFailed(RMQError):
    """The server refused a command for a reason this library does not expect."""


class UnfinishedWork(RMQError):
    """A listener returned a coroutine, a generator or the like: nothing of it has run."""


class ListenerProcessDied(RMQError):
    """A call in a process of its own ended with that process, or its process could not be started."""


class ProducerClosed(RMQError):
    """The producer was closed before this message could be accepted."""


class PipelineError(RMQError):
    """An archive, reconciliation or restore that cannot go on."""


class EmbeddedServerError(RMQError):
    """A server started for development or tests did not come up."""


JOURNAL_AGAIN_MS = 1_000
"""When a send that met a full journal is worth another try."""

# Scripts answer an error as a Redis error reply "RMQ<CODE> detail", so nothing is half done.
_SCRIPT_ERRORS: dict[str, tuple[type[RMQError], str]] = {
    "RMQFENCED": (
        Fenced,
        "slot is owned by epoch {detail}: take and settle only through its owner, or hand the topic back to"
        " shared mode with control.unfence(topic) or rmq unfence TOPIC",
    ),
    "RMQEPOCH": (
        EpochTooLow,
        "the slot has already been acquired with epoch {detail}; give the slot up and rejoin",
    ),
    "RMQPAST": (
        DueInThePast,
        "a delivery time lies {count} ms in the past by the server's clock; send a later time, or allow_past=True"
        " to deliver at once",
    ),
    "RMQFULL": (
        TargetRefuses,
        "{count} messages of this slot are on their way to the targets already, which have to take them first",
    ),
    "RMQID": (
        IdNotLarger,
        "ids grow within a slot, and the last one there was {detail}: nothing was added; give a larger one of your own,"
        " or none",
    ),
    "RMQSHAPE": (
        TopicReshaped,
        "the topic was deleted since its definition was read, or is another one by now ({detail}): nothing was done;"
        " read the definition again (client.topic(name)), then repeat the call",
    ),
    "RMQHOLDS": (
        TooManyHolds,
        "the slot has {count} holds, as many as there may be: lift one first",
    ),
    "RMQMOVED": (
        VersionConflict,
        "entries were deleted or trimmed while those behind the position were counted{detail}: nothing was done; repeat"
        " the call",
    ),
    "RMQGOING": (
        UnknownTopic,
        "somebody is deleting the topic at this moment{detail}: nothing was changed",
    ),
    "RMQVERSION": (
        VersionConflict,
        "the definition changed meanwhile, or the topic was made again (stored version {detail}); read it again and"
        " repeat the change",
    ),
}


def is_usage(error: BaseException) -> bool:
    """Whether what was asked for can be nothing, rather than that a server or what it holds refuses it."""
    return type(error) in (ConfigurationError, InvalidTopic, InvalidMessage, InvalidFilter, InvalidRoute)


def is_wrong_type(error: BaseException) -> bool:
    """Whether a key was another kind of value than expected: as that of a topic which was made anew as a stream."""
    return isinstance(error, ScriptFailed) and "WRONGTYPE" in str(error)


_NEWER_SHAPE = re.compile(r"f(\d+) ")
"""What precedes the shape that slots of a later format are marked with: see `rmq_core.model.formats`."""


def from_reply(text: str) -> RMQError:
    """The exception for a server's error reply."""
    # Redis appends where the script failed ("script: <sha>, on @user_script:12."): not for people.
    code, _, detail = text.split(" script: ", 1)[0].partition(" ")
    known = _SCRIPT_ERRORS.get(code)
    detail = detail.removeprefix("f2 ")  # a slot with holds: `rmq_core.model.formats`
    newer = _NEWER_SHAPE.match(detail) if code == "RMQSHAPE" else None
    if code == "RMQFORMAT" or newer is not None:
        number = newer[1] if newer is not None else detail.strip()
        return UnknownFormat(
            f"the data of this namespace is in format {number}, which this release does not know: nothing was done."
            " Use the release that wrote it, or a newer one"
        )
    if code == "RMQJOURNAL":
        return JournalFull(
            f"the journal holds {_counted(detail.strip())} entries of a slot that its readers have not read, as many as"
            " the topic's journal_max lets it: see that the keeper and the archive run, then send again",
            JOURNAL_AGAIN_MS,
        )
    # redis-py takes the code away where the error is not a script's own, as from Redis 7 on.
    if code == "OOM" or "command not allowed when used memory" in text:
        return ServerFull(
            "the Redis server is at its maxmemory: nothing more was stored; raise maxmemory or let consumers drain"
        )
    _, unwritten, why = text.partition("MISCONF ")
    if unwritten and known is None:
        return ServerFull(
            f"the Redis server cannot write to its disk ({why.split(' script: ', 1)[0]}): nothing more was stored;"
            " make room there, and it goes on by itself"
        )
    if known is None:
        return ScriptFailed(f"the Redis server refused a command: {text}")
    kind, message = known
    return kind(message.format(detail=detail.strip(), count=_counted(detail.strip())))


def _counted(detail: str) -> str:
    return digits(int(detail)) if detail.isdecimal() else detail
