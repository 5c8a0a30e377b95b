"""If-Match and If-None-Match against the version of a definition, by RFC 9110: strong where it is about replacing."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

from ninja import Header

from console.api.http.errors import ApiError, invalid
from console.serializers.text import row_etag
from console.serializers.topics import etag
from rmq_core.model.topic import Topic

IfMatch = Annotated[str, Header(alias="If-Match", max_length=500, description="The ETag of the version to replace.")]
IfNoneMatch = Annotated[str, Header(alias="If-None-Match", max_length=500, description="`*`: only create.")]
ReadIfNoneMatch = Annotated[
    str,
    Header(
        alias="If-None-Match",
        max_length=500,
        description="ETags that are known: the answer is 304 where one of them is the stored version's.",
    ),
]

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_GAP = r"[ \t]*,[ \t,]*"
"""Between two of a list; of which a sender may leave some empty."""
_TAGS = re.compile(rf"(?:{_GAP})?{_TAG}(?:{_GAP}{_TAG})*(?:{_GAP})?")


def not_modified(now: Topic, if_none_match: str) -> bool:
    """Whether a reader has that version already."""
    wanted = tags_of("If-None-Match", if_none_match)
    return wanted == ["*"] or any(weak(tag) == etag(now) for tag in wanted)


def expected_version(now: Topic | None, if_match: str, if_none_match: str) -> int:
    """The version to replace; 0: to be created. Raises 412, 428."""
    check_match(now, if_match)
    check_none_match(now, if_none_match)
    if now is None:
        return 0
    if not if_match.strip():
        raise ApiError(
            428,
            "version_required",
            f"The topic exists. Send the ETag of the version you have seen, such as If-Match: {etag(now)}.",
            [("If-Match", "is missing")],
        )
    return now.version


def check_match(now: Topic | None, if_match: str) -> None:
    """Where a version is asked for, it must be the stored one. Raises 412."""
    wanted = tags_of("If-Match", if_match)
    if not wanted:
        return
    if now is None:
        raise ApiError(412, "no_such_version", "The topic does not exist; leave If-Match out to create it.")
    # A weak tag never matches here: it does not say that it is the very same.
    if wanted != ["*"] and etag(now) not in wanted:
        raise stale(f"The stored version is {now.version}, its ETag {etag(now)}.")


def check_none_match(now: Topic | None, if_none_match: str) -> None:
    """Where there shall be none, or no such one. Raises 412."""
    tags_of("If-None-Match", if_none_match)
    if now is not None and not_modified(now, if_none_match):
        raise ApiError(412, "topic_exists", f"The topic exists already, with version {now.version}.")


def knows(if_none_match: str, tag: str) -> bool:
    """Whether a reader has that answer already; what are no tags are none that anybody has."""
    given = if_none_match.strip()
    return given == "*" or weak(tag) in map(weak, re.findall(_TAG, given))


def tags_of(name: str, header: str) -> list[str]:
    """The entity tags of a header; `*` alone. Raises 422 for what are none."""
    given = header.strip()
    if not given:
        return []
    if given == "*":
        return ["*"]
    if _TAGS.fullmatch(given) is None:
        raise invalid(name, "must be an ETag in quotes, as GET gives it, or *")
    return re.findall(_TAG, given)


def weak(tag: str) -> str:
    """A tag without the mark that it is a weak one."""
    return tag.removeprefix("W/")


def stale(detail: str) -> ApiError:
    """Somebody else was first."""
    return ApiError(
        412, "version_conflict", f"Somebody else has changed the topic meanwhile: read it again. {detail}".strip()
    )


def check_row(changed: datetime, if_match: str) -> None:
    """Where a version of a row is asked for, it must be the stored one. Raises 412."""
    check_tag(row_etag(changed), if_match)


def check_tag(tag: str, if_match: str) -> None:
    """The same of one whose ETag says more than when it was changed."""
    wanted = tags_of("If-Match", if_match)
    if wanted and wanted != ["*"] and tag not in wanted:
        sentence = f"Somebody else has changed it meanwhile: read it again. Its ETag is {tag}."
        raise ApiError(412, "changed_meanwhile", sentence)
