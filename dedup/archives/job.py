"""A job from its arguments: what it reads, by which recipe it judges, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dedup.archives.columns import FILES, batch_of
from dedup.archives.reading import FORMS, require_form
from dedup.archives.state import FILE, WORK, State, resumed
from dedup.archives.storage import Storage, is_remote
from dedup.files.adding.work import WorkerSettings
from dedup.files.feeds import find_feeds
from dedup.files.feeds.finding import format_of
from dedup.recipes.config import DedupConfig
from dedup.recipes.fingerprinter import recipe_of
from dedup.values.errors import ConfigError, DedupError
from dedup.values.exceptions import NO_EXCEPTIONS
from dedup.values.hashes import digest

if TYPE_CHECKING:
    from dedup.archives.flow import Tell

_FEW = 20


@dataclass(frozen=True, slots=True)
class Input:
    """The files that are read, in order, each with its format; *stamp* changes when one of them does."""

    files: list[tuple[str, str]]
    stamp: str
    is_remote: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """What a job did: pages by reason (`Reason`), and the first *problems* of all there were.

    *damaged* records are in no output, *unreadable* files could not be read to their end.
    """

    reasons: dict[str, int]
    dropped: int
    problems: list[str] = field(default_factory=list)
    bad: int = 0
    damaged: int = 0
    unreadable: int = 0

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return sum(self.reasons.values())


def suited(config: DedupConfig) -> DedupConfig:
    """Return *config* as archives can be judged by it: bands find candidates, structure finds none.

    Raises `ConfigError` for what needs the one index that a crawl has.
    """
    if config.verifier == "distance":
        raise ConfigError("verifier (distance) must be another one on Spark: bands find candidates")
    if config.canonical_link != "record":
        raise ConfigError(f"canonical_link ({config.canonical_link}) must be record on Spark")
    if config.exceptions != NO_EXCEPTIONS:
        raise ConfigError("exceptions are for crawls and `dedup add`; Spark does not obey them")
    by_bands = replace(config, candidates="minhash", max_structure_candidates=0)
    return replace(by_bands, store_pages=False)


def found_input(storage: Storage, paths: Sequence[str], settings: WorkerSettings, form: str) -> Input:
    """Return the files behind *paths*: of this machine in the order of `dedup add`, else by name.

    Raises `DedupError` where there are none, or of several formats.
    """
    if not any(map(is_remote, paths)):
        return _local([Path(path) for path in paths], settings, form)
    files, stamps = [], []
    for path in paths:
        if not is_remote(path):
            raise DedupError(
                f"{path} must have a scheme as the other inputs have (file://, s3a://, ...)"
            )
        if not storage.exists(path):
            raise DedupError(f"{path} is not there")
        for file in storage.files(path):
            if kind := form or format_of(Path(file.path)):
                files.append((file.path, kind))
                stamps.append((file.path, file.size, file.changed))
    _require_one_form([kind for _, kind in files])
    return Input(files, _digest(stamps), is_remote=True)


def _require_one_form(forms: Sequence[str]) -> None:
    if len(set(forms)) != 1 or forms[0] not in FORMS:
        found = ", ".join(sorted(set(forms))) or "no file"
        raise DedupError(f"the input must be files of one format ({', '.join(FORMS)}), it has {found}")


def _local(paths: Sequence[Path], settings: WorkerSettings, form: str) -> Input:
    for path in paths:
        if not path.exists():
            raise DedupError(f"{path} is not there")
    inputs = find_feeds(paths, settings.rule, form)
    if inputs.troubles:
        raise DedupError(inputs.troubles[0])
    require_form(inputs.feeds)
    files, stamps = [], []
    for feed in inputs.feeds:
        path = feed.path.absolute()
        try:
            stat = path.stat()
            path.open("rb").close()
        except OSError as error:
            raise DedupError(f"{path} cannot be read: {error.strerror}") from error
        files.append((str(path), feed.form))
        stamps.append((str(path), stat.st_size, stat.st_mtime_ns))
    return Input(files, _digest(stamps), is_remote=False)


def _digest(value: object) -> str:
    return digest(repr(value).encode("utf-8", "surrogatepass")).hex()


def files_of(session: Any, paths: list[tuple[str, str]], *, is_remote: bool) -> Any:
    """Return the table of *paths* with their formats (`FILES`); each is a task of its own.

    What *is_remote* comes with its content: Spark reads it, at most 2 GB a file.
    """
    rows = [
        {"number": number, "path": path, "form": form, "content": None}
        for number, (path, form) in enumerate(paths)
    ]
    if not rows:
        raise DedupError("there is no file to read")
    table = session.createDataFrame(pa.Table.from_batches([batch_of(rows, FILES)]))
    if is_remote:
        read = session.read.format("binaryFile").load([path for path, _ in paths])
        there = read.select("path", "content")
        table = table.drop("content").join(there, "path").select(*FILES.names)
    return table.repartition(len(rows))


def run_job(
    session: Any,
    paths: Sequence[str],
    folder: str,
    settings: WorkerSettings,
    *,
    form: str = "",
    overwrite: bool = False,
    tell: Tell = lambda *_: None,
) -> Summary:
    """Judge the pages of *paths* on *session*, one of Spark's, and write everything into *folder*.

    What an interrupted job there has done is not done again.  Raises `DedupError`.
    """
    from dedup.archives.flow import Archive

    storage = Storage(session)
    where = folder.rstrip("/") if is_remote(folder) else str(Path(folder).absolute())
    given = found_input(storage, paths, settings, form)
    chosen = (settings.config, settings.rule, settings.spider, settings.kind)
    new = State(
        settings=_digest(chosen),
        input=given.stamp,
        recipe=recipe_of(settings.config),
        seed=settings.config.hash_seed,
        files=[path for path, _ in given.files],
    )
    state = resumed(storage, where, new, overwrite=overwrite)
    storage.write(f"{where}/{FILE}", state.text)
    archive = Archive(session, where, state, settings, tell)
    verdicts = archive.run(files_of(session, given.files, is_remote=given.is_remote))
    summary = _summed(verdicts, session.read.parquet(f"{where}/{WORK}/prints"))
    storage.delete(f"{where}/{WORK}")
    return summary


def require_pages(prints: Any) -> None:
    """Raise `DedupError` where *prints* has records, and none of them is a page."""
    if prints.where("kind <> ''").isEmpty():
        first = prints.where("problem <> ''").orderBy("id").select("problem").first()
        why = f": {first['problem']}" if first else ""
        raise DedupError(
            f"there is no page in the input{why}. Name the fields to judge records by, "
            "-s DEDUP_TEXT_FIELDS=title,text or -s DEDUP_HTML_FIELD=content"
        )


def _summed(verdicts: Any, prints: Any) -> Summary:
    reasons = {row["reason"]: row["count"] for row in verdicts.groupBy("reason").count().collect()}
    wrong = prints.where("problem <> ''")
    kinds = {row["is_page"]: row["count"] for row in wrong.groupBy("is_page").count().collect()}
    few = wrong.orderBy("id").select("problem").limit(_FEW).collect()
    return Summary(
        reasons=reasons,
        dropped=verdicts.where("verdict = 'dropped'").count(),
        problems=[row["problem"] for row in few],
        bad=kinds.get(True, 0),
        damaged=kinds.get(False, 0),
        unreadable=kinds.get(None, 0),
    )
