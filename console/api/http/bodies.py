"""Bodies of requests: JSON, said to be JSON, and read strictly."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from console.api.http.errors import ApiError, invalid
from console.json_input import NotJson, read_json

JSON = "application/json"


class StrictParser(Parser):
    """Ninja's, which would take any text for JSON."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Raises `ApiError` 415 and 422."""
        charset = (request.content_params or {}).get("charset", "utf-8")
        if request.content_type != JSON or charset.lower().replace("_", "-") not in ("utf-8", "utf8"):
            raise ApiError(
                415,
                "unsupported_media_type",
                f"Send the body as JSON in UTF-8, with the header Content-Type: {JSON}.",
                [("Content-Type", f"must be {JSON}")],
            )
        try:
            return read_json(request.body)
        except NotJson as error:
            raise invalid(error.field or "body", str(error)) from None
