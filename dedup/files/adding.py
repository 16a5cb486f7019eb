"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input.

`work` makes sightings in other processes; the index is asked about them batch by batch, and what was
kept is written as it was read.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from dedup.files.feeds import Feed, FeedError, Inputs, Record, Sink
from dedup.files.feeds.finding import format_of
from dedup.files.feeds.lines import is_compressed
from dedup.files.outputs import check_target, filling, is_vacant, replacing
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
from dedup.prints.config import DedupConfig
from dedup.reading.fields import FieldRule, NoHtml

# What became of a record; one that is unread is kept too, if it can be written.
DROPPED, KEPT, UNREAD = "0", "1", "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """How records are judged: *kind* is what they are compared with, "page" or "item".

    With *record* False nothing is recorded, and records are not compared with one another.  If it
    *has_output*, what is kept is in it when it is finished, and is taken back if it never is.
    """

    config: DedupConfig = field(default_factory=DedupConfig)
    rule: FieldRule = field(default_factory=FieldRule)
    kind: str = "item"
    spider: str = ""
    jobs: int = 1
    record: bool = True
    has_output: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """What is reported: a *problem* with the record *name*, or a *verdict* on it, a page at *url*.

    A problem with a whole file names it, and has no *name*.
    """

    name: str
    problem: str = ""
    url: str = ""
    verdict: Verdict | None = None


@dataclass(slots=True)
class Added:
    """What was counted so far.

    *counts* are by verdict, with `seen`, `kept`, `dropped`, `dropped_for_earlier_run`, `bad`
    (records that cannot be read, kept), `unreadable` (files that cannot be read to their end),
    `revisits` (records that only repeat a dropped one, left out of the output) and
    `over_limit/...` as the stats of a crawl.
    """

    counts: Counter[str] = field(default_factory=Counter)
    records: int = 0
    share: float = 0.0


class NoPages(DedupError):  # noqa: N818 - it says what is the matter
    """The records have no HTML, and no fields of text were named."""


class Adding:
    """One pass of the *inputs* through *index*.

    *tell* is called with problems and, where nothing is recorded, with copies.
    """

    def __init__(
        self,
        index: Index,
        inputs: Inputs,
        choices: AddOptions,
        tell: Callable[[Event], None] = lambda _: None,
    ) -> None:
        if choices.record:
            index.prepare(choices.config)
        else:
            index.expect(choices.config)
        self._texts = Texts(index, choices.config)
        self._index = index
        self._inputs = inputs
        self._feeds = inputs.feeds
        self._choices = choices
        self._tell = tell
        self.tally = Added()
        self._fates = [[""] for _ in inputs.feeds]
        self._lost: set[str] = set()
        self.run: Run | None = None
        self._run_number = max((run.id for run in index.runs.all()), default=0) + 1
        if choices.record:
            self._begin()

    def _begin(self) -> None:
        self.run = self._index.runs.begin(self._choices.spider)
        self._run_number = self.run.id
        if self._choices.has_output:
            self._index.runs.hold(self.run)

    @property
    def unjudged(self) -> str:
        """Why nothing was judged, if that is so; "" where no fields were named."""
        names = ", ".join(self._choices.rule.text_fields)
        return f"no record has anything in the fields that were named ({names})" if names else ""

    def work(self) -> Iterator[Added]:
        """Go through all records; yields the tally after each batch."""
        choices = self._choices
        settings = WorkerSettings(
            rule=choices.rule,
            config=choices.config,
            spider=choices.spider,
            run=self._run_number,
            kind=choices.kind,
        )
        with closing(sighted(self._batches(), choices.jobs, settings)) as judged:
            for batch, results in judged:
                self._settle(batch, results)
                self.tally.share = (batch.number + batch.feed.share) / len(self._feeds)
                yield self.tally

    def finish(self) -> None:
        """End the run; what it kept is written."""
        if self.run is not None:
            with self._index.batch():
                self._index.runs.let_go(self.run)
                self._index.runs.end(self.run, "finished")

    def stop(self, ending: str) -> None:
        """End the run before its time."""
        if self.run is not None:
            self._index.runs.end(self.run, ending)

    def fates(self, feed: int) -> Iterator[str]:
        """Yield what became of each record of a feed: `DROPPED`, `KEPT` or `UNREAD`."""
        return chain.from_iterable(self._fates[feed])

    def is_dangling(self, record: Record) -> bool:
        """Return whether *record* repeats one that was dropped, and count it."""
        is_dangling = not self._lost.isdisjoint(record.repeats)
        self.tally.counts["revisits"] += is_dangling
        return is_dangling

    # Reading

    def _batches(self) -> Iterator[Batch]:
        for number in range(len(self._feeds)):
            yield from self._batches_of(number)

    def _batches_of(self, number: int) -> Iterator[Batch]:
        feed = self._feeds[number]
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

    def _settle(self, batch: Batch, results: Sequence[Result]) -> None:
        """Judge the records of *batch* in one transaction."""
        events: list[Event] = []  # told when the index is free for others again
        with self._index.batch() if self.run else nullcontext():
            fates = "".join(
                self._fate(batch, record, result, events)
                for record, result in zip(batch.records, results, strict=True)
            )
            if batch.trouble:
                self.tally.counts["unreadable"] += 1
                events.append(Event("", batch.trouble))
        self._fates[batch.number].append(fates)
        self.tally.records += len(fates)
        for record, fate in zip(batch.records, fates, strict=True):
            if fate == DROPPED:
                self._lost.update(record.names)
        for event in events:
            self._tell(event)

    def _fate(self, batch: Batch, record: Record, result: Result, events: list[Event]) -> str:
        """Judge a record; return its fate."""
        counts = self.tally.counts
        if problem := record.problem or (result if isinstance(result, str) else ""):
            counts["bad"] += 1
            events.append(Event(record.name, problem))
            if record.source is None:
                return DROPPED
        elif record.payload is None or (result is None and not batch.feed.has_pages_only):
            return KEPT
        counts["seen"] += 1
        if isinstance(result, Sighted):
            return self._fate_of_page(record, result, events)
        if isinstance(result, NoHtml):
            self._refuse_records(record, result)
        counts.update(("kept", "not_judged"))
        return UNREAD if problem else KEPT

    def _refuse_records(self, record: Record, no_html: NoHtml) -> None:
        """Raise `NoPages` where no page was seen so far: one record among pages is kept."""
        counts = self.tally.counts
        if counts["seen"] == counts["not_judged"] + 1:
            names = ", ".join(no_html.record) or "none"
            raise NoPages(
                f"{record.name} is no page: {no_html} (its fields are {names}). Name the fields to "
                "judge it by, -s DEDUP_TEXT_FIELDS=title,text, and with "
                "-s DEDUP_KEY_FIELDS=... what tells records apart; nothing has been judged without"
            )

    def _fate_of_page(self, record: Record, sighted: Sighted, events: list[Event]) -> str:
        counts = self.tally.counts
        if sighted.excess:
            counts[f"over_limit/{sighted.excess}"] += 1
        verdict = self._verdict(sighted)
        counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        if not verdict.kept and verdict.canonical_run != self._run_number:
            counts["dropped_for_earlier_run"] += 1
        if not verdict.kept and not self.run:
            events.append(Event(record.name, url=sighted.sighting.url, verdict=verdict))
        return KEPT if verdict.kept else DROPPED

    def _verdict(self, sighted: Sighted) -> Verdict:
        config = self._choices.config
        if self.run:
            page = self._texts.kept(lambda: sighted.stored)
            return self._index.ledger.find_or_add(sighted.sighting, config, page=page)
        return self._index.ledger.judge(sighted.sighting, config)


# What was kept, in the format in which it was read


def check_output(output: Path, inputs: Inputs) -> None:
    """Raise `DedupError` if the records of *inputs* cannot all be written to *output*.

    They must be of one format and have the same header or schema.  *output* must be of this format by
    its name, in a folder that exists, and must not be one of the input files.
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
    if forms[0] == "parquet" and is_compressed(output):
        raise DedupError(f"{output} must be Parquet, which is never compressed as a whole")
    first, *others = feeds
    if forms[0] == "warc" and _compressed(output, first) != is_compressed(first.path):
        raise DedupError(f"{first.name} and {output} must both be compressed, or none of them")
    alike = first.likeness()
    for other in others:
        if other.likeness() != alike:
            raise DedupError(
                f"{first.name} and {other.name} differ in their columns or compression, "
                "so they cannot be written to one file; add them one by one"
            )
    _check_place(output, is_folder=is_folder)


def _check_place(output: Path, *, is_folder: bool) -> None:
    place = output.resolve()
    if is_folder and output.exists() and not (output.is_dir() and is_vacant(output)):
        raise DedupError(f"{output} must be an empty folder, or a new one, for the files of HTML")
    if not is_folder and output.is_dir():
        raise DedupError(f"{output} must be a file")
    if output.exists() and not output.is_file():  # a folder to fill, or a device
        if not os.access(output, os.W_OK):
            raise DedupError(f"{output} must be writable")
    elif not os.access(place.parent, os.W_OK | os.X_OK):
        raise DedupError(f"{output.parent} must be a writable folder")


def write_output(output: Path, feeds: Sequence[Feed], adding: Adding) -> Iterator[float]:
    """Write what *adding* kept of *feeds*; yields the share (0 to 1) that is done, often.

    *output* appears when it is complete.  It is compressed if its name says so, or if its name shows no
    format and the input is compressed.  Raises `DedupError` if it cannot be written, or if fewer
    records can be read than were judged.
    """
    first = feeds[0]
    beside = filling if first.form == "html" else replacing
    with beside(output) as part, first.sink(part, compressed=_compressed(output, first)) as sink:
        for number, feed in enumerate(feeds):
            fates = adding.fates(number)
            with suppress(FeedError):  # it was reported when it was judged
                for record, fate in zip(feed.records(), fates, strict=False):
                    if fate != DROPPED and record.source is not None and not adding.is_dangling(record):
                        _write(sink, record, fate, output)
                    yield (number + feed.share) / len(feeds)
            if next(fates, None) is not None:
                raise _lacking(feed.name, output)


def _compressed(output: Path, first: Feed) -> bool:
    return is_compressed(output) or (not format_of(output) and is_compressed(first.path))


def _write(sink: Sink, record: Record, fate: str, output: Path) -> None:
    try:
        sink.write(record.source)
    except FeedError as error:
        if fate == KEPT:  # others were reported when they were judged
            raise _lacking(record.name, output) from error


def _lacking(name: str, output: Path) -> DedupError:
    return DedupError(
        f"{name} cannot be read again as far as it was judged: "
        f"{output} would lack pages that were kept, so it is not written"
    )
