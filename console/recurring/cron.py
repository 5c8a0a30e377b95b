"""Cron expressions also where the clocks change by half an hour, as on Lord Howe Island, or at midnight."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cronsim import CronSim


class Cron(CronSim):
    """`CronSim` goes from hour to hour by sixty minutes: behind a change by half an hour each begins at half past, and
    what is due before that is passed over. And it begins each day at midnight, also where there is none.
    """

    def advance_hour(self) -> bool:
        """To the next hour that is meant; whether it was not this one."""
        if self.dt.hour in self.hours:
            return False
        self.dt = self.dt.replace(second=0)
        while self.dt.hour not in self.hours:
            # To the end of the hour that the clock shows: from its beginning it might never get out of it.
            self.tick(seconds=(60 - self.dt.minute) * 60)
            if self.dt.hour == 0:
                break
        return True

    def advance_minute(self) -> bool:
        """To the next minute that is meant; whether it was not this one."""
        before = self.dt
        moved = super().advance_minute()
        if _ahead(self.dt) != _ahead(before):  # it may have gone past one
            self.dt = before.replace(second=0)
            while self.dt.minute not in self.minutes and _ahead(self.dt) == _ahead(before):
                self.tick(seconds=60)
        return moved

    def advance_day(self) -> bool:
        """To the next day that is meant; whether it was not this one."""
        moved = super().advance_day()
        if moved:
            self._begin()
        return moved

    def advance_month(self) -> None:
        """To the next month that is meant."""
        before = self.dt
        super().advance_month()
        if self.dt is not before:
            self._begin()

    def _begin(self) -> None:
        if self.dt.tzinfo is not None:
            self.dt = self.dt.astimezone(UTC).astimezone(self.dt.tzinfo)


def _ahead(moment: datetime) -> timedelta | None:
    return moment.utcoffset()
