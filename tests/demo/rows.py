"""Rows of the data set that tests know by heart."""

from __future__ import annotations

from console.demo.flights import Flight, Row, airport_zones, as_flight

COLUMNS = (  # noqa: SIM905 - nineteen quoted words are no easier to read
    "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay carrier flight tailnum origin"
    " dest air_time distance hour minute time_hour"
).split()

ON_TIME = "2013 1 1 517 515 2 830 819 11 UA 1545 N14228 EWR IAH 227 1400 5 15 2013-01-01T10:00:00Z"
AT_MIDNIGHT = "2013 10 30 2400 2359 1 327 337 -10 B6 839 N661JB JFK BQN 182 1576 23 59 2013-10-31T03:00:00Z"
LANDS_AT_MIDNIGHT = "2013 1 1 2209 2155 14 2400 2337 23 B6 1109 N216JB JFK RDU 86 427 21 55 2013-01-02T02:00:00Z"
TO_HAWAII = "2013 1 1 857 900 -3 1516 1530 -14 HA 51 N380HA JFK HNL 659 4983 9 0 2013-01-01T14:00:00Z"
TO_PUERTO_RICO = "2013 1 1 615 615 0 1039 1100 -21 B6 709 N794JB JFK SJU 182 1598 6 15 2013-01-01T11:00:00Z"
NO_TAIL = "2013 2 8 NA 615 NA NA 820 NA US 1791 NA JFK CLT NA 541 6 15 2013-02-08T11:00:00Z"
NEVER_ARRIVED = "2013 1 1 2016 1930 46 NA 2220 NA EV 4204 N14168 EWR OKC NA 1325 19 30 2013-01-02T00:00:00Z"
DIVERTED = "2013 1 1 1525 1530 -5 1934 1805 NA MQ 4525 N719MQ LGA XNA NA 1147 15 30 2013-01-01T20:00:00Z"


def row(text: str) -> Row:
    return dict(zip(COLUMNS, text.split(), strict=True))


def flight(text: str) -> Flight:
    return as_flight(row(text), airport_zones())


ALL = (ON_TIME, AT_MIDNIGHT, LANDS_AT_MIDNIGHT, TO_HAWAII, TO_PUERTO_RICO, NO_TAIL, NEVER_ARRIVED, DIVERTED)
