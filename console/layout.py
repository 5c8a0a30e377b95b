"""What surrounds every page, in Unfold's words: title, colours, sidebar, languages.

It is the console's own, whatever `UNFOLD` a project sets for its admin.
"""

from __future__ import annotations

from typing import Any

from unfold.settings import CONFIG_DEFAULTS

from console import navigation

_OURS: dict[str, Any] = {
    "SITE_TITLE": "RMQ Console",
    "SITE_HEADER": "RMQ Console",
    "SITE_SYMBOL": "stacks",
    "SITE_URL": None,
    "SHOW_LANGUAGES": True,
    "LANGUAGES": {
        "action": navigation.language_action,
        "navigation": navigation.languages,
    },
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": navigation.favicon},
    ],
    "STYLES": [navigation.stylesheet],
    "SCRIPTS": [
        navigation.texts_script,
        navigation.layout_script,
        navigation.release_script,
        navigation.admin_form_script,
    ],
    "COLORS": {
        "primary": {
            "50": "oklch(97% .014 254.6)",
            "100": "oklch(93.2% .032 255.6)",
            "200": "oklch(88.2% .059 254.1)",
            "300": "oklch(80.9% .105 251.8)",
            "400": "oklch(70.7% .15 254.6)",
            "500": "oklch(62.3% .17 256)",
            "600": "oklch(54.6% .19 257)",
            "700": "oklch(48.8% .19 258)",
            "800": "oklch(42.4% .16 259)",
            "900": "oklch(37.9% .13 261)",
            "950": "oklch(28.2% .09 263)",
        },
    },
    "SIDEBAR": {
        "show_search": True,
        "command_search": True,
        "show_all_applications": False,
        "navigation": navigation.sidebar,
    },
}

LAYOUT: dict[str, Any] = CONFIG_DEFAULTS | {
    key: CONFIG_DEFAULTS[key] | value if isinstance(CONFIG_DEFAULTS[key], dict) and isinstance(value, dict) else value
    for key, value in _OURS.items()
}
