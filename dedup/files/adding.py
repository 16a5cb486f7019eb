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
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from dedup.files import formats
from dedup.files.formats import BadRecord, Feed, FeedError, Read, Record, Write
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

_KINDS = formats.JsonLines, formats.CsvRows, formats.HtmlFile, WebArchive, formats.ParquetRows
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
    name = os.path.basename(path).lower().removesuffix(".gz")
    return next((form for form, kind in FORMATS.items() if name.endswith(kind.endings)), "")


def find_feeds(paths: Iterable[Path], rule: FieldRule, form: str = "") -> Inputs:
    """Return the feeds in files and folders, inner ones too, in the order of their names.

    All files are of that *form* if given, "jsonl" and so on.  Raises `DedupError` for a file given by
    name whose format is not known.
    """
    found = Inputs(list(paths))
    for path in found.paths:
        is_folder = path.is_dir()
        site = valid((path if is_folder else path.parent).absolute().as_posix())
        for file in _files_in(path, found) if is_folder else [str(path)]:
            if kind := FORMATS.get(form or format_of(file)):
                found.feeds.append(kind(file, rule, site))
            elif is_folder:
                found.left_out += 1
            else:
                endings = ", ".join(ending for kind in FORMATS.values() for ending in kind.endings)
                why = f"shows no format ({endings}, all of them also with .gz)"
                how = "unpack it, or name the format with --format"
                raise DedupError(f"{path} has a name that {why}; {how}")
    return found


# Not paths: to make them and take them apart costs as much as to read a small file.
def _files_in(folder: Path, found: Inputs) -> Iterator[str]:
    """Yield the files in *folder* and inner ones."""
    errors = list[OSError]()
    for place, folders, names in os.walk(folder, onerror=errors.append):
        folders.sort()
        found.left_out += sum(os.path.islink(os.path.join(place, name)) for name in folders)
        for name in sorted(names):
            file = os.path.join(place, name).removeprefix(os.path.join(".", ""))
            # Reading a pipe might never end; what is not there is reported when it is read.
            if os.path.isfile(file) or not os.path.exists(file):
                yield file
    found.troubles += [f"{error.filename} cannot be read: {error.strerror}" for error in errors]


def check_output(output: Path, inputs: Inputs, index: Path | str) -> None:
    """Raise `DedupError` if the records of *inputs* cannot all be written to *output*.

    They must be of one format and have the same header or schema.  *output* must be of this format by
    its name, and must not be one of the input files or belong to the *index*.
    """
    feeds = inputs.feeds
    check_target(output, [*inputs.paths, *(Path(feed.name) for feed in feeds)], index)
    forms = sorted({feed.form for feed in feeds})
    if len(forms) != 1:
        told = ", ".join(forms) or "no file of any"
        raise DedupError(f"--output takes one format, and the input has {told}")
    if format_of(output) not in ("", *forms):
        raise DedupError(f"{output} must be of the input's format, {forms[0]}")
    first, alike = feeds[0], feeds[0].likeness()
    if other := next((feed for feed in feeds if feed.likeness() != alike), None):
        told = "differ in their columns, or in being compressed: add them one by one"
        raise DedupError(f"{first.name} and {other.name} {told}")


def _bounded(records: Iterator[Record]) -> Iterator[Record]:
    size = 0
    for record in islice(records, BATCH_RECORDS):
        yield record
        size += record.size
        if size >= BATCH_BYTES:
            return


class Sighted(NamedTuple):
    """A record that was read: its sighting, and its page as it is stored."""

    sighting: Sighting
    stored: bytes
    excess: Excess | None


# A page, or what is wrong with the record, or None where it holds nothing to judge.
# A record that is no page at all ends the work.
Result = Sighted | NoHtml | str | None
Batch = tuple[list[Record], tuple[list[Read], bool]]
"""Consecutive records, and of these what `results_of` takes."""


@dataclass(slots=True)
class Adding:
    """One pass of the *inputs* through *index*, as what *spider* has met.

    What is kept is written to *output*, if there is one.  *tell* is called with problems; why a file
    could not be read to its end is added to the troubles of the inputs.  *counts* are by verdict, with
    `records`, `seen`, `kept`, `dropped`, `dropped_for_earlier_run`, `bad` (records that cannot be read,
    kept) and `over_limit/...` as the stats of a crawl.  *share* (0 to 1) is how much has been read.
    """

    index: Index
    inputs: Inputs
    settings: DedupSettings
    spider: str = ""
    jobs: int = 1
    output: Path | None = None
    tell: Callable[[str], None] = lambda _: None
    counts: Counter[str] = field(default_factory=Counter)
    share: float = 0.0

    def work(self, progress: Callable[[], None] = lambda: None) -> Run:
        """Go through all records, and return their run; *progress* is called after each batch.

        The output appears when it is complete; only then what it has counts in the index.  Raises
        `DedupError` if it cannot be written.
        """
        with Detector(self.index, self.settings.config, self.spider) as detector:
            with ExitStack() as opened:
                write: Write = bool  # writes nothing
                if output := self.output:
                    part = opened.enter_context(replacing(output))
                    sink = self.inputs.feeds[0].sink(part, compressed=output.suffix.lower() == ".gz")
                    write = opened.enter_context(sink)
                    detector.hold()
                sight = partial(results_of, self.settings, detector.run)
                found = sighted(self._batches(detector), sight, self.jobs)
                for records, results in opened.enter_context(closing(found)):
                    self._settle(detector, [*zip(records, results, strict=True)], write)
                    progress()
            self.index.runs.let_go(detector.run)
            return detector.run

    def _records(self) -> Iterator[Record]:
        for number, feed in enumerate(self.inputs.feeds):
            try:
                for record in feed.records():
                    self.share = (number + feed.share) / len(self.inputs.feeds)
                    yield record
            except FeedError as error:
                self.inputs.troubles.append(str(error))

    def _batches(self, detector: Detector) -> Iterator[Batch]:
        left = self._records()
        while records := [*_bounded(left)]:
            yield records, ([record.read for record in records], detector.texts.are_kept())

    def _settle(self, detector: Detector, read: list[tuple[Record, Result]], write: Write) -> None:
        """Judge what was *read* in one transaction, and then *write* the records that are kept."""
        with self.index.batch():
            are_kept = [self._is_kept(detector, *one) for one in read]
        for (record, result), is_kept in zip(read, are_kept, strict=True):
            self.counts["records"] += 1
            if isinstance(result, str):
                self.counts["bad"] += 1
                self.tell(f"{record.name} {result}")
            if is_kept:
                write(record.source)

    def _is_kept(self, detector: Detector, record: Record, result: Result) -> bool:
        if result is None and not record.is_page:
            return True
        counts = self.counts
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
            return True
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
        return verdict.kept


def results_of(settings: DedupSettings, run: Run, reads: Sequence[Read], stores: bool) -> list[Result]:
    """Return what each of *reads* of records gives; with *stores* also the pages as they are stored."""
    config = settings.config
    marked = MarkedPlaces(config.exceptions)
    kind = "item" if settings.source == "item" else "page"
    of_run = partial(sighting_of, spider=run.spider, run=run.id, time=time.time())

    def result(read: Read) -> Result:
        try:
            if isinstance(read, BadRecord):
                raise read
            raw = read and read()
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
        except BadRecord as error:
            return str(error)
        except Exception as error:  # no page may stop the others
            return f"cannot be judged: {type(error).__name__}: {error}"

    return [result(read) for read in reads]


def sighted(
    batches: Iterator[Batch], sight: Callable[..., list[Result]], jobs: int
) -> Generator[tuple[list[Record], list[Result]]]:
    """Yield the records of each batch with what *sight* gives for them, in their order.

    The results come from *jobs* processes, those of the first batch and with one job from this one.
    Other processes end when the caller ends, in whatever way, or this is closed.  A bounded number of
    batches is read ahead.  Raises `DedupError` if a process was killed.
    """
    for records, task in islice(batches, 1 if jobs > 1 else None):  # what it loads a fork shares
        yield records, sight(*task)
    waiting: deque[tuple[list[Record], Future[list[Result]]]] = deque()
    pool: ProcessPoolExecutor | None = None
    try:
        for records, task in batches:
            pool = pool or ProcessPoolExecutor(jobs, _context(), _begin_work)
            waiting.append((records, _submitted(pool, sight, *task)))
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
        if pool:
            pool.shutdown(cancel_futures=True)


def _context() -> Any:
    """Return how processes are made: by a fork, which is fast, where no thread could hold a lock."""
    is_alone = threading.active_count() == 1 and "pyarrow" not in sys.modules  # which has threads
    return multiprocessing.get_context("fork" if sys.platform == "linux" and is_alone else "spawn")


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
