"""Writes the shapes of the API as one JSON Schema, for the checker of the browser's modules: `npm run types`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from docsite import project

REFS = "#/components/schemas/"
WORDS = ("title", "description", "examples", "default")
"""What says nothing of a type; a title would be a type of its own."""


def shapes() -> dict[str, Any]:
    """Every schema of the OpenAPI description by its name."""
    project.start()
    from console.api import api

    found = api.get_openapi_schema()["components"]["schemas"]
    return {"title": "Api", "type": "object", "$defs": {name: _bare(schema) for name, schema in found.items()}}


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        inner = {name: _bare(each) for name, each in schema["properties"].items()}
        return _bare({name: each for name, each in schema.items() if name != "properties"}) | {"properties": inner}
    return {
        name: each.replace(REFS, "#/$defs/") if name == "$ref" else _bare(each)
        for name, each in schema.items()
        if name not in WORDS
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(shapes()))
