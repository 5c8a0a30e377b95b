"""What the console refuses, whoever asks. Permissions are in `console.access`; the engine has errors of its own."""

from django.utils.translation import gettext


class BadRequest(ValueError):
    """What was asked for cannot be done as it is; the text is for the person who asked."""


class InvalidField(BadRequest):
    """A value cannot be; `field` is the one at fault."""

    def __init__(self, field: str, text: str) -> None:
        self.field = field
        super().__init__(text)


class NameTaken(BadRequest):
    """There is one of this name already; `code` says of what, to programs."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


class NotConfirmed(BadRequest):
    """So many, or so final, that a word has to be typed first; the text says which."""


def say_why() -> str:
    """What is said of a reason that is none."""
    return gettext("Say why: this action is recorded with its reason.")


class UnknownMessage(BadRequest):
    """There is no such message, or no longer."""


class UnknownWorker(BadRequest):
    """Nobody has heard of a worker of that name lately."""


class UnknownSchedule(BadRequest):
    """There is no such schedule, or no longer."""


class ScheduleMoved(BadRequest):
    """Somebody else has changed the schedule meanwhile."""


class LossOver(BadRequest):
    """The loss of the server's data is no problem any more, or it is another one by now."""


class ChangedMeanwhile(BadRequest):
    """Somebody else has changed it since it was read, or deleted it."""


class UnknownRecurring(BadRequest):
    """There is no recurring message of that name, or no longer."""


class UnknownAlert(BadRequest):
    """There is no such rule, silence or receiver of alerts, or no longer."""


class UnknownScreen(BadRequest):
    """There is no such screen, or no longer."""


class UnknownView(BadRequest):
    """There is no such saved view, or no longer, or it is somebody else's."""


class ViewExists(BadRequest):
    """There is a view of that name; it is replaced only where that was asked for."""


class OtherConsole(RuntimeError):
    """A console with another database looks after this namespace; the text says what to do."""
