"""Keeping processes running: started again after any end, one log, a clean stop. Real processes."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from console.config.environment import BASE_DIR
from console.supervise.account import ensure_admin
from console.supervise.folder import DataFolder, FolderInUse
from console.supervise.supervisor import Supervisor
from rmq_core.embedded.ports import free_port
from tests.support.waiting import wait_until

TALKS = "import time; print('hello', flush=True); time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
ENDS = "raise SystemExit(3)"


class Running:
    """A supervisor in a thread of its own; signals belong to the main thread, so `stop` is called directly."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(signal, "signal", lambda number, handler: None)
        self.log = io.StringIO()
        self.supervisor = Supervisor(self.log)
        self.thread = threading.Thread(target=self.supervisor.run)

    def add(self, name: str, code: str) -> None:
        self.supervisor.add(name, [sys.executable, "-c", code], dict(os.environ))

    def start(self) -> None:
        self.thread.start()

    def pid(self, name: str, other_than: int | None = None) -> int:
        child = self.supervisor.children[name]
        return wait_until(lambda: child.pid if child.pid != other_than else None, what=f"{name} runs") or 0

    def says(self, words: str) -> None:
        wait_until(lambda: words in self.log.getvalue(), what=f"the log says {words!r}")

    def stop(self) -> None:
        self.supervisor.stop()
        self.thread.join(30)
        assert not self.thread.is_alive()


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    found = Running(monkeypatch)
    yield found
    if found.thread.is_alive():
        found.supervisor.stop()
        found.supervisor.stop()
        found.thread.join(60)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_is_killed_runs_again_and_the_others_stay(running: Running) -> None:
    running.add("one", TALKS)
    running.add("two", TALKS)
    running.start()
    one, two = running.pid("one"), running.pid("two")
    os.kill(one, signal.SIGKILL)
    again = running.pid("one", other_than=one)
    running.says("was killed by SIGKILL; starting it again")
    assert running.supervisor.children["two"].pid == two
    running.stop()
    assert not any(alive(pid) for pid in (again, two))


def test_lines_carry_the_name_of_their_process(running: Running) -> None:
    running.add("talker", TALKS)
    running.start()
    running.says("talker   | hello")
    running.stop()


def test_the_last_words_and_a_line_without_an_end_are_written_down(running: Running) -> None:
    running.add("talker", "import sys; sys.stdout.write('a' * 200_000 + '\\nthe end'); sys.exit(1)")
    running.start()
    running.says("talker   | the end")
    running.says("ended with code 1")
    assert running.log.getvalue().replace("\n", "").count("a" * 1_000) > 100
    running.stop()


def test_what_a_dead_process_has_started_holds_nothing_up(running: Running) -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(10)'])"
    running.add("parent", code + "; print('bye', flush=True)")
    running.start()
    running.says("parent   | bye")
    running.says("ended with code 0; starting it again")
    running.stop()


def test_what_ends_by_itself_is_started_again_more_and_more_slowly(running: Running) -> None:
    running.add("brief", ENDS)
    running.start()
    running.says("ended with code 3; starting it again in 0.5 s")
    running.says("ended with code 3; starting it again in 1 s")
    running.stop()


def test_a_program_that_does_not_exist_is_told(running: Running) -> None:
    running.supervisor.add("ghost", ["/no/such/program"], {})
    running.start()
    running.says("ghost")
    running.says("starting it again")
    running.stop()


def test_a_second_stop_kills_what_does_not_listen(running: Running) -> None:
    running.add("deaf", DEAF)
    running.start()
    running.says("deaf     | deaf")
    pid = running.pid("deaf")
    running.supervisor.stop()
    running.supervisor.stop()
    running.thread.join(60)
    assert not running.thread.is_alive()
    assert not alive(pid)


def test_the_supervisor_loads_nothing_that_only_its_children_need() -> None:
    program = "import sys, console.supervise.up; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", program], text=True).split())
    assert not {"django", "channels", "rq", "environs", "kazoo", "http.client", "rmq_core.client"} & loaded


def test_processes_without_pages_load_none(tmp_path: Path) -> None:
    commands = ", ".join(
        f"console.management.commands.{name}" for name in ("jobs", "keeper", "recurring", "token", "worker")
    )
    program = f"import django, sys; django.setup(); import {commands}; print(*sys.modules)"
    tmp_path.chmod(0o700)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(BASE_DIR), "RMQ_DATA_DIR": str(tmp_path)}
    environ["DJANGO_SETTINGS_MODULE"] = "console.config.settings"
    loaded = set(subprocess.check_output([sys.executable, "-c", program], env=environ, text=True).split())
    assert not {"ninja", "pydantic", "unfold.admin", "console.urls", "console.admin", "console.pages"} & loaded


def test_a_wrong_environment_is_told_before_anything_is_started(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "RMQ_DATA_DIR": str(tmp_path), "RMQ_REDIS_URL": "nonsense"}
    command = [sys.executable, str(Path(__file__).parents[2] / "manage.py"), "up", "--port", str(free_port())]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    assert "RMQ_REDIS_URL" in ended.stderr and "Traceback" not in ended.stderr
    assert not any(tmp_path.iterdir())


def test_a_folder_has_one_supervisor(tmp_path: Path) -> None:
    first = DataFolder(tmp_path)
    first.lock()
    with pytest.raises(FolderInUse, match=str(os.getpid())):
        DataFolder(tmp_path).lock()
    first.unlock()
    second = DataFolder(tmp_path)
    second.lock()
    second.unlock()


def test_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "new")
    first = folder.secret("key", 64)
    assert len(first) > 50
    assert folder.secret("key", 64) == first
    assert (tmp_path / "new" / "key").stat().st_mode & 0o077 == 0


def test_the_first_user_is_made_once(tmp_path: Path, db: None) -> None:
    folder = DataFolder(tmp_path)
    said = ensure_admin(folder)
    password = folder.read("admin_password")
    assert password and password in said
    user = User.objects.get(username="admin")
    assert user.check_password(password) and user.is_superuser and user.is_staff
    assert ensure_admin(folder) == said
    user.set_password("changed")
    user.save()
    assert password not in ensure_admin(folder)


def test_an_installation_with_its_own_administrator_gets_no_other(tmp_path: Path, db: None) -> None:
    User.objects.create_superuser("boss", password="x")
    assert "your own account" in ensure_admin(DataFolder(tmp_path))
    assert not User.objects.filter(username="admin").exists()
