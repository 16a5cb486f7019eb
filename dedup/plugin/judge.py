"""The judge, who asks the index of a crawl about its pages, and sums the crawl up."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup.files.marks_file import marks_of
from dedup.index import Index, Run, Sighting
from dedup.index.index import Detector
from dedup.model.errors import counted, printable
from dedup.model.verdict import Verdict
from dedup.plugin.crawl_index import CrawlIndex
from dedup.plugin.probes import Probes, of_own
from dedup.plugin.question import Question
from dedup.plugin.settler import Settler, pending_of
from dedup.plugin.stats import CrawlStats
from dedup.plugin.url_rules import CrawlRules
from dedup.prints.fingerprinter import DedupConfig
from dedup.reading.noise import MarkedPlaces
from dedup.report.changes import in_a_line
from dedup.report.text import DIFFER, LostFeed, places, summary
from dedup.settings import DedupSettings

if TYPE_CHECKING:
    from dedup.report.clusters import Report

logger = logging.getLogger(__name__)

WAIT = 30.0  # seconds that a copy waits for the fate of the item that it repeats
_PLACES = 3  # places where copies differ from the pages kept that the summary names
_MAX_HOSTS = 20_000  # hosts that are remembered as visited; then all are recorded again
# Of garbage collection, which takes a fifth of a crawl by Python's own: after so many objects most are
# gone without it.  Also after so many bytes of pages, as large ones are few objects.
_THRESHOLDS, _BYTES = (50_000, 5, 3), 16_000_000


class Judge:
    """Asks the index of one crawl about its items and responses.

    A page that cannot be judged gets None instead of a verdict, and is kept.  An index in a file is
    asked at once (`ask`), the answer of one on a server is awaited (`ask_in_turn`).
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.settings = settings
        self.counts = CrawlStats(crawler)
        self.index = CrawlIndex(crawler, settings, self.counts)
        self.settler = Settler(self.index)
        self.rules = CrawlRules(self.index)
        self.probes = Probes(self.index, self.settler)
        self._marked = MarkedPlaces(settings.config.exceptions)
        self._hosts: set[str] = set()
        self._bytes, self._thresholds = 0, (0, 0, 0)  # those of before, if they are ours now

    def open(self) -> Run:
        """Open the index and begin a run, or continue that of the same ``JOBDIR``."""
        detector = self.index.open(self._follow_run)
        self.settler.pending = pending_of(detector.index)
        self.settler.pending.runs[self.index.run.id] = {}
        self.probes.open(detector)
        self.rules.open(detector)
        before = gc.get_threshold()
        # Python's own is 700 or 2,000: who has made it rarer is obeyed.
        if gc.isenabled() and gc.get_freeze_count() == 0 < before[0] < 10_000:
            gc.collect(1)  # what is old is hardly garbage, and looking at it takes longest
            gc.freeze()  # modules and what they hold are most of that
            gc.set_threshold(*_THRESHOLDS)
            self._thresholds = before
        return self.index.run

    def collect(self, response: Response) -> None:
        """Collect garbage if *response* is one too many since the last time."""
        self._bytes += len(response.body)
        if self._bytes > _BYTES and self._thresholds[0]:
            gc.collect(1)
            self._bytes = 0

    def _follow_run(self, before: int) -> None:
        runs = self.settler.pending.runs
        runs[self.index.run.id] = runs.pop(before, {})
        hosts, self._hosts = self._hosts, set()
        for host in ("", *hosts):
            self.visit(host)

    async def close(self, reason: str, *, unjudged: str = "", lost: Sequence[LostFeed] = ()) -> None:
        """End the run, log its summary, and close the index.

        *unjudged* says why nothing was judged, if that is so, *lost* which feeds have lost pages.
        """
        if self.index.detector is None:
            return
        if self._thresholds[0]:
            gc.unfreeze()
            gc.set_threshold(*self._thresholds)
        self.settler.close()
        self.rules.close()
        left_out = self.probes.close()

        def sum_up(at: Detector) -> None:
            run, config = self.index.run, self.settings.config
            report = _report(at.index, run.id, config)
            text = summary(
                *(self.counts.own(), at.index, run),
                unjudged=unjudged,
                elsewhere=self.counts.elsewhere(self._hosts),
                lost=lost,
                left_out=left_out,
                changed=in_a_line(at.index, run.id),
                said=[*_said(at.index, config, report)],
            )
            if report and report.is_alarm:
                if records := report.losses.records:
                    self.counts.add("may_be_records", len(records))
                if report.unchecked:
                    self.counts.add("unchecked", report.unchecked)
                logger.warning("%s", report.verdict)
            statistics = at.index.store.statistics()
            self.counts.add("index/rows", statistics.rows)
            self.counts.add("index/bytes", statistics.bytes)
            self.counts.add("index/orphans", statistics.orphans)
            logger.info("%s", text)

        await self.index.close(reason, sum_up)
        self.settler.pending.leave(self.index.run.id)

    def prepared(self, question: Question) -> Question:
        """Return *question* as `ask` takes it: marks are obeyed, and what is noise is left out."""
        if question.page.excess:
            self.counts.over_limit(question.page.url, question.page.excess)
        question.page = self._marked.obeyed(question.page)
        self.probes.mask(question)
        return question

    def ask(self, question: Question) -> Verdict | None:
        """Judge and record, in a file; a verdict without a row repeats a page that is pending here."""
        answers: list[Verdict | None] = []
        tells = bool(self.settler.pending.fates)
        self._ask(question, answers.append)
        if tells and answers[0] is None:  # which may be because of what it was to tell
            self._ask(question, answers.append)
        return answers[-1]

    async def ask_in_turn(self, question: Question) -> Verdict | None:
        """Do what `ask` does; a server is waited for, in the turn of the question."""
        if not self.index.is_remote:
            return self.ask(question)
        later: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()
        self._ask(question, lambda verdict: None if later.done() else later.set_result(verdict))
        return await later

    async def answer(self, question: Question, *, can_repeat: bool) -> Verdict | None:
        """Return the verdict on *question* when the fate of the row that it repeats is known.

        After `WAIT` seconds it is asked once more, and is dropped for the pending row if its
        page *can_repeat*, as a lost page is requested again; otherwise there is no verdict.
        """
        left = WAIT
        while (verdict := await self.ask_in_turn(question)) is not None and verdict.row is None:
            assert verdict.standing is not None
            begin = monotonic()
            await self.settler.pending.wait(verdict.standing, left)
            # A moment more, as nothing was waited for where its fate is already known.
            left -= monotonic() - begin + WAIT / 100
            if left <= 0:
                self.counts.add("wait_timeout")
                if not can_repeat:
                    return None
                question.waits = False
        return verdict

    def _ask(self, question: Question, then: Callable[[Verdict | None], None]) -> None:
        sighting, pending = self._sighted(question), self.settler.pending
        if sighting is None:
            then(None)
            return
        fates = pending.take()

        def answered(verdict: Verdict | None) -> None:
            if verdict is not None:
                self._note(sighting, verdict)
                self.probes.judged(question, verdict)
            self.settler.recorded(fates, is_done=verdict is not None)
            then(verdict)

        question.tell_fates, question.told_to = fates.tell, None
        question.host = None if sighting.host in self._hosts else sighting.host
        question.wait_for = frozenset(pending.runs if question.waits else ())
        self.probes.mask_earlier(question)
        self.index.do(question, answered)

    def _sighted(self, question: Question) -> Sighting | None:
        """Return the sighting that *question* is about, None if there is no index or no fingerprint."""
        detector = self.index.detector
        if question.sighting is None and detector:
            sight = partial(detector.sighting, question.page, kind=question.kind)
            try:
                question.sighting = self.counts.timed("fingerprint", sight)
                if question.gaps or question.of_site:
                    left = replace(question.sighting.fingerprint, left_out=bool(question.gaps))
                    if question.lists:
                        left = of_own(left, question.lists.own(question.page, question.of_site))
                    question.sighting = replace(question.sighting, fingerprint=left)
            except Exception:  # which is our error: the page is kept
                logger.exception("<%s> could not be judged and is kept", printable(question.page.url))
        return question.sighting

    def _note(self, sighting: Sighting, verdict: Verdict) -> None:
        # Of a run that was ended meanwhile another one goes on, and was not told of the host.
        (self._visited if sighting.run == self.index.run.id else self.visit)(sighting.host)
        if verdict.row is None:
            return
        if verdict.kept:
            self.settler.pending.begin(self.index.run.id, verdict.row)
        if verdict.represents:
            self.counts.add("canonical_not_met")
        self.counts.judged(verdict)
        self.settler.note_change(sighting.url, verdict)

    def visit(self, host: str) -> None:
        if self.index.detector is None or host in self._hosts:
            return

        def visited(at: Detector) -> bool:
            at.visit(host)
            return True

        self._visited(host)
        self.index.do(visited, lambda is_done: None if is_done else self._hosts.discard(host))

    def _visited(self, host: str) -> None:
        if len(self._hosts) >= _MAX_HOSTS:
            self._hosts.clear()
        self._hosts.add(host)

    def withhold(self, links: Sequence[str]) -> None:
        """Record *links* that were not requested because they stood on a copy."""
        urls = [url for url in links if url.startswith(("http:", "https:"))]
        if urls:
            self.index.do(lambda at: at.index.runs.withhold(at.run, urls))


def _report(index: Index, run: int, config: DedupConfig) -> Report | None:
    """Return the report on *run*, None where it has no copies: then no row is read."""
    if not index.store.clusters(run, 1):
        return None
    from dedup.report.clusters import Report

    report = Report(index, config, run)
    return report if report.counts.copies else None


def _said(index: Index, config: DedupConfig, report: Report | None) -> Iterator[str]:
    """Yield the marks, and what the *report* on the run says."""
    if exceptions := config.exceptions:
        marks = printable(str(marks_of(index.name)), 4096)  # a whole path
        yield f"{counted(len(exceptions), 'mark')} obeyed, of {marks}"
    if report:
        yield from [] if report.is_alarm else [report.verdict]
        yield from (line for _, line in places(report.losses, _PLACES, DIFFER))
