"""The demo's topics, one of each kind. What happens to a flight is kept in journals; a board can do without."""

from __future__ import annotations

from rmq_core import Route, Target, Topic, TopicKind
from rmq_core.model.topic import Journal

GATE_CLOSE = Topic(
    "gate-close",
    TopicKind.FIXED_TIME,
    slots=64,
    max_retries=4,
    journal=Journal.FULL,
    description="Closes a flight's gate 15 minutes before its scheduled departure, in the replay's time: then the route"
    " gates-closed forwards it to flight-events. Some days' worth wait: cancel or reschedule any.",
)

DEPARTURE_BOARD = Topic(
    "departure-board",
    TopicKind.RANGE_MERGE,
    slots=64,
    max_retries=4,
    description="Refreshes the board of an airport and carrier: whatever happens to its flights within 2 s"
    " merges into one refresh.",
)

# A short back-off (2, 4, 8, 16 s), so that what cannot succeed is a dead letter after half a minute.
REBOOKING = Topic(
    "rebooking",
    TopicKind.PRIORITY,
    slots=32,
    max_retries=4,
    backoff_ms=2_000,
    backoff_max_ms=16_000,
    journal=Journal.FULL,
    description="Finds other flights for passengers: of cancelled flights first, then by minutes of delay."
    " Rows of the data set that lack a tail number or an arrival time fail, and become dead letters.",
)

# A cancelled flight without a tail number cannot be told to its passengers: a dead letter of that group after 6 s.
FLIGHT_EVENTS = Topic(
    "flight-events",
    TopicKind.STREAM,
    slots=16,
    max_retries=2,
    backoff_ms=2_000,
    max_length=100_000,
    description="Everything that happens to a flight, kept: for the groups statistics, notifications and gates,"
    " and for a cache in every worker.",
)
STATISTICS, NOTIFICATIONS, GATES, CACHE = "statistics", "notifications", "gates", "cache"
"""Its consumer groups."""

# Nobody listens: it is there to be read.
CANCELLATIONS = Topic(
    "cancellations",
    TopicKind.STREAM,
    slots=4,
    max_length=10_000,
    description="Flights that were cancelled, out of flight-events by the route of the same name.",
)
GATES_CLOSED = Route(
    "gates-closed",
    GATE_CLOSE.name,
    (Target(FLIGHT_EVENTS.name),),
    description="What falls due in gate-close happens to a flight: everybody who reads flight-events hears of it.",
)
ONLY_CANCELLED = Route(
    CANCELLATIONS.name,
    FLIGHT_EVENTS.name,
    (Target(CANCELLATIONS.name, when={"event": "cancelled"}),),
    start="start",
    description="Of everything that happens to a flight, only that it was cancelled.",
)

ROUTES = (GATES_CLOSED, ONLY_CANCELLED)
TOPICS = (GATE_CLOSE, DEPARTURE_BOARD, REBOOKING, FLIGHT_EVENTS, CANCELLATIONS)
