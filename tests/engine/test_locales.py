"""Where Python's own encoding is not UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rmq_core.protocol import scripts

LUA = Path(scripts.__file__).parent / "lua"
NAMES = sorted(file.stem for file in LUA.glob("*.lua"))
PROGRAM = f"""
import sys
from rmq_core.protocol.scripts import script
assert not sys.flags.utf8_mode and "utf" not in sys.getfilesystemencoding().lower()
print([script(name).sha for name in {NAMES}])
"""


def test_the_scripts_are_the_same_in_every_locale() -> None:
    """Otherwise clients of one server would not know each other's scripts, or could not load them at all."""
    plain = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **plain}, capture_output=True, text=True, timeout=60
    )
    assert found.stderr == ""
    assert found.stdout.strip() == str([scripts.script(name).sha for name in NAMES])
