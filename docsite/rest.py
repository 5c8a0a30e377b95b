"""Every route of REST, out of the OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docsite import project
from docsite.tables import table

COMMON = {"400", "401", "403", "422", "429", "503"}
"""Answers that every route may give; they stand above, once."""

Schema = Mapping[str, Any]


def routes() -> str:
    """A section for each group, a part for each route."""
    project.start()
    from console.api import api

    description = api.get_openapi_schema()
    known = description["components"]["schemas"]
    groups: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            name = f"{method.upper()} {path.removeprefix('/api/v1')}"
            groups.setdefault(route.get("tags", ["other"])[0], []).append("\n\n".join(_route(name, route, known)))
    return "\n\n".join(f"## {group.capitalize()}\n\n" + "\n\n".join(parts) for group, parts in sorted(groups.items()))


def _route(name: str, route: Schema, known: Schema) -> Iterator[str]:
    yield f"### `{name}`"
    yield route["summary"] + "."
    if text := route.get("description"):
        yield text
    rows = [
        (f"`{each['name']}`", each["in"], _kind(each["schema"], known), _says(each, each["schema"]))
        for each in route.get("parameters", ())
    ]
    for body in _bodies(route.get("requestBody", {})):
        parts = _parts(body, known)
        needed = parts[0].get("required", ()) if len(parts) == 1 else ()
        for field, of in _fields(parts).items():
            where = "body, needed" if field in needed else "body"
            rows.append((f"`{field}`", where, _kind(of, known), _says(of)))
    if rows:
        yield table(["name", "in", "type", "what"], rows)
    answers = [
        (f"`{code}`", each["description"]) for code, each in route["responses"].items() if str(code) not in COMMON
    ]
    yield "Answers: " + "; ".join(f"{code} {text}" for code, text in answers) + "."


def _bodies(request: Schema) -> list[Schema]:
    return [content["schema"] for content in request.get("content", {}).values() if "schema" in content]


def _parts(schema: Schema, known: Schema) -> list[Schema]:
    """The objects that a body may be."""
    if "$ref" in schema:
        return _parts(known[schema["$ref"].rsplit("/", 1)[1]], known)
    either = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return [schema, *(part for each in either for part in _parts(each, known))]


def _fields(parts: list[Schema]) -> dict[str, Schema]:
    """By name, from the part that says most of it: others only say whether it may be there."""
    found: dict[str, Schema] = {}
    for part in parts:
        for name, of in part.get("properties", {}).items():
            found[name] = max(found.get(name, {}), of, key=len)
    return found


def _kind(schema: Schema, known: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return _kind(known[name], known) if "enum" in known[name] else name
    if either := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(each, known) for each in either))
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"] if each != "")
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}), known)}"
    bounds = [str(schema[name]) for name in ("minimum", "maximum") if name in schema]
    return str(schema.get("type", "any")) + (f" ({' to '.join(bounds)})" if len(bounds) == 2 else "")


def _says(*described: Schema) -> str:
    text = next((each["description"] for each in described if each.get("description")), "")
    default = described[-1].get("default")
    return f"{text} Default: `{default}`.".strip() if default not in (None, "") else text
