"""The settings' former place: `console.config.settings` is meant."""

import warnings

from console.config.settings import *  # noqa: F403
from console.variables import FORMER_END

warnings.warn(
    "DJANGO_SETTINGS_MODULE=console.settings is now console.config.settings;"
    f" the old name ends with release {FORMER_END}",
    FutureWarning,
    stacklevel=2,
)
