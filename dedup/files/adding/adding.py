"""The index is asked about every record in the order of the input, batch by batch."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from dedup.files.adding.work import (
    BATCH_BYTES,
    BATCH_RECORDS,
    Batch,
    Result,
    Sighted,
    WorkerSettings,
    sighted,
)
from dedup.files.feeds import START, Feed, FeedError, Inputs, Place, Record
from dedup.index import Index, Run
from dedup.index.detector import Texts
from dedup.reading.fields import FieldRule, NoHtml
from dedup.reading.page import PARSER
from dedup.recipes.config import DedupConfig
from dedup.values.errors import DedupError
from dedup.values.hashes import digest
from dedup.values.verdict import Verdict

# What became of a record: a letter in the journal.
DROPPED, KEPT, UNREAD = "0", "1", "?"


@dataclass(frozen=True, slots=True)
class Entry:
    """One batch: the number of its *feed*, the fate of each record, and where it ended.

    An `UNREAD` record is kept too, if it can be written.
    """

    feed: int
    after: Place
    fates: str
    counts: dict[str, int]
    ends: bool = False


class Journal:
    """The journal of *run* in *index*; *entries* are those that stood in it when it was opened.

    *choices* is a digest of what the verdicts depend on.  Raises `DedupError` if the choices or the
    files of *feeds* have changed since the run began, or if the journal is damaged.
    """

    def __init__(self, index: Index, run: int, choices: str, feeds: Sequence[Feed]) -> None:
        self._index = index
        self._run = run
        self.entries: list[Entry] = []
        stamps = [(feed.form, _stamp_of(file)) for feed in feeds for file in feed.files]
        begun = {"choices": choices, "files": signature(stamps)}
        if texts := index.book.journal(run):
            self._read(texts, begun)
        else:
            index.book.extend_journal(run, 0, json.dumps(begun))

    def _read(self, texts: Sequence[str], begun: dict[str, str]) -> None:
        try:
            before = _begun(texts[0])
            self.entries += [_entry(text) for text in texts[1:]]
        except (ValueError, RecursionError) as error:
            raise DedupError(
                f"the journal of run {self._run}, which was interrupted and would continue, is damaged "
                f"({error}); `dedup forget --run {self._run}` undoes it, and then it starts again"
            ) from error
        for name, now in begun.items():
            if before[name] != now:
                raise DedupError(
                    f"the {name} are not those of run {self._run}, which was interrupted and would "
                    f"continue; `dedup forget --run {self._run}` undoes it, and then it starts again"
                )

    def write(self, number: int, entry: Entry) -> None:
        """Write *entry*, the one of that *number* from 1 on, in the transaction of its rows."""
        self._index.book.extend_journal(self._run, number, json.dumps(asdict(entry)))

    def end(self) -> None:
        """Delete it: the run need not go on."""
        self._index.book.end_journal(self._run)


def signature(value: object) -> str:
    """Return a digest of *value* as its `repr` shows it."""
    return digest(repr(value).encode("utf-8", "surrogateescape")).hex()


def _begun(text: str) -> dict[str, Any]:
    """Return the first entry of a journal; raises ValueError."""
    begun = json.loads(text)
    if not (isinstance(begun, dict) and {"choices", "files"} <= begun.keys()):
        raise ValueError("its first entry is invalid")
    return begun


def _entry(text: str) -> Entry:
    """Return an entry of a journal; raises ValueError."""
    match json.loads(text):
        case {
            "feed": int(feed),
            "after": [int(offset), int(number)],
            "fates": str(fates),
            "counts": dict(counts),
            "ends": bool(ends),
        } if (
            min(feed, offset, number) >= 0
            and set(fates) <= {DROPPED, KEPT, UNREAD}
            and all(isinstance(count, int) for count in counts.values())
        ):
            return Entry(feed, (offset, number), fates, counts, ends)
    raise ValueError("an entry is invalid")


def _stamp_of(file: str) -> tuple[str, int, int]:
    """Return what tells that *file* was changed, or removed."""
    name = os.path.join(os.getcwd(), file)
    try:
        stat = os.stat(file)
    except OSError:  # which is reported when it is read
        return (name, 0, 0)
    return (name, stat.st_size, stat.st_mtime_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """How records are judged: *kind* is what they are compared with, "page" or "item".

    With *record* False nothing is recorded, and records are not compared with one another.
    """

    config: DedupConfig = field(default_factory=DedupConfig)
    rule: FieldRule = field(default_factory=FieldRule)
    kind: str = "item"
    spider: str = ""
    jobs: int = 1
    record: bool = True

    @property
    def signature(self) -> str:
        """A digest of all that verdicts depend on."""
        depends: tuple[object, ...] = (self.config, self.rule, self.kind)
        return digest(repr(depends).encode("utf-8", "replace")).hex()


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
    (records that cannot be read, kept), `unreadable` (files that cannot be read to their end) and
    `over_limit/...` as the stats of a crawl.
    """

    counts: Counter[str] = field(default_factory=Counter)
    records: int = 0
    share: float = 0.0
    resumed_at: int = 0


@dataclass(slots=True)
class _Judged:
    """What one batch adds to the tally, and what is to be reported of it."""

    counts: Counter[str] = field(default_factory=Counter)
    events: list[Event] = field(default_factory=list)


class NoPages(DedupError):  # noqa: N818 - it says what is the matter
    """The records have no HTML, and no fields of text were named."""


class Adding:
    """One pass of the *inputs* through *index*.

    *tell* is called with problems and, where nothing is recorded, with copies.  Raises `DedupError` if
    an interrupted pass through the same paths cannot go on, because the files or the choices have
    changed.
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
            index.note_parser(PARSER)
        else:
            index.expect(choices.config)
        self._texts = Texts(index, choices.config)
        self._index = index
        self._inputs = inputs
        self._feeds = inputs.feeds
        self._choices = choices
        self._tell = tell
        self.tally = Added()
        self.entries: list[Entry] = []
        self.run: Run | None = None
        self._journal: Journal | None = None
        self._run_number = max((run.id for run in index.runs()), default=0) + 1
        if choices.record:
            self._begin()

    def _begin(self) -> None:
        # The paths as they were given: with one more file in a folder it is the same job, and refused.
        job = "dedup add " + signature(sorted(str(path.absolute()) for path in self._inputs.paths))
        self.run = self._index.begin_run(self._choices.spider, job=job, settings=self._choices.signature)
        self._run_number = self.run.id
        try:
            self._journal = Journal(self._index, self.run.id, self._choices.signature, self._feeds)
        except BaseException:
            self._index.end_run(self.run, "interrupted")
            raise
        for entry in self._journal.entries:
            self._take(entry)
        self.tally.resumed_at = self.tally.records

    @property
    def unjudged(self) -> str:
        """Why nothing was judged, if that is so; "" where no fields were named."""
        names = ", ".join(self._choices.rule.text_fields)
        return f"no record has anything in the fields that were named ({names})" if names else ""

    def _take(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.tally.records += len(entry.fates)
        self.tally.counts.update(entry.counts)

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
        """End the run, which need not go on any more."""
        if self.run is not None and self._journal is not None:
            with self._index.batch():  # a run that goes on needs its journal
                self._journal.end()
                self._index.end_run(self.run, "finished")

    def stop(self, ending: str) -> None:
        """End the run so that it can go on another time."""
        if self.run is not None:
            self._index.end_run(self.run, ending)

    def fates(self, feed: int) -> Iterator[str]:
        """Yield what became of each record of a feed: `DROPPED`, `KEPT` or `UNREAD`."""
        for entry in self.entries:
            if entry.feed == feed:
                yield from entry.fates

    # Reading

    def _batches(self) -> Iterator[Batch]:
        last = self.entries[-1] if self.entries else Entry(0, START, "", {})
        for number in range(last.feed + last.ends, len(self._feeds)):
            goes_on = number == last.feed and not last.ends
            yield from self._batches_of(number, last.after if goes_on else START)

    def _batches_of(self, number: int, start: Place) -> Iterator[Batch]:
        feed = self._feeds[number]
        records: list[Record] = []
        size, trouble = 0, ""
        try:
            for record in feed.records(start):
                records.append(record)
                size += record.size
                if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
                    yield Batch(number, feed, records, time.time(), self._stores())
                    records, size = [], 0
        except FeedError as error:
            trouble = str(error)
        yield Batch(number, feed, records, time.time(), self._stores(), ends=True, trouble=trouble)

    def _stores(self) -> bool:
        return self.run is not None and self._texts.are_kept()

    # Judging

    def _settle(self, batch: Batch, results: Sequence[Result]) -> None:
        try:
            judged = self._judge(batch, results)
        except NoPages:
            if self._journal and not self.entries:  # the next try will have other choices
                self._journal.end()
            raise
        for event in judged.events:
            self._tell(event)

    def _judge(self, batch: Batch, results: Sequence[Result]) -> _Judged:
        """Judge the records of *batch* in one transaction, its entry in the journal included."""
        judged = _Judged()
        with self._index.batch() if self.run else nullcontext():
            fates = "".join(
                self._fate(batch, record, result, judged)
                for record, result in zip(batch.records, results, strict=True)
            )
            if batch.trouble:
                judged.counts["unreadable"] += 1
                judged.events.append(Event("", batch.trouble))
            after = batch.records[-1].after if batch.records else START
            entry = Entry(batch.number, after, fates, dict(judged.counts), batch.ends)
            if self._journal:
                self._journal.write(len(self.entries) + 1, entry)
        self._take(entry)
        return judged

    def _fate(self, batch: Batch, record: Record, result: Result, judged: _Judged) -> str:
        """Judge a record; return its fate."""
        if problem := record.problem or (result if isinstance(result, str) else ""):
            judged.counts["bad"] += 1
            judged.events.append(Event(record.name, problem))
            if record.source is None:
                return DROPPED
        elif record.payload is None or (result is None and not batch.feed.has_pages_only):
            return KEPT
        judged.counts["seen"] += 1
        if isinstance(result, Sighted):
            return self._fate_of_page(record, result, judged)
        if isinstance(result, NoHtml):
            self._refuse_records(record, result, judged)
        judged.counts.update(("kept", "not_judged"))
        return UNREAD if problem else KEPT

    def _refuse_records(self, record: Record, no_html: NoHtml, judged: _Judged) -> None:
        """Raise `NoPages` where no page was seen so far: one record among pages is kept."""
        counts = self.tally.counts + judged.counts
        if counts["seen"] == counts["not_judged"] + 1:
            names = ", ".join(no_html.record) or "none"
            raise NoPages(
                f"{record.name} is no page: {no_html} (its fields are {names}). Name the fields to "
                "judge it by, -s DEDUP_TEXT_FIELDS=title,text, and with "
                "-s DEDUP_KEY_FIELDS=... what tells records apart; nothing has been judged without"
            )

    def _fate_of_page(self, record: Record, sighted: Sighted, judged: _Judged) -> str:
        if sighted.excess:
            judged.counts[f"over_limit/{sighted.excess}"] += 1
        verdict = self._verdict(sighted)
        judged.counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        if not verdict.kept and verdict.canonical_run != self._run_number:
            judged.counts["dropped_for_earlier_run"] += 1
        if not verdict.kept and not self.run:
            judged.events.append(Event(record.name, url=sighted.sighting.url, verdict=verdict))
        return KEPT if verdict.kept else DROPPED

    def _verdict(self, sighted: Sighted) -> Verdict:
        config = self._choices.config
        if self.run:
            page = self._texts.kept(lambda: sighted.stored)
            return self._index.ledger.find_or_add(sighted.sighting, config, page=page)
        return self._index.ledger.judge(sighted.sighting, config)
