"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input.

`work` makes sightings in other processes; the index is asked about them batch by batch, and what is
kept is written as it was read.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

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
from dedup.reading.fields import NoHtml


class Adding:
    """One pass of the *inputs* through *index*; what is kept is written to *output*, if there is one.

    *tell* is called with problems.  *counts* are by verdict, with `seen`, `kept`, `dropped`,
    `dropped_for_earlier_run`, `bad` (records that cannot be read, kept), `unreadable` (files that
    cannot be read to their end) and `over_limit/...` as the stats of a crawl.  *share* (0 to 1) is
    how much has been read.
    """

    def __init__(
        self,
        index: Index,
        inputs: Inputs,
        settings: WorkerSettings,
        *,
        jobs: int = 1,
        output: Path | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._texts = Texts(index, settings.config)
        self._index, self._feeds, self._settings = index, inputs.feeds, settings
        self._jobs, self._output, self._tell = jobs, output, tell
        self.counts: Counter[str] = Counter()
        self.records = 0
        self.share = 0.0
        self.run: Run

    def work(self) -> Generator[None]:
        """Go through all records; yields after each batch, and must be closed.

        The output appears when it is complete; only then what it has counts in the index.  Raises
        `DedupError` if it cannot be written.
        """
        runs = self._index.runs
        self._index.prepare()
        run: Run | None = None
        try:
            with self._opened() as write:
                self.run = run = runs.begin(self._settings.spider)
                if self._output:
                    runs.hold(run)
                self._settings = replace(self._settings, run=run.id)
                yield from self._work(write)
        except BaseException as error:
            is_stopped = isinstance(error, KeyboardInterrupt | GeneratorExit)
            if run:
                runs.end(run, "interrupted" if is_stopped else "failed")
            raise
        with self._index.batch():
            runs.let_go(run)
            runs.end(run, "finished")

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
        with closing(sighted(self._batches(), self._jobs, self._settings)) as judged:
            for batch, results in judged:
                for record, is_read in self._settle(batch, results):
                    try:
                        write(record.source)
                    except FeedError as error:
                        if is_read:  # others were reported when they were judged
                            raise DedupError(f"{error}: {self._output} would lack it") from error
                self.share = (batch.number + batch.feed.share) / len(self._feeds)
                yield

    def _batches(self) -> Iterator[Batch]:
        for number, feed in enumerate(self._feeds):
            records: list[Record] = []
            size, trouble = 0, ""
            try:
                for record in feed.records():
                    records.append(record)
                    size += record.size
                    if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
                        yield Batch(number, feed, records, time.time(), self._texts.are_kept())
                        records, size = [], 0
            except FeedError as error:
                trouble = str(error)
            yield Batch(number, feed, records, time.time(), self._texts.are_kept(), trouble)

    def _settle(self, batch: Batch, results: Sequence[Result]) -> list[tuple[Record, bool]]:
        """Judge *batch* in one transaction; return the records to write, and whether each was read."""
        kept: list[tuple[Record, bool]] = []
        problems: list[str] = []  # told when the index is free for others again
        with self._index.batch():
            for record, result in zip(batch.records, results, strict=True):
                problem = record.problem or (result if isinstance(result, str) else "")
                if problem:
                    problems.append(f"{record.name}: {problem}")
                is_page = batch.feed.has_pages_only or result is not None
                is_judged = bool(problem) or (record.payload is not None and is_page)
                if record.source is not None and not (is_judged and self._is_copy(record, result)):
                    kept.append((record, not problem))
        self.counts["bad"] += len(problems)
        if batch.trouble:
            self.counts["unreadable"] += 1
            problems.append(batch.trouble)
        self.records += len(results)
        for told in problems:
            self._tell(told)
        return kept

    def _is_copy(self, record: Record, result: Result) -> bool:
        counts = self.counts
        counts["seen"] += 1
        if isinstance(result, NoHtml) and counts["seen"] == counts["not_judged"] + 1:
            # Nothing seen so far was a page; one record among pages is kept.
            names = ", ".join(result.record) or "none"
            raise DedupError(
                f"{record.name} is no page: {result} (its fields are {names}). Name the fields to "
                "judge it by, -s DEDUP_TEXT_FIELDS=title,text, and with "
                "-s DEDUP_KEY_FIELDS=... what tells records apart; nothing has been judged without"
            )
        if not isinstance(result, Sighted):
            counts.update(("kept", "not_judged"))
            return False
        if result.excess:
            counts[f"over_limit/{result.excess}"] += 1
        page = self._texts.kept(lambda: result.stored)
        verdict = self._index.ledger.find_or_add(result.sighting, self._settings.config, page=page)
        counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        if not verdict.kept:
            counts["dropped_for_earlier_run"] += verdict.canonical_run != self._settings.run
        return not verdict.kept


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
    (form,), (first, *others) = forms, feeds
    check_target(output, [*inputs.paths, *(feed.path for feed in feeds)], is_folder=form == "html")
    if form == "html":
        first.likeness()
        return
    is_never_packed = is_compressed(output) and not FORMATS[form].may_be_compressed
    if format_of(output) not in ("", form) or is_never_packed:
        raise DedupError(f"{output} must be of the input's format, {form}")
    alike = first.likeness()
    for other in others:
        if other.likeness() != alike:
            raise DedupError(
                f"{first.name} and {other.name} differ in their columns, so they cannot be written "
                "to one file; add them one by one"
            )
