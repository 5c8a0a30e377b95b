"""What operations and runs have in common: how far they are."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class WorkState(TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    STOPPING = "stopping", _("stopping")
    STOPPED = "stopped", _("stopped")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class InProgress:
    """Mixed into models with a field `state`."""

    State: TypeAlias = WorkState
    LIVE: ClassVar = (WorkState.QUEUED, WorkState.RUNNING, WorkState.STOPPING)
    state: str

    @property
    def live(self) -> bool:
        """Whether it is still under way, or waits for its turn."""
        return self.state in self.LIVE
