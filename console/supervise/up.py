"""`rmq up`: everything on one machine, supervised, in one log. It loads no Django: that is for what it starts."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from console.supervise.folder import DataFolder, FolderInUse
from console.supervise.managed_servers import ManagedRedis, ManagedServer, ManagedZooKeeper
from console.supervise.ready import announce_when_ready
from console.supervise.supervisor import Supervisor
from console.variables import renamed
from rmq_core.embedded.spawn import tethered
from rmq_core.embedded.zookeeper import zookeeper_jars
from rmq_core.errors import EmbeddedServerError
from rmq_core.private_files import OTHERS

ROOT = Path(__file__).parents[2]
DEMO_LISTENERS = "console.demo.listeners:LISTENERS,console.demo.bookings.work:LISTENERS"
DEMO_RECURRING = "console.demo.bookings.work:RECURRING"
REDIS, ZOOKEEPER = "RMQ_REDIS_URL", "RMQ_ZOOKEEPER_URL"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
PYTHON = [sys.executable, "-u"]
MANAGE = [*PYTHON, "-m", "console"]
NOT_INSTALLED = "the console is not installed (no {}): pip install 'rmq-console[console,embedded]'"


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address the console listens on.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8000, show_default=True, help="And the port.")
@click.option(
    *("--workers", "amount"),
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="How many worker processes host the listeners.",
)
@click.option("--shared", is_flag=True, help="Without ZooKeeper: every worker takes from every slot.")
@click.option("--demo", is_flag=True, help="Also replay real flights, and host their listeners.")
def up(host: str, port: int, amount: int, shared: bool, demo: bool) -> None:
    """Run everything on this machine, in one log.

    Redis and ZooKeeper (unless RMQ_REDIS_URL and RMQ_ZOOKEEPER_URL name others), the console, the keeper, jobs, and
    workers for the listeners that RMQ_LISTENERS names. What ends is started again; Ctrl-C ends it all. Where no
    ZooKeeper is installed (the extra "pipeline" brings one), it is as with --shared.
    """
    if missing := [name for name in ("django", "uvicorn") if find_spec(name) is None]:
        raise SystemExit(NOT_INSTALLED.format(missing[0]))
    os.umask(os.umask(OTHERS) | OTHERS)
    _refuse_taken_port(host, port)
    settings = _settings()
    given = renamed(os.environ)
    folder = DataFolder(Path(settings["RMQ_DATA_DIR"]))
    try:
        folder.lock()
    except FolderInUse as error:
        raise click.ClickException(str(error)) from None
    servers: list[ManagedServer] = []

    def look() -> None:
        for server in servers:
            server.look()

    supervisor = Supervisor(every=look)
    addresses = {name: settings[name] for name in (REDIS, ZOOKEEPER)}
    kinds: dict[str, type[ManagedServer]] = {REDIS: ManagedRedis, ZOOKEEPER: ManagedZooKeeper}
    if shared or not (given.get(ZOOKEEPER) or _has_zookeeper(folder, supervisor)):
        del kinds[ZOOKEEPER]
        addresses[ZOOKEEPER] = ""
    with contextlib.ExitStack() as at_the_end:
        at_the_end.callback(folder.unlock)
        for name, kind in kinds.items():
            if not given.get(name):
                servers.append(_start(kind, folder, supervisor))
                at_the_end.callback(servers[-1].stop)
                addresses[name] = servers[-1].address
        environ = _environ(folder, addresses, host, demo)
        account = _prepare(supervisor, environ, ours=not given.get(REDIS), demo=demo)
        for name, command in _commands(host, port, amount, demo, environ).items():
            supervisor.add(name, command, environ)
        if not environ.get("RMQ_LISTENERS"):
            supervisor.say("RMQ_LISTENERS is not set: no worker is started here")
        announce_when_ready(supervisor.say, host, port, settings["RMQ_FORCE_SCRIPT_NAME"], account)
        supervisor.run()


def _has_zookeeper(folder: DataFolder, supervisor: Supervisor) -> bool:
    """Whether there is one to start. Slots that have had owners here keep them, or somebody asks for `--shared`."""
    try:
        zookeeper_jars()
    except EmbeddedServerError as error:
        if (folder.path / ManagedZooKeeper.name).exists():
            raise click.ClickException(f"{error}, or --shared") from None
        supervisor.say(f"every worker takes from every slot, as with --shared: {error}")
        return False
    return True


def _start(kind: type[ManagedServer], folder: DataFolder, supervisor: Supervisor) -> ManagedServer:
    try:
        server = kind(folder, supervisor.say)
        server.start()
    except EmbeddedServerError as error:
        raise click.ClickException(str(error)) from None
    return server


def _environ(folder: DataFolder, addresses: dict[str, str], host: str, demo: bool) -> dict[str, str]:
    """What the children get; whatever the user has set wins."""
    bare = f"[{host}]" if ":" in host else host
    defaults = {
        "RMQ_SECRET_KEY": folder.secret("secret_key", 64),
        "RMQ_HTTPS": "false",
        "RMQ_ALLOWED_HOSTS": ",".join(dict.fromkeys([*LOCAL_HOSTS, socket.gethostname(), bare])),
        "DJANGO_SETTINGS_MODULE": "console.config.settings",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": _python_path(),
    }
    if demo:
        defaults |= {"RMQ_DEMO": "true", "RMQ_LISTENERS": DEMO_LISTENERS, "RMQ_RECURRING": DEMO_RECURRING}
    fixed = {"RMQ_DATA_DIR": str(folder.path), "PYTHONPATH": _python_path()}
    return {**defaults, **renamed(os.environ), **addresses, **fixed}


def _python_path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def _commands(host: str, port: int, workers: int, demo: bool, environ: dict[str, str]) -> dict[str, list[str]]:
    """What is kept running, by name."""
    served = ["--host", host, "--port", str(port), "--no-access-log", "--log-level", "warning"]
    # Viewers have nothing to say over their sockets.
    served += ["--ws-max-size", "65536", "--timeout-graceful-shutdown", "3"]
    web = ["-m", "uvicorn", "console.config.asgi:application", *served]
    commands = {
        "web": [*PYTHON, *web],
        "keeper": [*MANAGE, "keeper"],
        "jobs": [*MANAGE, "jobs", "default", "--on-demand", "pipeline", "--verbosity", "0"],
    }
    for number in range(1, workers + 1 if environ.get("RMQ_LISTENERS") else 1):
        name = f"worker-{number}"
        commands[name] = [*MANAGE, "worker", "--name", f"{socket.gethostname()}-{name}"]
    if demo:
        commands["replay"] = [*MANAGE, "replay"]
    return commands


def _settings() -> dict[str, str]:
    """What must be known before anything is started; a wrong environment is reported, and ends this."""
    environ = {**os.environ, "PYTHONPATH": _python_path()}
    found: dict[str, str] = json.loads(_output([*PYTHON, "-m", "console.config.for_up"], environ))
    return found


def _prepare(supervisor: Supervisor, environ: dict[str, str], *, ours: bool, demo: bool) -> str:
    """The database with its tables and its first user, and whatever the demo needs; returns how to sign in."""
    supervisor.say("preparing the database")
    # A Redis of our own has no workers yet: nobody owns slots in it.
    share = ["--share-slots"] if ours and not environ[ZOOKEEPER] else []
    prepared = json.loads(_output([*MANAGE, "prepare", *share, *(["--demo"] if demo else [])], environ))
    for line in prepared["said"]:
        supervisor.say(line)
    return str(prepared["account"])


def _output(command: list[str], environ: dict[str, str]) -> Any:
    """What a program prints that ends with us; where it fails, it has said why on standard error."""
    # In a session of its own: a Ctrl-C is ours to answer.
    ran = subprocess.run(tethered(command), env=environ, stdout=subprocess.PIPE, start_new_session=True, check=False)
    if ran.returncode:
        raise SystemExit(1)
    return ran.stdout


def _refuse_taken_port(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            sentence = f"cannot listen on {host}:{port} ({error.strerror}); choose with --port"
            raise click.ClickException(sentence) from None
