"""The index of one crawl: a file, or a server that may be away."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from scrapy.crawler import Crawler

from dedup.index import Index, Run
from dedup.index.index import Detector, Draft, SQLiteIndex, open_index
from dedup.model.address import address_of, is_address
from dedup.model.errors import DedupError, IndexUnavailable, ServerAway, printable
from dedup.model.verdict import Verdict
from dedup.plugin.addon import index_path
from dedup.plugin.question import Ask
from dedup.plugin.server_thread import Answer, ServerThread
from dedup.plugin.stats import CrawlStats
from dedup.settings import DedupSettings

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# Seconds that the server has for one statement, and that one question may wait for the lock of a file.
LONGEST_ANSWER, LONGEST_WAIT = 10.0, 2.0
# After a wait in vain of so many seconds or more a file is not asked for so many times as long.
_NOTABLE, _PAUSE_TIMES = 0.5, 20
# The file in a JOBDIR whose text, of at most so many characters, names the job.
TOKEN, _LONGEST = "dedup.job", 100


class CannotBegin(DedupError):  # noqa: N818 - it says what is the matter
    """The crawl is refused because of its index or its reactor, before any feed was opened."""


def _try(index: Index) -> None:
    """Close the *index* after raising `IndexUnavailable` where it cannot be used."""
    with index:
        index.expect()
        with index.store.transaction(writing=True):  # or another process holds it
            pass


class CrawlIndex:
    """The index of the crawl of *crawler*, and its run there.

    A file is asked at once, but not for a while after waiting in vain: pages are kept unjudged then.  A
    server is asked by a thread, one question after the other; while it is away, a draft of it is.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings, counts: CrawlStats) -> None:
        self.crawler, self.settings, self.counts = crawler, settings, counts
        self._path = index_path(settings)
        self.is_remote = is_address(self._path)  # on a server, whose answers come later
        self.run = Run(0, "", "", 0.0)
        self.goes_on = False  # whether the same job has begun the run before
        self.detector: Detector | None = None  # what judges pages, None before and after the crawl
        self._follow: Callable[[int], object] = lambda _: None
        self._server: ServerThread | None = None
        self.resumes = 0.0  # when a file is asked again

    def check(self) -> None:
        """Raise `CannotBegin` if the crawl cannot begin; an error in `open` would be logged twice."""
        if not is_asyncio_available():
            raise CannotBegin(
                "scrapy-dedup needs asyncio, as Scrapy has it by default: set TWISTED_REACTOR to "
                "twisted.internet.asyncioreactor.AsyncioSelectorReactor, or do not set it"
            )
        try:
            self._first(_try)
        except IndexUnavailable as error:
            raise CannotBegin(str(error)) from None

    def _first(self, ask: Callable[[Index], _T]) -> _T:
        """Return what *ask* does, of a draft while the server is away; it closes what it fails on."""
        try:
            index = open_index(self._path)
            if self.is_remote:
                index.store.wait_at_most(LONGEST_ANSWER)
            return ask(index)
        except ServerAway as error:
            from dedup.index.server import last_replica

            if self.counts.is_first("away"):
                logger.error(
                    "The crawl begins without its server: pages are judged by what this machine knows "
                    "until it is back: %s",
                    error,
                )
            address = address_of(self._path)
            return ask(Draft(address, last_replica(address)))

    def open(self, follow: Callable[[int], object]) -> Detector:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``.

        *follow* is called when another run goes on in the place of the one of that number.
        """
        before, detector = self._first(lambda index: (index.runs.all(), self._detector_on(index)))
        self.detector, self.run, self._follow = detector, detector.run, follow
        self.goes_on = any(run.id == self.run.id for run in before)
        if self.is_remote:
            self._server = ServerThread(detector, self._path, self._detector_on)
        return detector

    def _detector_on(self, index: Index, run: Run | None = None) -> Detector:
        """Return a detector whose run has begun, or goes on as *run*; close *index* where that fails."""
        assert self.crawler.spider is not None
        try:
            detector = Detector(
                *(index, self.settings.config, self.crawler.spider.name),
                job=job_of(self.crawler.settings.get("JOBDIR")),
                action=self.settings.action,
                crawl=self.settings.crawl,
                run=run,
            )
            detector.visit("")  # items without a response are met in every crawl
            index.store.wait_at_most(LONGEST_ANSWER if self.is_remote else LONGEST_WAIT)
        except BaseException:
            index.close()
            raise
        return detector

    def do(self, ask: Ask[_T], then: Callable[[_T | None], object] = lambda _: None) -> None:
        """Ask the index, and call *then* with the answer, None where there is none."""
        if (detector := self.detector) is None:
            then(None)
        elif self._server:
            self._server.ask(ask, lambda answer: then(self._taken(answer)))
        else:
            then(self._asked(ask, detector))

    def _asked(self, ask: Ask[_T], detector: Detector) -> _T | None:
        begin = monotonic()
        if begin < self.resumes:
            self.counts.add("not_asked")
            return None
        try:
            return self.counts.timed("index", ask, detector)
        except Exception as error:  # whatever it is, losing the page would be worse
            self.counts.failed(error)
        if (seconds := monotonic() - begin) >= _NOTABLE:
            self.resumes = begin + (1 + _PAUSE_TIMES) * seconds
        return None

    def _taken(self, answer: Answer) -> Any:
        self.counts.add("seconds/index", answer.seconds)
        if answer.error:
            self.counts.failed(answer.error)
        elif answer.is_away and isinstance(answer.value, Verdict):
            self.counts.add("server_away")
        if answer.run:
            self._go_on_in(answer.run)
        return answer.value

    def _go_on_in(self, run: Run) -> None:
        before, self.run = self.run.id, run
        if before != run.id:
            self._follow(before)

    async def close(self, reason: str, sum_up: Callable[[Detector], object]) -> None:
        if server := self._server:
            answered = asyncio.get_running_loop().create_future()
            server.ask(lambda _: None, answered.set_result)
            await answered
            self.detector = None  # nothing is asked from now on
            await asyncio.to_thread(server.close)
            self._go_on_in(server.detector.run)
            if server.kept_twice:
                self.counts.add("kept_twice", server.kept_twice)
            if server.unknown:
                self.counts.add("not_recorded", server.unknown)
            await asyncio.to_thread(_end, server.detector, reason, sum_up)
        elif detector := self.detector:
            self.detector = None
            _end(detector, reason, sum_up)


def _end(detector: Detector, reason: str, sum_up: Callable[[Detector], object]) -> None:
    index = detector.index
    try:
        with suppress(ServerAway):  # a connection that was cut is made anew
            detector.close(reason)
        detector.close(reason)
        sum_up(detector)
    except IndexUnavailable as error:
        logger.error("The run could not be ended; the next crawl may deliver its pages again: %s", error)
    except Exception:  # which is our error: the index is closed all the same
        logger.exception("The crawl could not be summed up")
    if isinstance(index, SQLiteIndex) and not index.store.is_in_place:
        logger.error(
            "%s was moved, deleted or replaced during the crawl: what this run saw is not in the file "
            "that is there now",
            index.name,
        )
    with suppress(IndexUnavailable):
        index.close()


def job_of(folder: str | None) -> str:
    """Return the name of the job in *folder*, "" for none; a new folder gets a new name."""
    if not folder:
        return ""
    path = Path(folder, TOKEN)
    try:
        if path.exists() and (name := path.read_text("utf-8", "replace").strip()):
            return name[:_LONGEST]
        path.parent.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        path.write_text(name + "\n", "utf-8")
    except OSError as error:
        logger.warning(
            "%s cannot be written (%s): a crawl that is resumed in this JOBDIR will be another run",
            *(printable(str(path)), error.strerror),
        )
        return ""
    return name
