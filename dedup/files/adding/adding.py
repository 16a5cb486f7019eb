"""The index is asked about every record in the order of the input, batch by batch."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dedup.files.adding.work import (
    BATCH_BYTES,
    BATCH_RECORDS,
    Answer,
    Batch,
    Seen,
    Workers,
    WorkerSettings,
)
from dedup.files.feeds import START, Feed, FeedError, Found, Place, Record
from dedup.index import Index, Run
from dedup.reading.fields import FieldRule, NoHtml
from dedup.reading.page import PARSER
from dedup.recipes.config import DedupConfig
from dedup.values.errors import DedupError
from dedup.values.hashes import digest
from dedup.values.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How records are judged: *kind* is what they are compared with, "page" or "item".

    With *record* False nothing is recorded, and records are not compared with one another.  With
    *strict* the first that cannot be read ends the work.
    """

    config: DedupConfig = field(default_factory=DedupConfig)
    rule: FieldRule = field(default_factory=FieldRule)
    kind: str = "item"
    spider: str = ""
    jobs: int = 1
    record: bool = True
    strict: bool = False

    @property
    def signature(self) -> str:
        """A digest of all that verdicts depend on."""
        return digest(repr((self.config, self.rule, self.kind)).encode("utf-8", "replace")).hex()


@dataclass(frozen=True, slots=True)
class Event:
    """What is worth a word: a *problem* with a record or file, or a *verdict* on a page at *url*."""

    name: str
    problem: str = ""
    url: str = ""
    verdict: Verdict | None = None


@dataclass(slots=True)
class Tally:
    """What was found so far.

    *counts* are by verdict, with `seen`, `kept`, `dropped`, `dropped_for_earlier_run`, `bad`
    (records that cannot be read, kept), `unreadable` (files that cannot, from some place on) and
    `over_limit/...` as the stats of a crawl.
    """

    counts: Counter[str] = field(default_factory=Counter)
    records: int = 0
    share: float = 0.0
    resumed_at: int = 0


# What became of a record: a letter in the journal.
DROPPED, KEPT, UNREAD = "0", "1", "?"


@dataclass(frozen=True, slots=True)
class Entry:
    """One batch in the journal: what became of each record, and where it ended.

    `UNREAD` is kept too, if there is anything of it.
    """

    feed: int
    after: Place
    fates: str
    counts: dict[str, int]
    ends: bool = False


class NoPages(DedupError):  # noqa: N818 - it says what is the matter
    """The records have no HTML, and no fields of text were named."""


class Adding:
    """One pass of the feeds that were *found* through *index*.

    *tell* hears of problems and, where nothing is recorded, of copies.  Raises `DedupError` if an
    interrupted pass through the same paths cannot go on, because what is there or the choices have
    changed.
    """

    def __init__(
        self,
        index: Index,
        found: Found,
        choices: Choices,
        tell: Callable[[Event], None] = lambda _: None,
        *,
        restart: bool = False,
    ) -> None:
        if choices.record:
            index.prepare(choices.config)
            index.note_parser(PARSER)
        else:
            index.expect(choices.config)
        self._index = index
        self._found = found
        self._feeds = found.feeds
        self._choices = choices
        self._tell = tell
        self.tally = Tally()
        self.entries: list[Entry] = []
        self.run: Run | None = None
        self._run_number = max((run.id for run in index.runs()), default=0) + 1
        if choices.record:
            self._begin(restart=restart)

    def _begin(self, *, restart: bool) -> None:
        # The paths as they were given: a file more in a folder must be refused, and make no other job.
        job = "dedup add " + _digest(sorted(str(path.absolute()) for path in self._found.paths))
        self.run = self._index.begin_run(self._choices.spider, job=job, settings=self._choices.signature)
        self._run_number = self.run.id
        try:
            if restart:
                self._index.book.forget(self.run.id)
            self._resume(self.run)
        except BaseException:
            self._index.end_run(self.run, "interrupted")
            raise

    def _resume(self, run: Run) -> None:
        begun = {"choices": self._choices.signature, "files": _stamp(self._feeds)}
        journal = self._index.book.journal(run.id)
        if not journal:
            self._index.book.extend_journal(run.id, 0, json.dumps(begun))
            return
        try:
            before = _begun(journal[0])
            entries = [_entry(text) for text in journal[1:]]
        except (ValueError, RecursionError) as error:
            raise DedupError(
                f"the journal of the run {run.id}, which was interrupted and would go on, is damaged "
                f"({error}); --restart takes back what it recorded and begins anew"
            ) from error
        for name, now in begun.items():
            if before[name] != now:
                raise DedupError(
                    f"the {name} are not those of the run {run.id}, which was interrupted and would "
                    "go on; --restart takes back what it recorded and begins anew"
                )
        for entry in entries:
            self._take(entry)
        self.tally.resumed_at = self.tally.records

    def _take(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.tally.records += len(entry.fates)
        self.tally.counts.update(entry.counts)

    def work(self) -> Iterator[Tally]:
        """Go through all records; yields the tally after each batch."""
        choices = self._choices
        settings = WorkerSettings(
            choices.rule, choices.config, choices.spider, choices.kind, self._index.secret
        )
        with (
            Workers(choices.jobs, settings) as workers,
            closing(workers.answered(self._batches())) as answered,
        ):
            for batch, answers in answered:
                self._settle(batch, answers)
                feed = self._feeds[batch.feed]
                self.tally.share = (batch.feed + feed.share) / len(self._feeds)
                yield self.tally

    def finish(self) -> None:
        """End the run, which need not go on any more."""
        if self.run is not None:
            with self._index.batch():  # a journal that is gone from a run that goes on would lie
                self._index.book.end_journal(self.run.id)
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
                    yield Batch(number, feed.content, records)
                    records, size = [], 0
        except FeedError as error:
            trouble = str(error)
        yield Batch(number, feed.content, records, ends=True, trouble=trouble)

    # Judging

    def _settle(self, batch: Batch, answers: list[Answer]) -> None:
        try:
            self._judge(batch, answers)
        except NoPages:
            if self.run and not self.entries:  # the next try will have other choices
                self._index.book.end_journal(self.run.id)
            raise

    def _judge(self, batch: Batch, answers: list[Answer]) -> None:
        counts: Counter[str] = Counter()
        events: list[Event] = []
        feed = self._feeds[batch.feed]
        with self._index.batch() if self.run else nullcontext():
            fates = "".join(
                self._fate(feed, record, found, counts, events)
                for record, found in zip(batch.records, answers, strict=True)
            )
            if batch.trouble:
                counts["unreadable"] += 1
                events.append(Event(feed.name, batch.trouble))
            problem = next((event for event in events if event.problem), None)
            if self._choices.strict and problem:
                raise DedupError(f"{problem.name}: {problem.problem}")
            after = batch.records[-1].after if batch.records else START
            entry = Entry(batch.feed, after, fates, dict(counts), batch.ends)
            if self.run:
                number = len(self.entries) + 1
                self._index.book.extend_journal(self.run.id, number, json.dumps(asdict(entry)))
        self._take(entry)
        for event in events:
            self._tell(event)

    def _fate(
        self, feed: Feed, record: Record, found: Answer, counts: Counter[str], events: list[Event]
    ) -> str:
        """Judge a record; return what becomes of it."""
        if problem := record.problem or (found if isinstance(found, str) else ""):
            counts["bad"] += 1
            events.append(Event(record.name, problem))
            if record.source is None:
                return DROPPED
        elif record.payload is None or (found is None and not feed.has_pages_only):
            return KEPT
        counts["seen"] += 1
        if isinstance(found, NoHtml):
            return self._without_html(record, found, counts)
        if not isinstance(found, Seen):
            counts.update(("kept", "not_judged"))
            return UNREAD if problem else KEPT
        if found.excess:
            counts[f"over_limit/{found.excess}"] += 1
        verdict = self._verdict(found)
        counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        if not verdict.kept and verdict.canonical_run != self._run_number:
            counts["dropped_for_earlier_run"] += 1
        if not verdict.kept and not self.run:
            events.append(Event(record.name, url=found.sighting.url, verdict=verdict))
        return KEPT if verdict.kept else DROPPED

    def _without_html(self, record: Record, found: NoHtml, counts: Counter[str]) -> str:
        """Keep a record among pages; raises `NoPages` where there were none so far."""
        judged = self.tally.counts + counts
        if judged["seen"] == judged["not_judged"] + 1:
            names = ", ".join(found.record) or "none"
            raise NoPages(
                f"{record.name} is no page: {found} (its fields are {names}). Name the fields to judge "
                "it by, --text-fields title,text or --html-field content, and with DEDUP_KEY_FIELDS "
                "what tells records apart; nothing has been judged without"
            )
        counts.update(("kept", "not_judged"))
        return KEPT

    def _verdict(self, seen: Seen) -> Verdict:
        config = self._choices.config
        sighting = replace(seen.sighting, run=self._run_number, time=time.time())
        if self.run:
            return self._index.find_or_add(sighting, config, page=seen.stored)
        return self._index.judge(sighting, config)


def _begun(text: str) -> dict[str, Any]:
    """Return what a journal begins with; raises ValueError."""
    begun = json.loads(text)
    if not (isinstance(begun, dict) and {"choices", "files"} <= begun.keys()):
        raise ValueError("its beginning is none")
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
    raise ValueError("an entry is none")


def _stamp(feeds: Sequence[Feed]) -> str:
    """Return a digest that changes when a file does, or comes, or goes."""
    return _digest([(feed.form, _stamp_of(file)) for feed in feeds for file in feed.files])


def _stamp_of(file: Path) -> tuple[str, int, int]:
    name = str(file.absolute())
    try:
        stat = file.stat()
    except OSError:  # which is told when it is read
        return (name, 0, 0)
    return (name, stat.st_size, stat.st_mtime_ns)


def _digest(value: object) -> str:
    return digest(repr(value).encode("utf-8", "surrogateescape")).hex()
