"""What changing a field of a definition does, of those that say what is handed out, and in which order."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext

from console.usecases.definitions.plan_line import Count, Line, spoken
from rmq_core.figures import number
from rmq_core.model.samples import TopicSample
from rmq_core.model.topic import OnFailure, Topic


def _merge(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    text = gettext(
        "From the next duplicate on. Waiting messages (%(count)s) keep their content until one is merged in."
    )
    backlog = Count(sample.backlog)
    return [Line("merge", "info", text % {"count": backlog}, backlog)]


def _expires(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    backlog = Count(sample.backlog)
    text = gettext("Messages sent from now on. Those waiting now (%(count)s) keep the time they were given.")
    return [Line("expires_ms", "caution" if wanted.expires_ms else "info", text % {"count": backlog}, backlog)]


def _on_failure(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if wanted.on_failure is OnFailure.WAIT:
        text = gettext(
            "What fails from now on is waited for by the others of its slot basis; others of the slot go on."
        )
        return [Line("on_failure", "caution", text)]
    return [Line("on_failure", "caution", gettext("What waits for a failure now does so until that is done, or dead."))]


def _key_concurrency(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.key_concurrency:
        text = gettext("Any number of a key may be in flight; what waits for its key goes on within a second.")
        return [Line("key_concurrency", "caution", text)]
    text = gettext(
        "Of one key at most %(most)s are in flight at once from now on; what is in flight beyond that is not called"
        " back. Others of the slot go on."
    )
    return [Line("key_concurrency", "caution", text % {"most": number(wanted.key_concurrency)})]


def _in_order(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.in_order:
        text = gettext("Versions that wait for one before them are handed out at once, and versions of a key merge.")
        return [Line("in_order", "caution", text)]
    text = gettext(
        "Versions sent from now on are handed out one after the other; messages without a key or a version are refused."
        " Send the first ones when every client knows: within a second."
    )
    return [Line("in_order", "caution", text)]


def _first_version(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    return [Line("first_version", "info", gettext("Keys of which nothing has been handled begin there."))]


def _skip_after(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.skip_after_ms:
        text = gettext("What waits for a version that is missing does so until somebody skips that.")
        return [Line("skip_after_ms", "info", text)]
    text = gettext("What has waited for longer than %(time)s for a version that is missing goes on without it now.")
    return [Line("skip_after_ms", "caution", text % {"time": spoken(wanted.skip_after_ms)})]


def _unique(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.unique_for_ms:
        return [Line("unique_for_ms", "caution", gettext("Ids are accepted as often as they are sent."))]
    text = gettext(
        "Ids accepted from now on are not accepted again for %(time)s. Each takes up to 100 bytes for up to twice that."
    )
    return [Line("unique_for_ms", "caution", text % {"time": spoken(wanted.unique_for_ms)})]


def _versions(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.versions_for_ms:
        return [Line("versions_for_ms", "caution", gettext("An older version may be handed out after a newer one."))]
    text = gettext(
        "Versions handed out from now on are remembered for %(time)s: an older one is not accepted, and one that waits"
        " ends when its turn comes. Each id takes up to 100 bytes for up to twice that."
    )
    return [Line("versions_for_ms", "caution", text % {"time": spoken(wanted.versions_for_ms)})]


def _tenant_from(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.tenant_from:
        return [Line("tenant_from", "info", gettext("Messages sent from now on have the tenant that they name."))]
    text = gettext("Messages sent from now on have their tenant from there. Each is kept with it: some 100 bytes more.")
    return [Line("tenant_from", "info", text)]


def _fair(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if wanted.fair:
        text = gettext(
            "Tenants take turns from now on, whoever sends most; priorities count among the messages of one tenant"
            " only, and may be 1,023 at most. What waits already is sorted in as messages are taken."
        )
    else:
        text = gettext("Tenants no longer take turns: the highest priority comes first, whosever it is.")
    return [Line("fair", "caution", text)]


def _tenant_weights(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.fair:
        return [Line("tenant_weights", "info", gettext("Nothing changes: tenants do not take turns here."))]
    return [Line("tenant_weights", "info", gettext("Turns are given out by these weights from now on."))]


def _tenant_limits(now: Topic, wanted: Topic, sample: TopicSample) -> list[Line]:
    if not wanted.fair:
        return [Line("tenant_limits", "info", gettext("Nothing changes: tenants do not take turns here."))]
    text = gettext(
        "Messages handed out from now on keep to these limits; what is in flight goes on. What is held waits until it"
        " is held no longer."
    )
    return [Line("tenant_limits", "caution", text)]


ORDER_LINES: dict[str, Callable[[Topic, Topic, TopicSample], list[Line]]] = {
    "merge": _merge,
    "on_failure": _on_failure,
    "key_concurrency": _key_concurrency,
    "in_order": _in_order,
    "first_version": _first_version,
    "skip_after_ms": _skip_after,
    "unique_for_ms": _unique,
    "versions_for_ms": _versions,
    "expires_ms": _expires,
    "tenant_from": _tenant_from,
    "fair": _fair,
    "tenant_weights": _tenant_weights,
    "tenant_limits": _tenant_limits,
}
