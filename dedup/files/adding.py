"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input.

`work` makes sightings in other processes; the index is asked about them batch by batch, and what is
kept is written as it was read.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from dedup.files.finding import FORMATS, Inputs, format_of
from dedup.files.formats import FeedError, Record, Write, is_compressed
from dedup.files.outputs import check_target, replacing
from dedup.files.work import (
    BATCH_BYTES,
    BATCH_RECORDS,
    Batch,
    Result,
    Sighted,
    WorkerSettings,
    sighted,
)
from dedup.index import Index, Run
from dedup.index.detector import Texts
from dedup.model.errors import DedupError
from dedup.model.verdict import Verdict
from dedup.reading.fields import NoHtml


class NoPages(DedupError):  # noqa: N818 - it says what is the matter
    """The records have no HTML, and no fields of text were named."""


class Adding:
    """One pass of the *inputs* through *index*; what is kept is written to *output*, if there is one.

    With *record* False nothing is recorded, and records are not compared with one another.  *tell* is
    called with problems; *tell_copy*, where nothing is recorded, with name, URL and verdict of copies.

    *counts* are by verdict, with `seen`, `kept`, `dropped`, `dropped_for_earlier_run`, `bad`
    (records that cannot be read, kept), `unreadable` (files that cannot be read to their end),
    `revisits` (records that only repeat a dropped one, left out of the output) and
    `over_limit/...` as the stats of a crawl.  *share* (0 to 1) is how much has been read.
    """

    def __init__(
        self,
        index: Index,
        inputs: Inputs,
        settings: WorkerSettings,
        *,
        jobs: int = 1,
        record: bool = True,
        output: Path | None = None,
        tell: Callable[[str], None] = lambda _: None,
        tell_copy: Callable[[str, str, Verdict], None] = lambda *_: None,
    ) -> None:
        self._texts = Texts(index, settings.config)
        self._index = index
        self._feeds = inputs.feeds
        self._settings = settings
        self._jobs = jobs
        self._is_recorded = record
        self._output = output
        self._tell, self._tell_copy = tell, tell_copy
        self._dropped: set[str] = set()  # by their `Record.names`
        self.counts: Counter[str] = Counter()
        self.records = 0
        self.share = 0.0
        self.run: Run | None = None

    def work(self) -> Generator[None]:
        """Go through all records; yields after each batch, and must be closed.

        The output appears when it is complete; only then what it has counts in the index.  Raises
        `DedupError` if it cannot be written.
        """
        index, settings = self._index, self._settings
        if self._is_recorded:
            index.prepare(settings.config)
        else:
            index.expect(settings.config)
        try:
            with self._opened() as write:
                number = max((run.id for run in index.runs.all()), default=0) + 1
                if self._is_recorded:
                    self.run = index.runs.begin(settings.spider)
                    number = self.run.id
                if self.run and self._output:
                    index.runs.hold(self.run)
                self._settings = replace(settings, run=number)
                yield from self._work(write)
        except BaseException as error:
            is_stopped = isinstance(error, KeyboardInterrupt | GeneratorExit)
            if self.run:
                index.runs.end(self.run, "interrupted" if is_stopped else "failed")
            raise
        if self.run:
            with index.batch():
                index.runs.let_go(self.run)
                index.runs.end(self.run, "finished")

    @contextmanager
    def _opened(self) -> Iterator[Write]:
        """Open the output for the records that are kept."""
        if self._output is None:
            yield lambda _: None
            return
        first = self._feeds[0]
        with (
            replacing(self._output, is_folder=first.form == "html") as part,
            first.sink(part, compressed=is_compressed(self._output)) as write,
        ):
            yield write

    def _work(self, write: Write) -> Iterator[None]:
        with (
            closing(sighted(self._batches(), self._jobs, self._settings)) as judged,
            TemporaryFile("w+") as revisits,  # an archive may be half of them
        ):
            for batch, results in judged:
                for record, is_read in self._settle(batch, results):
                    if record.repeats and self._output:  # what comes later, perhaps
                        told = record.name, record.source, record.repeats
                        revisits.write(f"{json.dumps(told, default=str)}\n")
                    else:
                        self._write(write, record, is_read=is_read)
                self.share = (batch.number + batch.feed.share) / len(self._feeds)
                yield
            revisits.seek(0)
            for name, source, repeats in map(json.loads, revisits):
                if self._dropped.isdisjoint(repeats):
                    self._write(write, Record(name, source), is_read=True)
                else:
                    self.counts["revisits"] += 1

    def _write(self, write: Write, record: Record, *, is_read: bool) -> None:
        try:
            write(record.source)
        except FeedError as error:
            if is_read:  # others were reported when they were judged
                raise DedupError(f"{error}: {self._output} would lack it, so it is not there") from error

    # Reading

    def _batches(self) -> Iterator[Batch]:
        for number, feed in enumerate(self._feeds):
            records: list[Record] = []
            size, trouble = 0, ""
            try:
                for record in feed.records():
                    records.append(record)
                    size += record.size
                    if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
                        yield Batch(number, feed, records, time.time(), self._stores())
                        records, size = [], 0
            except FeedError as error:
                trouble = str(error)
            yield Batch(number, feed, records, time.time(), self._stores(), trouble)

    def _stores(self) -> bool:
        return self.run is not None and self._texts.are_kept()

    # Judging

    def _settle(self, batch: Batch, results: Sequence[Result]) -> list[tuple[Record, bool]]:
        """Judge *batch* in one transaction; return the records to write, and whether each was read."""
        kept: list[tuple[Record, bool]] = []
        events: list[Callable[[], None]] = []  # told when the index is free for others again
        with self._index.batch() if self.run else nullcontext():
            for record, result in zip(batch.records, results, strict=True):
                problem = record.problem or (result if isinstance(result, str) else "")
                if problem:
                    self.counts["bad"] += 1
                    events.append(partial(self._tell, f"{record.name}: {problem}"))
                if record.source is None:
                    continue
                if self._is_kept(batch, record, result, bool(problem), events):
                    kept.append((record, not problem))
                else:
                    self._dropped.update(record.names)
        if batch.trouble:
            self.counts["unreadable"] += 1
            events.append(partial(self._tell, batch.trouble))
        self.records += len(results)
        for event in events:
            event()
        return kept

    def _is_kept(
        self,
        batch: Batch,
        record: Record,
        result: Result,
        is_bad: bool,
        events: list[Callable[[], None]],
    ) -> bool:
        """Judge a record."""
        counts = self.counts
        if not is_bad and (record.payload is None or (result is None and not batch.feed.has_pages_only)):
            return True
        counts["seen"] += 1
        if isinstance(result, NoHtml) and counts["seen"] == counts["not_judged"] + 1:
            # Nothing seen so far was a page; one record among pages is kept.
            names = ", ".join(result.record) or "none"
            raise NoPages(
                f"{record.name} is no page: {result} (its fields are {names}). Name the fields to "
                "judge it by, -s DEDUP_TEXT_FIELDS=title,text, and with "
                "-s DEDUP_KEY_FIELDS=... what tells records apart; nothing has been judged without"
            )
        if not isinstance(result, Sighted):
            counts.update(("kept", "not_judged"))
            return True
        if result.excess:
            counts[f"over_limit/{result.excess}"] += 1
        verdict = self._verdict(result)
        counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        if not verdict.kept:
            counts["dropped_for_earlier_run"] += verdict.canonical_run != self._settings.run
            if not self.run:
                told = partial(self._tell_copy, record.name, result.sighting.url, verdict)
                events.append(told)
        return verdict.kept

    def _verdict(self, sighted: Sighted) -> Verdict:
        ledger, config = self._index.ledger, self._settings.config
        if not self.run:
            return ledger.judge(sighted.sighting, config)
        page = self._texts.kept(lambda: sighted.stored)
        return ledger.find_or_add(sighted.sighting, config, page=page)


def check_output(output: Path, inputs: Inputs) -> None:
    """Raise `DedupError` if the records of *inputs* cannot all be written to *output*.

    They must be of one format and have the same header or schema.  *output* must be of this format by
    its name, and must not be one of the input files.
    """
    feeds = inputs.feeds
    forms = sorted({feed.form for feed in feeds})
    if len(forms) != 1:
        raise DedupError(
            f"--output takes one format, and the input has {', '.join(forms) or 'no file of any'}"
        )
    is_folder = forms[0] == "html"
    check_target(output, inputs.paths, is_folder=is_folder)
    wanted = format_of(output)
    if not is_folder and wanted not in ("", forms[0]):
        raise DedupError(f"{output} must be of the input's format, {forms[0]}, and not {wanted}")
    if is_compressed(output) and not is_folder and not FORMATS[forms[0]].may_be_compressed:
        raise DedupError(f"{output} must be {forms[0]}, which is never compressed as a whole")
    first, *others = feeds
    if forms[0] == "warc" and is_compressed(output) != is_compressed(first.path):
        raise DedupError(f"{first.name} and {output} must both be compressed, or none of them")
    alike = first.likeness()
    for other in others:
        if other.likeness() != alike:
            raise DedupError(
                f"{first.name} and {other.name} differ in their columns or compression, "
                "so they cannot be written to one file; add them one by one"
            )
