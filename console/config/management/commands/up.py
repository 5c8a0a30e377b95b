"""`manage.py up`: everything on one machine, supervised, in one log."""

from __future__ import annotations

import os
import socket
import sys
import threading
import urllib.error
import urllib.request
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections

from console.config.environment import BASE_DIR, LOCAL_HOSTS, renamed
from console.options import options as console_options
from console.supervise.account import ensure_admin
from console.supervise.folder import DataFolder, FolderInUse
from console.supervise.kept import Kept, KeptRedis, KeptZooKeeper
from console.supervise.sharing import share_slots
from console.supervise.supervisor import Supervisor
from rmq_core.errors import EmbeddedServerError

DEMO_LISTENERS = "console.demo.listeners:LISTENERS"
READY_WITHIN_S = 60
REDIS, ZOOKEEPER = "RMQ_REDIS_URL", "RMQ_ZOOKEEPER_URL"
PYTHON = [sys.executable, "-u"]
MANAGE = [*PYTHON, "-m", "console"]


class Command(BaseCommand):
    help = (
        "Run Redis and ZooKeeper (unless RMQ_REDIS_URL and RMQ_ZOOKEEPER_URL name others), the console, the keeper,"
        " workers and the job worker, supervised."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address the console listens on")
        parser.add_argument("--port", type=int, default=8000, help="the port the console listens on")
        parser.add_argument("--workers", type=int, default=2, help="how many worker processes host the listeners")
        parser.add_argument(
            "--shared", action="store_true", help="without ZooKeeper: every worker takes from every slot"
        )
        parser.add_argument("--demo", action="store_true", help="also replay real flights, and host their listeners")

    def handle(self, *args: Any, **options: Any) -> None:
        host, port, demo = options["host"], options["port"], options["demo"]
        _refuse_taken_port(host, port)
        folder = DataFolder(settings.DATA_DIR)
        try:
            folder.lock()
        except FolderInUse as error:
            raise CommandError(str(error)) from None
        servers: list[Kept] = []
        supervisor = Supervisor(every=lambda: [server.look() for server in servers])
        addresses = {REDIS: console_options().redis_url, ZOOKEEPER: console_options().zookeeper_url}
        kinds: dict[str, type[Kept]] = {REDIS: KeptRedis, ZOOKEEPER: KeptZooKeeper}
        if options["shared"]:
            del kinds[ZOOKEEPER]
            addresses[ZOOKEEPER] = ""
        try:
            for setting, kind in kinds.items():
                if not renamed(os.environ).get(setting):
                    server = kind(folder, supervisor.say)
                    server.start()
                    servers.append(server)
                    addresses[setting] = server.address
            self._run(supervisor, folder, addresses, host, port, options["workers"], demo)
        except EmbeddedServerError as error:
            raise CommandError(str(error)) from None
        finally:
            for server in reversed(servers):
                server.stop()
            folder.unlock()

    def _run(
        self,
        supervisor: Supervisor,
        folder: DataFolder,
        addresses: dict[str, str],
        host: str,
        port: int,
        workers: int,
        demo: bool,
    ) -> None:
        environ = _environ(folder, addresses, host, demo)
        supervisor.say("preparing the database")
        call_command("migrate", verbosity=0, interactive=False, skip_checks=False)
        account = ensure_admin(folder)
        if not addresses[ZOOKEEPER] and not renamed(os.environ).get(REDIS):
            share_slots(addresses[REDIS], supervisor.say)  # the Redis is ours alone: nobody owns slots in it
        if demo:
            from console.demo.watch import ensure_schedules

            if not ensure_schedules():
                supervisor.say("Spark is not installed (the extra 'pipeline'): the demo is not reconciled")
        connections.close_all()
        supervisor.add("web", _web(host, port), environ)
        supervisor.add("keeper", [*MANAGE, "keeper"], environ)
        supervisor.add("jobs", [*MANAGE, "jobs", "default", "--verbosity", "0"], environ)
        supervisor.add("pipeline", [*MANAGE, "jobs", "pipeline", "--verbosity", "0"], environ)
        if environ.get("RMQ_LISTENERS"):
            for number in range(1, workers + 1):
                name = f"worker-{number}"
                supervisor.add(name, [*MANAGE, "worker", "--name", f"{socket.gethostname()}-{name}"], environ)
        else:
            supervisor.say("RMQ_LISTENERS is not set: no worker is started here")
        if demo:
            supervisor.add("replay", [*MANAGE, "replay"], environ)
        address = f"http://{_shown_host(host)}:{port}{settings.FORCE_SCRIPT_NAME or ''}/"
        _announce_when_ready(supervisor, address, account)
        supervisor.run()


def _environ(folder: DataFolder, addresses: dict[str, str], host: str, demo: bool) -> dict[str, str]:
    """What the children get; whatever the user has set wins."""
    defaults = {
        "RMQ_SECRET_KEY": folder.secret("secret_key", 64),
        "RMQ_HTTPS": "false",
        "RMQ_ALLOWED_HOSTS": ",".join(dict.fromkeys([*LOCAL_HOSTS, socket.gethostname(), _bare(host)])),
        "DJANGO_SETTINGS_MODULE": "console.config.settings",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(BASE_DIR), os.environ.get("PYTHONPATH")])),
    }
    if demo:
        defaults["RMQ_LISTENERS"] = DEMO_LISTENERS
    set_by_user = {name: value for name, value in renamed(os.environ).items() if value}
    return {**defaults, **set_by_user, **addresses, "RMQ_DATA_DIR": str(folder.path)}


def _web(host: str, port: int) -> list[str]:
    options = ["--host", host, "--port", str(port), "--no-access-log", "--log-level", "warning"]
    return [*PYTHON, "-m", "uvicorn", "console.config.asgi:application", *options, "--timeout-graceful-shutdown", "3"]


def _announce_when_ready(supervisor: Supervisor, address: str, account: str) -> None:
    """Print where to go as soon as everything answers."""

    def wait() -> None:
        for _ in range(READY_WITHIN_S * 2):
            try:
                with urllib.request.urlopen(f"{address}api/v1/health/ready", timeout=5):
                    supervisor.say(f"ready: {address}\n{account}")
                    return
            except (urllib.error.URLError, OSError):
                pause.wait(0.5)
        supervisor.say(f"not everything answered within {READY_WITHIN_S} s; see above. The address is {address}")

    pause = threading.Event()
    threading.Thread(target=wait, name="announce", daemon=True).start()


def _refuse_taken_port(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_bare(host).strip("[]"), port))
        except OSError as error:
            raise CommandError(f"cannot listen on {host}:{port} ({error.strerror}); choose with --port") from None


def _bare(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _shown_host(host: str) -> str:
    return "localhost" if host in ("0.0.0.0", "127.0.0.1", "::", "::1") else _bare(host)
