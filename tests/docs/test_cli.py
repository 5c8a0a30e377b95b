"""docs/reference/cli.md: its table has every command, and its examples run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from console.command import SECTIONS
from rmq_core import RMQ, Control
from rmq_core.embedded.redis import EmbeddedRedis

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "reference" / "cli.md").read_text()
START = "import sys; sys.argv[0] = 'rmq'; from console.command import main; sys.exit(main())"


def test_its_table_has_every_command() -> None:
    table = DOCUMENT.partition("| | commands |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)[^`]*`", table))
    assert named == {name for section in SECTIONS.values() for name in section}


def test_its_examples_run(redis_server: EmbeddedRedis, namespace: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", DOCUMENT, re.M | re.S)
    assert len(blocks) > 5
    program = f'set -euo pipefail\nrmq() {{ "{sys.executable}" -c "{START}" "$@"; }}\n' + "\n".join(blocks)
    environ = {
        **{"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "RMQ_DATA_DIR": str(tmp_path / "data")},
        **{"RMQ_URL": redis_server.url, "RMQ_REDIS_URL": redis_server.url, "RMQ_NAMESPACE": namespace},
    }
    ran = subprocess.run(
        ["bash", "-c", program], env=environ, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180
    )
    assert ran.returncode == 0, ran.stderr
    assert "opens nothing any more" in ran.stdout
    with RMQ(redis_server.url, namespace) as rmq:
        Control(rmq).delete_topic("mail", force=True)
