"""Roles, permissions, problems, steps as people read them in the admin; what is stored, and REST says, stays."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.contrib.auth.models import Permission as DjangoPermission
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from console.access import LABELS, ROLE_WORDS, Permission

UNFOLDS = (
    gettext_noop("Welcome back to"),
    gettext_noop("Return to site"),
    gettext_noop("All applications"),
    gettext_noop("Expand row"),
    gettext_noop("Loading more results..."),
    gettext_noop("Date"),
    gettext_noop("After you've created a user, you’ll be able to edit more user options."),
    gettext_noop(
        "Raw passwords are not stored, so there is no way to see this user’s password, but you can change the password"
        ' using <a href="{}" class="text-primary-600 dark:text-primary-500">this form</a>.'
    ),
)
"""Texts of Unfold that it says in English alone, as it has them; here so that ours are translated with them."""
APPS = ("console", "auth")
"""Permissions of other apps open nothing in the console's admin."""
PROBLEM_WORDS = {
    "no_workers": _("No workers"),
    "unowned": _("No owner"),
    "lagging": _("Lagging"),
    "falling_behind": _("Falling behind"),
    "dead_growing": _("Dead growing"),
    "dead": _("Dead letters"),
    "stuck": _("A delivery is stuck"),
    "ledger": _("Ledger"),
    "journal_full": _("Journal full"),
    "group_stuck": _("A group is stuck"),
    "group_behind": _("A group falls behind"),
    "missed": _("Entries missed"),
    "lag_unknown": _("Lag unknown"),
    "worker_lost": _("A worker is silent"),
    "zookeeper_away": _("ZooKeeper is away"),
    "memory": _("Redis is nearly full"),
    "eviction": _("Redis may evict"),
    "unreadable_topic": _("A topic cannot be read"),
    "unreadable_worker": _("A worker cannot be read"),
    "outbox_away": _("An outbox cannot be read"),
    "outbox_lagging": _("An outbox lags"),
    "outbox_parked": _("An outbox holds what cannot be sent"),
    "recurring_failing": _("A recurring message fails"),
    "route_failing": _("A route cannot forward"),
    "route_idle": _("Nobody runs a route"),
    "objective_burning": _("Lateness budget"),
    "objective_missed": _("Objective missed"),
    "starving": _("Starving"),
    "order_stuck": _("Order stands still"),
    "data_lost": _("The server's data was lost"),
}
STEP_WORDS = {
    "sent": _("sent"),
    "merged": _("merged with a duplicate"),
    "taken": _("taken by a worker"),
    "acked": _("done"),
    "retried": _("failed, to be tried again"),
    "promoted": _("its retry became due"),
    "extended": _("a worker asked for more time"),
    "expired": _("its visibility timeout ran out"),
    "died": _("failed for good"),
    "cancelled": _("cancelled"),
    "rescheduled": _("given another time or priority"),
    "requeued": _("requeued"),
    "dropped": _("dropped"),
    "duplicate": _("sent again within its period, and not accepted"),
    "outdated": _("outdated: a newer version had been handed out"),
    "lapsed": _("expired: it was not delivered in time"),
    "held": _("set aside by a hold"),
    "lifted": _("back from a hold"),
    "released": _("given back without being tried"),
    "restored": _("restored"),
    "erased": _("can no longer be restored"),
}
"""What happened to a message, by the events of the journal."""
_VERBS = {"add": _("may add"), "change": _("may change"), "delete": _("may delete"), "view": _("may look at")}


def of_role(group: Group) -> str:
    """A role of ours in the reader's language; one that somebody made by its name."""
    return str(ROLE_WORDS.get(group.name, group.name))


def of_permission(permission: DjangoPermission) -> str:
    """What it allows. Django keeps its own words for that in the database, in English."""
    kind, code = permission.content_type, permission.codename
    if kind.app_label == "console" and code in set(Permission):
        return f"RMQ Console | {LABELS[Permission(code)]}"
    verb = _VERBS.get(code.partition("_")[0])
    return f"{kind.name} | {verb or gettext(permission.name)}"
