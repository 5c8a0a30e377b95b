"""What alerts, rules, silences and receivers look like over REST."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Schema
from pydantic import AfterValidator, Field

from console.api.http.schemas import Name, Reason, Strict, Text
from rmq_core.model.text import check_text

SeverityWord = Literal["critical", "warning", "info"]
ReceiverName = Annotated[Name, Field(min_length=1, max_length=60)]
Patterns = Annotated[str, Field(min_length=1, max_length=5_000, examples=["orders*, mail"])]


class RuleOut(Schema):
    """`problem`: a code of the list of problems; or `metric`, above or below `threshold`. It fires when that has lasted
    `for_ms` and was found `fire_after` times in a row; it is over after `resolve_after` looks that did not find it.
    `receivers`: who is told; none: all."""

    name: str
    description: str
    problem: str
    metric: str
    comparison: str
    threshold: float | None
    topics: str
    for_ms: int
    fire_after: int
    resolve_after: int
    severity: str
    receivers: list[str]
    enabled: bool
    username: str


class SilenceOut(Schema):
    """`rule` "": of all rules."""

    id: int
    rule: str
    topics: str
    from_ms: int
    until_ms: int
    reason: str
    username: str


class DeliveryOut(Schema):
    """`what`: firing, resolved; `state`: waiting, sent, given_up. `sent_ms`: set after it was sent."""

    receiver: str
    what: str
    state: str
    tries: int
    sent_ms: int | None
    error: str


class AlertOut(Schema):
    """`state`: pending, firing, resolved. `topic` "": of the installation, or one alert for `topics`. `seen_ms`: when
    it was last known, which is written down once a minute. `silence`: what keeps it from being told."""

    id: int
    name: str
    topic: str
    topics: list[str]
    severity: str
    state: str
    began_ms: int
    fired_ms: int | None
    resolved_ms: int | None
    seen_ms: int
    value: float | None
    rule: RuleOut | None
    silence: SilenceOut | None
    deliveries: list[DeliveryOut]


class AlertList(Schema):
    """`looked_ms`: of when the newest sample is that the rules have looked at; null: nobody has looked yet."""

    as_of_ms: int
    looked_ms: int | None
    alerts: list[AlertOut]
    next: str | None


class RuleList(Schema):
    rules: list[RuleOut]


class SilenceList(Schema):
    as_of_ms: int
    silences: list[SilenceOut]


class ReceiverOut(Schema):
    """Where it is and its secret are told nobody. `unsent`: messages that are not sent yet; `error`: of the newest."""

    id: int
    name: str
    kind: str
    private: bool
    least: str
    resolved: bool
    enabled: bool
    unsent: int
    error: str


class ReceiverList(Schema):
    receivers: list[ReceiverOut]


class FiringOut(Schema):
    topic: str
    from_ms: int
    until_ms: int


class PreviewOut(Schema):
    """By the history kept between the two: `count` firings, of which the newest are named. An estimate: of each minute
    only the highest value is kept. `left_out`: topics that were not looked at."""

    from_ms: int
    to_ms: int
    count: int
    firings: list[FiringOut]
    topics: int
    left_out: int


class RuleChange(Strict):
    """What is left out stays as it is."""

    description: Annotated[str, AfterValidator(lambda text: check_text(text, 300))] | None = Field(None, max_length=300)
    problem: str | None = Field(None, max_length=40, examples=["no_workers"])
    metric: str | None = Field(None, max_length=20, examples=["lag_ms"])
    comparison: Literal["above", "below"] | None = None
    threshold: float | None = Field(None, ge=0, le=1e15)
    topics: Patterns | None = None
    for_ms: int | None = Field(None, ge=0, le=7 * 86_400_000)
    fire_after: int | None = Field(None, ge=1, le=100)
    resolve_after: int | None = Field(None, ge=1, le=100)
    severity: SeverityWord | None = None
    receivers: list[ReceiverName] | None = Field(None, max_length=200, description="Their names; none: all of them.")
    enabled: bool | None = None
    reason: Reason = ""


class RuleBody(RuleChange):
    """`problem`, or `metric` with `threshold`."""

    name: Name = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")


class SilenceBody(Strict):
    """`rule` "": all rules; `for_ms`: so long from now on."""

    rule: Text = Field("", max_length=60)
    topics: Patterns = "*"
    for_ms: int = Field(ge=1, le=90 * 86_400_000)
    reason: str = Field(min_length=1, max_length=500)


class ReceiverChange(Strict):
    """What is left out stays as it is. `address`, `secret`: told nobody afterwards; `secret` "": none, then nothing is
    signed. `private`: a webhook's address may be of this machine, or of a private network."""

    name: Name | None = Field(None, min_length=1, max_length=60)
    kind: Literal["webhook", "apprise"] | None = None
    address: Text | None = Field(None, min_length=1, max_length=2_000, examples=["https://hooks.example.org/rmq"])
    secret: Text | None = Field(None, max_length=200)
    private: bool | None = None
    least: SeverityWord | None = Field(None, description="What is less severe is not sent.")
    resolved: bool | None = Field(None, description="Also when it is over.")
    enabled: bool | None = None
    reason: Reason = ""


class ReceiverBody(ReceiverChange):
    name: Name = Field(min_length=1, max_length=60)
    address: Text = Field(min_length=1, max_length=2_000, examples=["https://hooks.example.org/rmq"])
