"""The wheel and the source archive, made as `make build` makes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(copy: Path, out: Path) -> Path:
    """Makes both in ``out``, of a copy of what is in the repository; returns the wheel."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(listed, cwd=ROOT, text=True).splitlines()
    for name in names:
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    made = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)]
    ran = subprocess.run(made, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    (wheel,) = out.glob("*.whl")
    return wheel
