"""The settings' former place: `console.config.settings` is meant."""

import warnings

from console.config.settings import *  # noqa: F403

warnings.warn(
    "DJANGO_SETTINGS_MODULE=console.settings is now console.config.settings; the old name goes with the next release",
    FutureWarning,
    stacklevel=2,
)
