"""The two packages that know tasks, `django.tasks` and `django_tasks`: the same names in both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.utils.module_loading import import_string


class Framework:
    """What a backend needs of one of them."""

    def __init__(self, package: str) -> None:
        self.package = package
        base, exceptions, signals = (import_module(f"{package}.{name}") for name in ("base", "exceptions", "signals"))
        self.BaseTaskBackend: Any = import_module(f"{package}.backends.base").BaseTaskBackend
        self.Task: Any = base.Task
        self.TaskContext: Any = base.TaskContext
        self.TaskError: Any = base.TaskError
        self.TaskResult: Any = base.TaskResult
        self.Status: Any = base.TaskResultStatus
        # Releases of the package up to 0.12 call it so.
        self.InvalidTask: Any = getattr(exceptions, "InvalidTask", None) or exceptions.InvalidTaskError
        self.DoesNotExist: Any = exceptions.TaskResultDoesNotExist
        self.enqueued: Any = signals.task_enqueued
        self.started: Any = signals.task_started
        self.finished: Any = signals.task_finished

    def task(self, path: str) -> Any:
        """The task of that path, of either package. Raises `SuspiciousOperation` for what is none, and ImportError."""
        found = import_string(path)
        if not isinstance(found, _task_classes()):
            raise SuspiciousOperation(f"{path} does not name a task")
        return found


def _task_classes() -> tuple[type, ...]:
    classes: list[type] = []
    for package in ("django.tasks", "django_tasks"):
        try:
            classes.append(import_module(f"{package}.base").Task)
        except ImportError:
            continue
    return tuple(classes)


def normalized(value: Any) -> Any:
    """What JSON makes of a value, as both packages have it. Raises TypeError and ValueError for what it cannot hold."""
    match value:
        case Mapping():
            return {normalized(key): normalized(each) for key, each in value.items()}
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"Unsupported value: {type(value)}") from error
        case str() | int() | float() | bool() | None:
            return value
        case Sequence():
            return [normalized(each) for each in value]
    raise TypeError(f"Unsupported type: {type(value)}")


def json_size(value: Any) -> int:
    """Bytes as JSON. Raises ValueError for NaN and infinity, which are none."""
    return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace"))


def end_of(text: str, most: int) -> str:
    """The end of a text that has at most so many bytes as JSON."""
    text = text[-most:]
    while (size := json_size(text)) > most:
        text = text[-(len(text) * most // size) :]
    return text
