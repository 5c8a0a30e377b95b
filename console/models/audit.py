"""The record of what people did to the queue."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.access import Action
from console.models.fields import JSONField
from rmq_core.model.text import shown

_OTHERS = (
    "create_role", "create_token", "create_user", "delete_role", "delete_user", "edit_role", "edit_user", "export",
    "resume_operation", "revoke_token", "set_password", "sign_in",
)  # fmt: skip
_NEVER = {Action.PURGE, Action.TOKENS}
"""Permissions to do something that is recorded under another name."""
ACTIONS = tuple(sorted({*(action.value for action in Action if action not in _NEVER), *_OTHERS}))
"""Every action that is recorded: what the audit can be filtered by. Nothing else is kept."""
LABELS = {
    "accept_data": _("accept the server's data"),
    "acknowledge": _("acknowledge dead letters"),
    "alert_receiver": _("define an alert receiver"),
    "alert_rule": _("define an alert rule"),
    "archive": _("archive"),
    "cancel": _("cancel"),
    "claim": _("claim what a member has"),
    "create_group": _("make a consumer group"),
    "create_role": _("add a role"),
    "create_token": _("make a token"),
    "create_topic": _("create a topic"),
    "create_user": _("add a user"),
    "delete_entries": _("delete entries of a stream"),
    "delete_group": _("delete a consumer group"),
    "delete_topic": _("delete a topic"),
    "delete_role": _("delete a role"),
    "delete_route": _("delete a route"),
    "delete_user": _("delete a user"),
    "discard_outbox": _("discard messages of an outbox"),
    "drain": _("drain a worker"),
    "drop": _("drop dead letters"),
    "edit_group": _("edit a consumer group"),
    "edit_role": _("change a role"),
    "edit_topic": _("edit a topic"),
    "edit_user": _("change a user"),
    "erase": _("erase messages from the archive"),
    "export": _("export"),
    "force_delete": _("delete a topic with its messages"),
    "hold": _("hold a key"),
    "lift": _("lift a hold"),
    "move_group": _("set the position of a consumer group"),
    "pause": _("pause a topic"),
    "pause_route": _("pause a route"),
    "pin": _("move slots to a worker"),
    "put_route": _("define a route"),
    "reconcile": _("reconcile"),
    "recurring": _("define a recurring message"),
    "redrive": _("move dead letters to another topic"),
    "repair": _("repair"),
    "requeue": _("requeue dead letters"),
    "reschedule": _("reschedule"),
    "restore": _("restore"),
    "restore_all": _("restore from the archive"),
    "resume": _("resume a topic"),
    "resume_operation": _("resume an operation"),
    "resume_route": _("resume a route"),
    "retry_outbox": _("retry messages of an outbox"),
    "revoke_token": _("revoke a token"),
    "run_now": _("run now"),
    "run_recurring": _("send a recurring message now"),
    "schedule": _("schedule runs"),
    "screen": _("define a screen"),
    "screen_link": _("make or revoke the link of a screen"),
    "send": _("send"),
    "set_password": _("set a password"),
    "sign_in": _("sign in"),
    "skip": _("skip missing versions"),
    "silence": _("silence alerts"),
    "stop_operation": _("stop an operation"),
    "topic_scope": _("give topics to a role"),
    "share_view": _("share a view"),
    "trim": _("trim a stream"),
    "undrain": _("end a drain"),
    "unfence": _("share the slots again"),
    "unpin": _("release slots"),
}
"""What people read; a filter, an export and REST say the word itself."""
assert set(LABELS) == set(ACTIONS)


class AuditEntry(models.Model):
    """One action of one person. Written before the action runs, completed after it."""

    class Result(models.TextChoices):
        STARTED = "started", _("started")
        DONE = "done", _("done")
        PARTLY = "partly", _("partly done")
        NOTHING = "nothing", _("nothing done")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")

        @classmethod
        def of(cls, done: int, complete: bool) -> AuditEntry.Result:
            """What ran to its end, or was stopped: all, some, or none of it was done."""
            return cls.DONE if complete else cls.PARTLY if done else cls.NOTHING

    at = models.DateTimeField(_("when"), auto_now_add=True, db_index=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        verbose_name=_("user"),
        related_name="+",
    )
    username = models.CharField(_("who"), max_length=150)
    action = models.CharField(_("action"), max_length=40, db_index=True)
    topic = models.CharField(_("topic"), max_length=100, blank=True, db_index=True)
    query = JSONField(_("query"), default=dict, help_text=_("What was asked for, exactly."))
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    asked = models.PositiveIntegerField(_("asked"), default=0)
    done = models.PositiveIntegerField(_("done"), default=0)
    result = models.CharField(_("result"), max_length=10, choices=Result.choices, default=Result.STARTED)
    detail = JSONField(_("detail"), default=dict, help_text=_("The outcome of each message, or the error."))
    address = models.GenericIPAddressField(_("from"), null=True)
    via = models.CharField(_("via"), max_length=20, default="page")

    def save(self, *args: Any, **kwargs: Any) -> None:
        """What is tried by somebody is recorded whatever texts came with it: as can be kept and shown."""
        if self.action not in ACTIONS:
            raise ValueError(f"the audit knows no action {self.action!r}; add it to ACTIONS")
        for name, most in (("username", 150), ("topic", 100), ("reason", 500)):
            setattr(self, name, shown(getattr(self, name), most))
        super().save(*args, **kwargs)

    class Meta:
        ordering = ["-at", "-id"]
        default_permissions = ("view",)
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")
        indexes = [models.Index(fields=["topic", "-at"])]

    def __str__(self) -> str:
        return f"{self.username} {self.action} {self.topic}".strip()

    def asker(self) -> dict[str, Any]:
        """Who asked, how and why, for what is made of it: an operation or a run, which may outlive this entry."""
        return {name: getattr(self, name) for name in ("user", "username", "via", "address", "reason")}
