"""What people read of errors that come out of Spark, and which of them are worth another try."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rmq_core.errors import PipelineError, RMQError

T = TypeVar("T")
log = logging.getLogger("rmq_core.pipeline")

ATTEMPTS, PAUSE_S = 4, 2.0
"""What failed only because the machine was busy is tried so often in all, each time after a longer pause."""

_OURS = re.compile(r"rmq_core\.errors\.(\w+): (.+)")
_TRANSIENT = re.compile(
    r"Python worker (?:failed to connect back|exited unexpectedly)|(?:Accept|Read) timed out|SocketTimeoutException"
    r"|Python worker process.{0,80}(?:timeout|timed out)|PYTHON_WORKER|Timed out while waiting for the Python"
    # A Python of its was killed; of an end without a word Spark says nothing.
    r"|Stream closed|Connection reset\b|Broken pipe|EOFException|terminated with exception:\s+SQLSTATE"
)
_LOST = re.compile(
    # Of a task whose executors went away, one after the other; of a stage that again and again found something gone,
    r"ExecutorLostFailure|FetchFailed"
    # or that cannot be done anew in part; of a task that was putting its files into place.
    r"|indeterminate output|Authorized committer"
    # What a job had kept on an executor.
    r"|CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
)
"""What Spark says where it gives up since executors are gone, and with them what they had made."""
_DEAD, DEAD_MOST = "Stream closed", 12
"""Where all its Pythons were killed, Spark fails once for each that had nothing to do, and forgets that one."""
BUSY = (
    "the machine was too busy: a process of Spark's did not answer in time, or was ended, though it was tried"
    f" {ATTEMPTS} times; run it again, or give the machine less to do. Nothing is lost"
)

LOST = (
    f"Spark lost its executors, though it was tried {ATTEMPTS} times: their logs or the cluster say why; often it is"
    " too little memory (spark.executor.memory). Run it again; nothing is lost"
)

JAVA_GONE = (
    "Spark's Java ended before it could say why: its log may; often it was killed for want of memory, or its settings"
    " are none that it takes. Run it again; nothing half done counts"
)

_ENDED = re.compile(r"SparkContext\.dagScheduler\(\)\" is null|stopped SparkContext|SparkContext was shut down")
ENDED = (
    "Spark ended in the middle, as where this process stood still for minutes, or had no memory left: its log says why."
    " Run it again; nothing half done counts"
)


def was_interrupted(error: BaseException | None) -> bool:
    """Whether somebody asked the job to end, and this is what went wrong on the way out: whoever is in the middle of
    talking to Java may be answered by anything."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def is_transient(error: BaseException) -> bool:
    """Whether the same may succeed when it is tried again: nothing is wrong but that the machine was busy, or that
    executors are gone."""
    text = text_of(error)
    if isinstance(error, RMQError) or _OURS.search(text):
        return False
    return _TRANSIENT.search(text) is not None or _LOST.search(text) is not None


def text_of(error: BaseException) -> str:
    """What it says. Errors of Java ask Java for that, which may be gone."""
    try:
        return str(error)
    except Exception:
        return JAVA_GONE


def _is_without_java(error: BaseException) -> bool:
    """Whether nobody answered who would know more: py4j then says which call it was, and later that it finds nobody."""
    name = type(error).__name__
    return (
        isinstance(error, ConnectionError)
        or name == "Py4JNetworkError"
        or (name == "Py4JError" and "Trace:" not in text_of(error))
    )


def with_retries(act: Callable[[], T], attempts: int = ATTEMPTS, pause_s: float = PAUSE_S) -> T:
    """Does something that can be started again; again, a few times, where that may help (`is_transient`)."""
    busy = dead = 0
    while True:
        try:
            return act()
        except Exception as error:
            if was_interrupted(error) or not is_transient(error):
                raise
            text = text_of(error)
            is_dead = _DEAD in text
            busy, dead = busy + (not is_dead), dead + is_dead
            if busy >= attempts or dead >= DEAD_MOST:
                raise
            log.warning("attempt %d failed: %s", busy + dead, text)
            if not is_dead:
                time.sleep(pause_s * 2 ** (busy - 1))


_JAVA = re.compile(r"(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): (.+)")
_PYTHON = re.compile(r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b.*)$", re.MULTILINE)
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE[.\w]*\] Encountered error while reading file (\S+?)\.\s")
_CLASSED = re.compile(r"^\[[A-Z_.]+\]\s*")


_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_WRITTEN = re.compile(r"(?:TASK_WRITE_FAILED\][^\n]*?|write(?:r)? (?:to|for|into) )((?:\w+:)?/[^\s:,]+?)[.:,]?(?:\s|$)")
_NO_FOLDER = re.compile(r"Mkdirs failed to create (?:file:)?(\S+?)(?:/_temporary\S*|/\.spark-\S*)?(?:\s|$)")
_NOT_ALLOWED = re.compile(
    # Of what could not be moved, where to.
    r"\[Errno (?:13|30)\] [\w -]+: (?:'[^'\n]+' -> )?'([^'\n]+)'"
    r"|(?:^|\s)(\S*/\S+) \((?:Permission denied|Read-only file system)\)"
)
_QUERY = re.compile(r"^Query \[id = [^\]]*\] terminated with exception: ?")


def sentence(error: BaseException) -> str:
    """What a person needs of an error that came out of Spark: one sentence, no stack of Java."""
    if isinstance(error, RMQError):
        return str(error)
    if _is_without_java(error):
        return JAVA_GONE
    text = _whole(error)
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1][1]).strip()
    if _ENDED.search(text):
        return ENDED
    if _FULL.search(text):
        where = _WRITTEN.search(text)
        return (
            f"the disk is full{f' ({where[1]})' if where else ''}: make room and run it again."
            " What was not written whole does not count"
        )
    if unwritable := _NO_FOLDER.search(text):
        return _refused(unwritable[1], "written to")
    if refused := _NOT_ALLOWED.search(text):
        return _refused(refused[1] or refused[2], "read, or written to,")
    if is_transient(error):
        return LOST if _LOST.search(text) else BUSY
    if "[MALFORMED_CSV_RECORD" in text:  # before the next: it comes as a file that cannot be read
        return "a row of it has more or fewer fields than its first line, which names the columns"
    if unreadable := _UNREADABLE.search(text):
        return _damaged(unreadable[1])
    if "Traceback (most recent call last)" in text:
        raised = [str(line).strip() for line in _PYTHON.findall(text) if "Py4J" not in line]
        if raised:
            return raised[-1]
    causes = _JAVA.findall(text)
    first = causes[-1] if causes and "Py4J" in text + type(error).__name__ else text.strip().split("\n", 1)[0]
    first = _QUERY.sub("", _CLASSED.sub("", first.strip()))
    return _CLASSED.sub("", first.strip()) or type(error).__name__


def _refused(path: str, what: str) -> str:
    return (
        f"{path} cannot be {what} by this user: give the rights to it, or mount its disk for writing, and run it again."
        " What was not written whole does not count"
    )


def _whole(error: BaseException) -> str:
    """What it says, and what Java says of it, where that is reached in another way."""
    text = text_of(error)
    java = getattr(error, "java_exception", None)
    if java is not None and "\n" not in text.strip():
        try:
            text += f"\n{java.toString()}"
        except Exception:  # Java is gone
            return text
    return text


def _damaged(file: str) -> str:
    advice = f"the file {file} cannot be read, it is damaged or gone: bring it back from a backup"
    if "/events/topic=" in file:
        advice += ", or move it out of the archive; a reconciliation then calls its slots incomplete (journal_gap)"
    return advice


@contextmanager
def plain_errors(doing: str) -> Iterator[None]:
    """Turns whatever Spark raises inside into a `PipelineError` that says what was being done."""
    try:
        yield
    except Exception as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from error
        if isinstance(error, RMQError):
            raise
        if type(error).__module__.startswith(("py4j", "pyspark")):
            log.error("%s:\n%s", doing, text_of(error))  # noqa: TRY400 - our own stack says nothing
        else:
            log.exception("%s", doing)
        raise PipelineError(f"{doing}: {sentence(error)}") from error
