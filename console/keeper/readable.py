"""Looks that survive what is broken: one topic whose keys hold rubbish is left out and named, the others are shown.

Everything is read at once, as ever. Only when that fails for another reason than a lost connection are topics read
by halves, to find out which it is; those are then left out, and tried again now and then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from console.engine import AsyncEngine
from rmq_core.errors import ConfigurationError, ConnectionLost, ServerFull
from rmq_core.model.samples import TopicSample
from rmq_core.model.text import shown
from rmq_core.model.topic import Topic
from rmq_core.model.views import Unreadable

AGAIN_EVERY = 30
"""Looks between two tries at what was broken."""
WORDS_MOST = 300
AWAY = (ConnectionLost, ConfigurationError, ServerFull)
"""What is about the server, not about one topic."""


class TopicReader:
    """Samples of all topics but those that cannot be read; `broken`: their names, and why. `partly`: topics of which
    something beside the samples cannot be read."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._inspector = engine.inspector
        self._looks = 0
        self.broken: dict[str, str] = {}
        self.partly: dict[tuple[str, str], str] = {}

    async def samples(self) -> list[TopicSample]:
        """Raises only what is about the server."""
        self._looks += 1
        if not self.broken or self._looks % AGAIN_EVERY == 0:
            try:
                found = await self._inspector.sample(groups=True)
            except AWAY:
                raise
            except Exception as error:
                await self._find_broken(error)
            else:
                self.broken = {}
                return found
        try:
            return await self._inspector.sample(await self._readable())
        except AWAY:
            raise
        except Exception as error:
            await self._find_broken(error)  # one more has broken since
        return await self._inspector.sample(await self._readable())

    async def each(self, what: str, topics: Sequence[Topic], act: Callable[[Topic], Awaitable[None]]) -> None:
        """Do something for each topic; one that fails does not keep the others from it."""
        self.partly = {place: words for place, words in self.partly.items() if place[1] != what}
        for topic in topics:
            try:
                await act(topic)
            except AWAY:
                raise
            except Exception as error:
                self.partly[topic.name, what] = f"{what}: {words_of(error)}"

    def unreadable(self) -> list[Unreadable]:
        """What has to be named."""
        partly = [Unreadable("topic", name, words) for (name, _), words in self.partly.items()]
        return [*(Unreadable("topic", name, words) for name, words in self.broken.items()), *partly]

    async def _readable(self) -> list[str]:
        return [name for name in await self._names() if name not in self.broken]

    async def _names(self, broken: dict[str, str] | None = None) -> list[str]:
        """Of every topic and every consumer group; `broken`: takes in the streams whose groups cannot be read."""
        names = []
        for topic in await self._inspector.topics():
            try:
                groups = await self._inspector.groups(topic) if topic.is_stream else []
            except AWAY:
                raise
            except Exception as error:
                if broken is not None:
                    broken[topic.name] = f"its groups: {words_of(error)}"
            else:
                names += [topic.name, *(group.name for group in groups)]
        return names

    async def _find_broken(self, error: Exception) -> None:
        broken: dict[str, str] = {}
        await self._narrow(await self._names(broken), broken)
        if not broken:
            raise error  # it was not about a topic, or is over
        self.broken = broken

    async def _narrow(self, names: list[str], broken: dict[str, str]) -> None:
        """Halve until the broken ones are alone: a few looks more, however many topics there are."""
        try:
            await self._inspector.sample(names)
        except AWAY:
            raise
        except Exception as error:
            if len(names) == 1:
                broken[names[0]] = words_of(error)
                return
            middle = len(names) // 2
            await self._narrow(names[:middle], broken)
            await self._narrow(names[middle:], broken)


def words_of(error: Exception) -> str:
    """What failed, as can be logged and shown."""
    return shown(f"{type(error).__name__}: {error}", WORDS_MOST)
