"""The fields of a definition: what each is called, means and may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext_lazy

from rmq_core.model.tenants import FROM_MAX, WEIGHTS_TEXT_MAX
from rmq_core.model.topic import (
    MAX_AGE_MS,
    MAX_ARCHIVE_MS,
    MAX_BACKLOG,
    MAX_CONCURRENCY,
    MAX_EXPIRES_MS,
    MAX_JOURNAL,
    MAX_KEY_CONCURRENCY,
    MAX_LENGTH,
    MAX_OBJECTIVE_MS,
    MAX_RATE,
    MAX_RETRIES,
    MAX_SKIP_MS,
    MAX_SLOTS,
    MAX_UNIQUE_MS,
    MAX_VERSIONS_MS,
    NOT_OF_STREAMS,
    ONLY_OF_STREAMS,
    Journal,
    Merge,
    OnFailure,
    TopicKind,
    Trim,
)

DAY_MS = 86_400_000
DESCRIPTION_MAX = 2_000
NAME_MAX = 100

Input = Literal["name", "choice", "count", "duration", "bytes", "flag", "line", "text"]


@dataclass(frozen=True)
class Field:
    """One field. `fixed`: can only be chosen when the topic is created. `low` and `high` are those of the engine."""

    name: str
    label: Any
    help: Any
    input: Input
    low: int = 0
    high: int = 0
    options: tuple[tuple[str, Any], ...] = ()
    fixed: bool = False
    zero: Any = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "label": str(self.label),
            "help": str(self.help),
            "input": self.input,
            "low": self.low,
            "high": self.high,
            "options": [[value, str(label)] for value, label in self.options],
            "fixed": self.fixed,
            "zero": str(self.zero),
            "of": "streams" if self.name in ONLY_OF_STREAMS else "queues" if self.name in NOT_OF_STREAMS else "",
        }


ALL = (
    Field(
        "name",
        gettext_lazy("Name"),
        gettext_lazy("Applications use it to send and to listen. It cannot be changed later."),
        "name",
        1,
        NAME_MAX,
        fixed=True,
    ),
    Field(
        "kind",
        gettext_lazy("Kind"),
        gettext_lazy("When messages are delivered, and what a duplicate does. It cannot be changed later."),
        "choice",
        options=(
            (TopicKind.RANGE_MERGE.value, gettext_lazy("range merge: a while after the first send")),
            (TopicKind.PRIORITY.value, gettext_lazy("priority: highest first")),
            (TopicKind.FIXED_TIME.value, gettext_lazy("fixed time: at a given time")),
            (TopicKind.STREAM.value, gettext_lazy("stream: kept, for consumer groups to read")),
        ),
        fixed=True,
    ),
    Field(
        "slots",
        gettext_lazy("Slots"),
        gettext_lazy("How far the work can be spread: a power of two. It cannot be changed later."),
        "count",
        1,
        MAX_SLOTS,
        fixed=True,
    ),
    Field(
        "description",
        gettext_lazy("Description"),
        gettext_lazy("What it is for, and whom to ask."),
        "text",
        0,
        DESCRIPTION_MAX,
    ),
    Field("paused", gettext_lazy("Paused"), gettext_lazy("Nothing is taken; sending goes on."), "flag"),
    Field(
        "max_retries",
        gettext_lazy("Retries"),
        gettext_lazy("Attempts after the first one, before a message is dead."),
        "count",
        0,
        MAX_RETRIES,
        zero=gettext_lazy("dead at the first failure"),
    ),
    Field(
        "visibility_timeout_ms",
        gettext_lazy("Visibility timeout"),
        gettext_lazy("How long a delivery may stay unsettled before it is handed out again."),
        "duration",
        100,
        DAY_MS,
    ),
    Field(
        "backoff_ms",
        gettext_lazy("First back-off"),
        gettext_lazy("How long a message waits after its first failure; doubled with each further one."),
        "duration",
        0,
        DAY_MS,
        zero=gettext_lazy("tried again at once"),
    ),
    Field(
        "backoff_max_ms",
        gettext_lazy("Longest back-off"),
        gettext_lazy("The wait is never longer than this."),
        "duration",
        0,
        DAY_MS,
    ),
    Field(
        "merge",
        gettext_lazy("Merging keeps"),
        gettext_lazy("Which content survives when a duplicate with a key merges into a waiting message."),
        "choice",
        options=(
            (Merge.LATEST.value, gettext_lazy("the latest content")),
            (Merge.FIRST.value, gettext_lazy("the first content")),
            (Merge.NEVER.value, gettext_lazy("both: nothing merges")),
        ),
    ),
    Field(
        "on_failure",
        gettext_lazy("After a failure"),
        gettext_lazy("What becomes of the others of a slot basis while one that failed waits for its next try."),
        "choice",
        options=(
            (OnFailure.CONTINUE.value, gettext_lazy("they go on")),
            (OnFailure.WAIT.value, gettext_lazy("they wait until it is done, or dead")),
        ),
    ),
    Field(
        "unique_for_ms",
        gettext_lazy("Once within"),
        gettext_lazy("An id that was accepted is not accepted again for so long, whatever becomes of it."),
        "duration",
        0,
        MAX_UNIQUE_MS,
        zero=gettext_lazy("only while it waits, when it merges"),
    ),
    Field(
        "in_order",
        gettext_lazy("Versions in order"),
        gettext_lazy(
            "Each version of a key is a message of its own, handed out when the one before it has been handled."
            " Messages must name a key and a version."
        ),
        "flag",
    ),
    Field(
        "first_version",
        gettext_lazy("First version"),
        gettext_lazy("In order: with which version a key begins."),
        "count",
        0,
        2**52,
        zero=gettext_lazy("whichever comes first"),
    ),
    Field(
        "skip_after_ms",
        gettext_lazy("Skip after"),
        gettext_lazy(
            "In order: so long the others wait for a version that is dead, cancelled, expired or has not come; then"
            " they go on without it."
        ),
        "duration",
        0,
        MAX_SKIP_MS,
        zero=gettext_lazy("never: until somebody skips it"),
    ),
    Field(
        "versions_for_ms",
        gettext_lazy("Versions remembered"),
        gettext_lazy("No older version of an id is handed out so long after a newer one was, or was acknowledged."),
        "duration",
        0,
        MAX_VERSIONS_MS,
        zero=gettext_lazy("only while it waits or is in flight"),
    ),
    Field(
        "expires_ms",
        gettext_lazy("Expires after"),
        gettext_lazy("A message not delivered so long after it was due (or accepted, by priority) never is any more."),
        "duration",
        0,
        MAX_EXPIRES_MS,
        zero=gettext_lazy("never"),
    ),
    Field(
        "tenant_from",
        gettext_lazy("Tenant from"),
        gettext_lazy(
            "Where messages say whose they are: header:NAME, or key:SEPARATOR for the key up to that. The load is"
            " counted by tenant."
        ),
        "line",
        0,
        FROM_MAX,
    ),
    Field(
        "fair",
        gettext_lazy("Tenants take turns"),
        gettext_lazy(
            "Of priority topics: whoever sends most does not come first; of one tenant the highest priority does."
        ),
        "flag",
    ),
    Field(
        "tenant_weights",
        gettext_lazy("Turns of tenants"),
        gettext_lazy("Who has more turns than others, as in: acme=3, globex=10. The others have 1."),
        "line",
        0,
        WEIGHTS_TEXT_MAX,
    ),
    Field(
        "tenant_limits",
        gettext_lazy("Limits of tenants"),
        gettext_lazy(
            "Who may have how much, as in: acme=held, globex=10/s, initech=3 at once. Held: nothing is handed out. The"
            " others have no limit."
        ),
        "line",
        0,
        WEIGHTS_TEXT_MAX,
    ),
    Field(
        "max_content_bytes",
        gettext_lazy("Largest content"),
        gettext_lazy("Longer ones are refused when they are sent."),
        "bytes",
        64,
        64 * 1_048_576,
    ),
    Field(
        "max_length",
        gettext_lazy("Most entries"),
        gettext_lazy("So many are kept, over all slots, each its share; older ones are trimmed."),
        "count",
        0,
        MAX_LENGTH,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "max_age_ms",
        gettext_lazy("Longest age"),
        gettext_lazy("Entries older than this are trimmed."),
        "duration",
        0,
        MAX_AGE_MS,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "trim",
        gettext_lazy("Trimming"),
        gettext_lazy("How closely its bounds are kept when something is sent."),
        "choice",
        options=(
            (Trim.NEARLY.value, gettext_lazy("nearly: up to some hundred entries more in a slot, cheaper")),
            (Trim.EXACT.value, gettext_lazy("exactly")),
        ),
    ),
    Field(
        "trim_unread",
        gettext_lazy("Trim what is unread"),
        gettext_lazy("Also what a durable group has not finished. It is counted as missed there."),
        "flag",
    ),
    Field(
        "weight",
        gettext_lazy("Weight"),
        gettext_lazy("Its share of a worker's threads, beside other topics."),
        "count",
        1,
        1_000,
    ),
    Field(
        "max_backlog",
        gettext_lazy("Backlog limit"),
        gettext_lazy("Messages waiting, over all slots, above which sends are refused."),
        "count",
        0,
        MAX_BACKLOG,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "rate_limit",
        gettext_lazy("Rate limit"),
        gettext_lazy("Messages taken per second, by all workers together."),
        "count",
        0,
        MAX_RATE,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "concurrency",
        gettext_lazy("At once"),
        gettext_lazy("So many of its messages are in flight at once, with all workers together."),
        "count",
        0,
        MAX_CONCURRENCY,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "key_concurrency",
        gettext_lazy("At once of a key"),
        gettext_lazy(
            "So many messages of one key (or slot basis) are in flight at once, with all workers together; others of"
            " the slot go on."
        ),
        "count",
        0,
        MAX_KEY_CONCURRENCY,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "lateness_objective_ms",
        gettext_lazy("Lateness objective"),
        gettext_lazy("Of topics with due times: 99 of 100 deliveries should be no later than this, over a week."),
        "duration",
        0,
        MAX_OBJECTIVE_MS,
        zero=gettext_lazy("none"),
    ),
    Field(
        "undo_ms",
        gettext_lazy("Undo period"),
        gettext_lazy("How long cancelled and dropped messages can be restored."),
        "duration",
        0,
        30 * DAY_MS,
        zero=gettext_lazy("not at all"),
    ),
    Field(
        "result_for_ms",
        gettext_lazy("Results kept"),
        gettext_lazy("How long it is kept what a listener returned for a message, readable by its id."),
        "duration",
        0,
        30 * DAY_MS,
        zero=gettext_lazy("not at all"),
    ),
    Field(
        "journal",
        gettext_lazy("Journal"),
        gettext_lazy("Whether every change is recorded: for timelines, the archive and reconciliation."),
        "choice",
        options=(
            (Journal.OFF.value, gettext_lazy("off")),
            (Journal.EVENTS.value, gettext_lazy("events: what happened to which message")),
            (Journal.FULL.value, gettext_lazy("full: the contents too, so that messages can be restored")),
        ),
    ),
    Field(
        "journal_max",
        gettext_lazy("Journal limit"),
        gettext_lazy("Entries waiting for the journal's readers, over all slots, above which sends are refused."),
        "count",
        0,
        MAX_JOURNAL,
        zero=gettext_lazy("no limit"),
    ),
    Field(
        "archive_for_ms",
        gettext_lazy("Archive period"),
        gettext_lazy("How long the archive keeps ids and contents of messages that are over: a day at least."),
        "duration",
        0,
        MAX_ARCHIVE_MS,
        zero=gettext_lazy("for ever"),
    ),
)
