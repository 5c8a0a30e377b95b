"""Screens: what hangs on a wall, and the link under which it is seen."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from console.panels import InvalidPanels, pages_of
from rmq_core.model.text import NotText, check_text

PANELS_MOST = 5_000


def check_panels(text: str) -> None:
    """Raises `ValidationError`, naming the line."""
    try:
        pages_of(check_text(text, PANELS_MOST))
    except NotText:  # before a sentence repeats what it does to a line
        raise ValidationError(gettext("Use printable characters only.")) from None
    except InvalidPanels as error:
        raise ValidationError(str(error)) from None


class Screen(models.Model):
    """`panels`: one a line, an empty line begins the next page. Of the link only a digest is kept."""

    class Theme(models.TextChoices):
        AUTO = "auto", _("as the display says")
        DARK = "dark", _("dark")
        LIGHT = "light", _("light")

    name = models.CharField(
        _("name"), max_length=60, unique=True,
        validators=[RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", _("Write letters, digits and - _ ."))],
    )  # fmt: skip
    title = models.CharField(_("title"), max_length=100, blank=True)
    panels = models.TextField(
        _("panels"), max_length=PANELS_MOST, validators=[check_panels],
        help_text=_("One a line; an empty line begins the next page: figures · figures orders · chart orders backlog ·"
                    " heatmap orders lag_ms · topics orders* · problems · alerts"),
    )  # fmt: skip
    rotate_s = models.PositiveIntegerField(_("seconds of each page"), default=20, validators=[MaxValueValidator(3_600)])
    theme = models.CharField(_("theme"), max_length=5, choices=Theme.choices, default=Theme.AUTO)
    digest = models.CharField(max_length=64, unique=True, null=True, editable=False)
    link_made_at = models.DateTimeField(null=True, editable=False)
    link_until = models.DateTimeField(null=True, editable=False)
    link_by = models.CharField(max_length=150, blank=True, editable=False)
    username = models.CharField(_("who"), max_length=150, blank=True, editable=False)
    changed = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        ordering = ["name"]
        default_permissions = ()
        verbose_name = _("screen")
        verbose_name_plural = _("screens")

    def __str__(self) -> str:
        return self.name

    @property
    def has_link(self) -> bool:
        return self.digest is not None and self.link_until is not None and self.link_until > timezone.now()
