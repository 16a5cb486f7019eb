"""Pages of files into an index: read on all cores, and judged in the order of the input."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

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
from dedup.processes import in_batches, shared_out
from dedup.reading.fields import FieldRule, NoHtml
from dedup.reading.markup import Excess
from dedup.reading.noise import MarkedPlaces
from dedup.reading.page import Page, judged_part, pack, sighting_of
from dedup.settings import DedupSettings

_KINDS = formats.JsonLines, formats.CsvRows, formats.HtmlFile, WebArchive, formats.ParquetRows
FORMATS: dict[str, type[Feed]] = {kind.form: kind for kind in _KINDS}
BATCH_RECORDS, BATCH_BYTES = 32, 512 * 1024  # of one transaction: fewer cost more, more need memory


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
                how = f"rename or unpack it ({endings}, also with .gz), or name one with --format"
                raise DedupError(f"{path} has a name that shows no format; {how}")
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

    They must be of one format and have the same header.  *output* must be of this format by its name,
    or no page if it is a list, and must not be one of the input files or belong to the *index*.
    """
    feeds = inputs.feeds
    check_target(output, [*inputs.paths, *(Path(feed.name) for feed in feeds)], index)
    forms = sorted({feed.form for feed in feeds})
    if len(forms) != 1:
        raise DedupError(f"--output takes one format, and the input has {', '.join(forms) or 'none'}")
    is_list = not isinstance(first := feeds[0], (formats.Lines, WebArchive))
    if format_of(output) not in ("", *([] if is_list else forms)):
        what = "a list of names, such as kept.txt" if is_list else f"of the input's format, {forms[0]}"
        raise DedupError(f"{output} must be {what}")
    alike = first.likeness()
    if other := next((feed for feed in feeds if feed.likeness() != alike), None):
        told = "differ in their columns, or in being compressed: add them one by one"
        raise DedupError(f"{first.name} and {other.name} {told}")


# A page and what is stored of it, or what is wrong with a record, or None where it holds nothing.
Result = tuple[Sighting, bytes, Excess | None] | NoHtml | str | None


@dataclass(slots=True)
class Adding:
    """One pass of the *inputs* through *index*, as what *spider* has met, read in *jobs* processes.

    What is kept is written to *output*, if there is one.  *tell* is called with problems; why a file
    could not be read to its end is added to the troubles of the inputs.  *counts* are by verdict, with
    `records`, `seen`, `kept`, `dropped`, `dropped_for_earlier_run`, `bad` (records that cannot be read,
    kept) and `over_limit/...` as the stats of a crawl.  *share* (0 to 1) is how much has been read.
    """

    index: Index
    inputs: Inputs
    settings: DedupSettings
    spider: str = ""
    jobs: int | None = 1
    output: Path | None = None
    tell: Callable[[str], None] = lambda _: None
    counts: Counter[str] = field(default_factory=Counter)
    share: float = 0.0

    def work(self, progress: Callable[[], None] = lambda: None) -> Run:
        """Go through all records, and return their run; *progress* is called after each batch.

        The output appears when it is complete; only then what it has counts in the index.  Raises
        `DedupError` if it cannot be written.
        """
        config, crawl = self.settings.config, self.settings.crawl
        with Detector(self.index, config, self.spider, crawl=crawl) as detector:
            with ExitStack() as opened:
                write: Write = bool  # writes nothing
                if output := self.output:
                    part = opened.enter_context(replacing(output))
                    sink = self.inputs.feeds[0].sink(part, compressed=output.suffix.lower() == ".gz")
                    write = opened.enter_context(sink)
                    detector.hold()
                stores, work = detector.texts.are_kept, partial(results_of, self.settings, detector.run)
                batches = in_batches(self._records(), lambda one: one.size, BATCH_RECORDS, BATCH_BYTES)
                tasks = ((some, ([one.read for one in some], stores())) for some in batches)
                for records, found in opened.enter_context(closing(shared_out(work, tasks, self.jobs))):
                    self._judge(detector, [*zip(records, found, strict=True)], write)
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

    def _judge(self, detector: Detector, found: list[tuple[Record, Result]], write: Write) -> None:
        """Judge what was *found* in one transaction, and then *write* what is kept."""
        with self.index.batch():
            are_kept = [self._is_kept(detector, *one) for one in found]
        for (record, result), is_kept in zip(found, are_kept, strict=True):
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
        if not isinstance(result, tuple):
            counts.update(("kept", "not_judged"))
            return True
        sighting, stored, excess = result
        if excess:
            counts[f"over_limit/{excess}"] += 1
        asked = PageToRecord(sighting, detector.texts.kept(None, stored))
        (verdict,) = detector.submit([asked], confirmed=True)
        counts.update((verdict.reason.value, "kept" if verdict.kept else "dropped"))
        counts["beside"] += verdict.nearest is not None
        counts["as_before"] += verdict.reason is Reason.UNCHANGED and verdict.repeats_another
        is_earlier = verdict.canonical_run != detector.run.id and detector.config.unchanged == "drop"
        counts["dropped_for_earlier_run"] += is_earlier and not verdict.kept
        return verdict.kept


def results_of(settings: DedupSettings, run: Run, task: tuple[Iterable[Read], bool]) -> list[Result]:
    """Return what records give, by what reads them, and whether the index stores texts."""
    config, (reads, stores) = settings.config, task
    kind, marked = "item" if settings.source == "item" else "page", MarkedPlaces(config.exceptions)
    sighted = partial(sighting_of, kind=kind, scope=config.scope, spider=run.spider, run=run.id)

    def result(read: Read) -> Result:
        try:
            if isinstance(read, BadRecord):
                raise read
            if not (raw := read and read()):
                return None
            host = host_of(raw.url) if raw.seen_on is None else raw.seen_on
            page = Page.of_raw(raw, with_places=stores or host in marked)
            page = marked.obeyed(judged_part(page, settings.ignore, lambda: raw.markup).of_record(raw))
            seen = sighted(page, fingerprint(page, config), time=time.time())
            return seen, pack(page, is_small=are_small(config)) if stores else b"", page.excess
        except DedupError as error:
            return error if isinstance(error, NoHtml) else str(error)
        except Exception as error:  # no page may stop the others
            return f"cannot be judged: {type(error).__name__}: {error}"

    return [*map(result, reads)]
