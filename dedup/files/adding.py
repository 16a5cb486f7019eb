"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from dedup.files import formats
from dedup.files.formats import Feed, FeedError, HtmlFiles, Record, Write, is_compressed
from dedup.files.outputs import check_target, replacing
from dedup.files.warc import WebArchive
from dedup.index import Index, Run
from dedup.index.index import Detector, are_small
from dedup.model.errors import DedupError
from dedup.model.fingerprint import PageToRecord, Sighting
from dedup.model.urls import host_of, valid
from dedup.model.verdict import Reason
from dedup.prints.fingerprinter import fingerprint
from dedup.reading.fields import FieldRule, NoHtml
from dedup.reading.markup import Excess
from dedup.reading.noise import MarkedPlaces
from dedup.reading.page import Page, judged_part, pack, sighting_of
from dedup.settings import DedupSettings

_KINDS = formats.JsonLines, formats.CsvRows, HtmlFiles, WebArchive, formats.ParquetRows
FORMATS: dict[str, type[Feed]] = {kind.form: kind for kind in _KINDS}
# A batch goes to one process as a whole, and is one transaction of the index.
BATCH_RECORDS = 64
# Smaller ones keep processes busy until the end, larger ones cost fewer messages and commits.
BATCH_BYTES = 512 * 1024


@dataclass(slots=True)
class Inputs:
    """The *feeds* behind *paths*, in that order.

    *troubles* has a line for each folder or file that could not be read to its end, *left_out* is the
    number of files in folders whose names show no format, and of links to folders.
    """

    paths: list[Path]
    feeds: list[Feed] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    left_out: int = 0


def format_of(path: Path | str) -> str:
    """Return the format that the name of *path* shows, "" for none.

    >>> format_of(Path("pages.jsonl.gz")), format_of(Path("notes.txt"))
    ('jsonl', '')
    """
    name = os.path.basename(path).lower()
    plain = name.removesuffix(".gz")
    kinds = [kind for kind in FORMATS.values() if plain == name or kind.may_be_compressed]
    return next((kind.form for kind in kinds if plain.endswith(kind.endings)), "")


def find_feeds(paths: Iterable[Path], rule: FieldRule, form: str = "") -> Inputs:
    """Return the feeds in files and folders, inner ones too, in the order of their names.

    All files are of that *form* if given, "jsonl" and so on.  Consecutive files of HTML are one feed.
    Raises `DedupError` for a file given by name whose format is not known.
    """
    found = Inputs(list(paths))
    feeds = found.feeds
    for path in found.paths:
        is_folder = path.is_dir()
        site = valid((path if is_folder else path.parent).absolute().as_posix())
        for file, relative in _files_in(path, found) if is_folder else [(str(path), path.name)]:
            kind = form or format_of(file)
            if not (kind or is_folder):
                endings = ", ".join(ending for kind in FORMATS.values() for ending in kind.endings)
                why = f"shows no format ({endings}, some of them with .gz)"
                how = "unpack it, or name the format with --format"
                raise DedupError(f"{path} has a name that {why}; {how}")
            if not kind:
                found.left_out += 1
                continue
            if not (kind == "html" and feeds and feeds[-1].form == "html"):
                feeds.append(FORMATS[kind](Path(file), rule))
            feeds[-1].entries.append((file, relative, site))
    return found


# Not paths: to make them and take them apart costs as much as to read a small file.
def _files_in(folder: Path, found: Inputs) -> Iterator[tuple[str, str]]:
    """Yield the files in *folder* and inner ones, each with its path there."""
    begin, errors = os.path.join(folder, ""), list[OSError]()
    for place, folders, names in os.walk(folder, onerror=errors.append):
        folders.sort()
        found.left_out += sum(os.path.islink(os.path.join(place, name)) for name in folders)
        for name in sorted(names):
            file = os.path.join(place, name)
            # Reading a pipe might never end; what is not there is reported when it is read.
            if os.path.isfile(file) or not os.path.exists(file):
                relative = file[len(begin) :]
                yield relative if folder == Path() else file, relative
    found.troubles += [f"{error.filename} cannot be read: {error.strerror}" for error in errors]


def check_output(output: Path, inputs: Inputs, index: Path | str) -> None:
    """Raise `DedupError` if the records of *inputs* cannot all be written to *output*.

    They must be of one format and have the same header or schema.  *output* must be of this format by
    its name, and must not be one of the input files or belong to the *index*.
    """
    feeds = inputs.feeds
    forms = sorted({feed.form for feed in feeds})
    sources = [*inputs.paths, *(feed.path for feed in feeds)]
    check_target(output, sources, index, is_folder=forms == ["html"])
    if len(forms) != 1:
        told = ", ".join(forms) or "no file of any"
        raise DedupError(f"--output takes one format, and the input has {told}")
    first, own = feeds[0], forms[0].replace("html", "")
    is_never_packed = is_compressed(output) and not first.may_be_compressed
    if format_of(output) not in ("", own) or is_never_packed:
        wanted = f"of the input's format, {own}" if own else "a folder, as the input is html"
        raise DedupError(f"{output} must be {wanted}")
    alike = first.likeness()
    if other := next((feed for feed in feeds[1:] if feed.likeness() != alike), None):
        told = "differ in their columns, so they cannot be written to one file; add them one by one"
        raise DedupError(f"{first.name} and {other.name} {told}")


class Sighted(NamedTuple):
    """A record that was read: its sighting, and its page as it is stored."""

    sighting: Sighting
    stored: bytes
    excess: Excess | None


# A page, or what is wrong with the record, or None where it holds nothing to judge.
# A record that is no page at all ends the work.
Result = Sighted | NoHtml | str | None


Batch = tuple[Feed, list[Record], bool]
"""Consecutive records of a feed, and whether the index may keep the texts of their pages."""


@dataclass(slots=True)
class Adding:
    """One pass of the *inputs* through *index*, as what *spider* has met.

    What is kept is written to *output*, if there is one.  *tell* is called with problems; why a file
    could not be read to its end is added to the troubles of the inputs.  *counts* are by verdict, with
    `seen`, `kept`, `dropped`, `dropped_for_earlier_run`, `bad` (records that cannot be read, kept) and
    `over_limit/...` as the stats of a crawl.  *share* (0 to 1) is how much has been read.
    """

    index: Index
    inputs: Inputs
    settings: DedupSettings
    spider: str = ""
    jobs: int = 1
    output: Path | None = None
    tell: Callable[[str], None] = lambda _: None
    counts: Counter[str] = field(default_factory=Counter)
    records: int = 0
    share: float = 0.0
    _detector: Detector = field(init=False)

    def work(self, progress: Callable[[], None] = lambda: None) -> Run:
        """Go through all records, and return their run; *progress* is called after each batch.

        The output appears when it is complete; only then what it has counts in the index.  Raises
        `DedupError` if it cannot be written.
        """
        with Detector(self.index, self.settings.config, self.spider) as detector:
            self._detector = detector
            with ExitStack() as opened:
                write: Write = bool  # writes nothing
                if output := self.output:
                    first = self.inputs.feeds[0]
                    part = opened.enter_context(replacing(output, is_folder=first.form == "html"))
                    write = opened.enter_context(first.sink(part, compressed=is_compressed(output)))
                    detector.hold()
                run = detector.run
                sight = partial(results_of, self.settings, run)
                judged = opened.enter_context(closing(sighted(self._batches(), sight, self.jobs)))
                for (feed, records, _), results in judged:
                    self._settle(feed, zip(records, results, strict=True), write)
                    progress()
            self.index.runs.let_go(run)
        return run

    def _batches(self) -> Iterator[Batch]:
        for number, feed in enumerate(self.inputs.feeds):
            records: list[Record] = []
            size = 0
            try:
                for record in feed.records():
                    records.append(record)
                    size += record.size
                    if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
                        self.share = (number + feed.share) / len(self.inputs.feeds)
                        yield feed, records, self._detector.texts.are_kept()
                        records, size = [], 0
            except FeedError as error:
                self.inputs.troubles.append(str(error))
            self.share = (number + 1) / len(self.inputs.feeds)
            yield feed, records, self._detector.texts.are_kept()

    def _settle(self, feed: Feed, read: Iterable[tuple[Record, Result]], write: Write) -> None:
        """Judge what was *read* in one transaction, and then *write* the records that are kept."""
        settled = []
        with self.index.batch():
            for record, result in read:
                problem = record.problem or (result if isinstance(result, str) else "")
                is_judged = problem or feed.has_pages_only or result is not None
                is_whole = record.source is not None
                is_kept = is_whole and not (is_judged and self._is_copy(record, result))
                settled.append((record, problem, is_kept))
        for record, problem, is_kept in settled:  # when the index is free for others again
            self.records += 1
            if problem:
                self.counts["bad"] += 1
                self.tell(f"{record.name} {problem}")
            try:
                if is_kept:
                    write(record.source)
            except FeedError as error:
                if not problem:  # others were told just now
                    raise DedupError(f"{error}: {self.output} would lack it") from error

    def _is_copy(self, record: Record, result: Result) -> bool:
        counts, detector = self.counts, self._detector
        counts["seen"] += 1
        if isinstance(result, NoHtml) and counts["seen"] == counts["not_judged"] + 1:
            # Nothing seen so far was a page; one record among pages is kept.
            names = ", ".join(result.record) or "none"
            raise DedupError(
                f"{record.name} is no page: {result} (its fields are {names}). Name the fields to judge "
                "it by, -s DEDUP_TEXT_FIELDS=title,text, and with -s DEDUP_KEY_FIELDS=... what tells "
                "records apart; nothing has been judged without"
            )
        if not isinstance(result, Sighted):
            counts.update(("kept", "not_judged"))
            return False
        if result.excess:
            counts[f"over_limit/{result.excess}"] += 1
        asked = PageToRecord(result.sighting, detector.texts.kept(None, result.stored))
        (verdict,) = detector.submit([asked], confirmed=True)
        counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        counts["beside"] += verdict.nearest is not None
        counts["as_before"] += verdict.reason is Reason.UNCHANGED and verdict.repeats_another
        is_alone = self.settings.config.unchanged == "drop"
        is_earlier = is_alone and verdict.canonical_run != detector.run.id
        counts["dropped_for_earlier_run"] += is_earlier and not verdict.kept
        return not verdict.kept


def results_of(
    settings: DedupSettings, run: Run, feed: type[Feed], payloads: list[Any], stores: bool
) -> list[Result]:
    """Return what is in each payload of a *feed*; with *stores* also the pages as they are stored."""
    config, rule = settings.config, settings.fields
    marked = MarkedPlaces(config.exceptions)
    kind = "item" if settings.source == "item" else "page"
    of_run = partial(sighting_of, spider=run.spider, run=run.id, time=time.time())

    def result(payload: Any) -> Result:
        try:
            raw = None if payload is None else feed.raw_page(payload, rule)
            if raw is None:
                return None
            host = host_of(raw.url) if raw.seen_on is None else raw.seen_on
            page = Page.of_raw(raw, with_places=stores or host in marked)
            page = judged_part(page, settings.ignore, lambda: raw.markup).of_record(raw)
            page = marked.obeyed(page)
            sighting = of_run(page, fingerprint(page, config), kind=kind, scope=config.scope)
            stored = pack(page, is_small=are_small(config)) if stores else b""
            return Sighted(sighting, stored, page.excess)
        except NoHtml as error:
            return error
        except formats.BadRecord as error:
            return str(error)
        except Exception as error:  # no page may stop the others
            return f"cannot be judged: {type(error).__name__}: {error}"

    return [result(payload) for payload in payloads]


def sighted(
    batches: Iterable[Batch], sight: Callable[..., list[Result]], jobs: int
) -> Generator[tuple[Batch, list[Result]]]:
    """Yield each batch with what *sight* gives for it, in their order; it must be closed.

    The results come from *jobs* processes, those of the first batch and with one job from this one.
    Other processes end when the caller ends, in whatever way.  A bounded number of batches is read
    ahead.  Raises `DedupError` if a process was killed.
    """
    pool: ProcessPoolExecutor | None = None
    waiting: deque[tuple[Batch, Future[list[Result]]]] = deque()
    try:
        for number, batch in enumerate(batches):
            feed, records, stores = batch
            task = sight, type(feed), [record.payload for record in records], stores
            if number == 0 or jobs == 1:  # what it loads is shared after a fork
                yield batch, sight(*task[1:])
                continue
            pool = pool or ProcessPoolExecutor(jobs, _context(), _begin_work)
            waiting.append((batch, _submitted(pool, *task)))
            # One batch for each process, one waiting for it, and one that the index is asked about.
            if len(waiting) > 2 * jobs:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()
    except BrokenProcessPool as error:
        why = "a process that makes fingerprints was killed, perhaps because memory ran out"
        raise DedupError(f"{why}; try fewer --jobs") from error
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _begin_work() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the calling process
    gc.freeze()  # else the first collection would copy the memory that is shared after a fork
    parent: Any = multiprocessing.parent_process()

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _submitted(pool: ProcessPoolExecutor, *task: Any) -> Future[list[Result]]:
    """Submit a task, and let Ctrl-C wait: it may start a process, which would end in a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows has none
        return pool.submit(*task)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(*task)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context() -> Any:
    """Return how processes are made: by a fork, which is fast, where no thread could hold a lock."""
    is_alone = threading.active_count() == 1 and "pyarrow" not in sys.modules  # which has threads
    return multiprocessing.get_context("fork" if sys.platform == "linux" and is_alone else "spawn")
