"""Queries of addresses: what a route does not know, or is told twice, is refused like an unknown field of a body.

A misspelt filter would otherwise give everything, and a misspelt `validate_only` would act.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest

from console.api.http.errors import ApiError, respond


def strict_query(run: Callable[..., Any]) -> Callable[..., Any]:
    """For `NinjaAPI.add_decorator` in its mode "view": looks at the query before anything else is looked at."""
    models = [model for model in run.__self__.models if model.__ninja_param_source__ == "query"]  # type: ignore[attr-defined]
    known = [name for model in models for name in model.__ninja_flatten_map__]
    several = {name for model in models for name in getattr(model, "__ninja_collection_fields__", ())}
    if run.__self__.auth_param is None:  # type: ignore[attr-defined]
        return run  # what is open: whoever watches health may add what it likes

    if iscoroutinefunction(run):

        @functools.wraps(run)
        async def asynchronous(request: HttpRequest, **path: Any) -> Any:
            problems = _problems(request, known, several)
            return respond(request, _refusal(problems)) if problems else await run(request, **path)

        return asynchronous

    @functools.wraps(run)
    def synchronous(request: HttpRequest, **path: Any) -> Any:
        problems = _problems(request, known, several)
        return respond(request, _refusal(problems)) if problems else run(request, **path)

    return synchronous


def _problems(request: HttpRequest, known: list[str], several: set[str]) -> list[tuple[str, str]]:
    problems = []
    for name, values in request.GET.lists():
        if name not in known:
            close = get_close_matches(name, known, 1)
            problems.append((name, f"is not known here; did you mean {close[0]}?" if close else "is not known here"))
        elif len(values) > 1 and name not in several:
            problems.append((name, "is given more than once"))
    return problems


def _refusal(problems: list[tuple[str, str]]) -> ApiError:
    return ApiError(422, "invalid", "; ".join(f"{name}: {problem}" for name, problem in problems), problems)
