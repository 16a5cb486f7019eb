"""What all commands need: the index and settings they are given, and how they write."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from os.path import isfile
from pathlib import Path
from typing import IO, Any

import click

from dedup.files.marks_file import with_marks
from dedup.files.outputs import replacing
from dedup.index import Index
from dedup.index.index import open_index
from dedup.index.sqlite_file import can_write, is_database
from dedup.model.address import SCHEMES, is_address, scheme_of
from dedup.model.errors import DedupError, printable
from dedup.settings import INDEX, DedupSettings, read_settings

_LONGEST_PATH = 4096
_STEPS = 1000  # of a bar
Given = tuple[tuple[str, str], ...]
"""Settings that were given on the command line: name and value."""


def url_and_index(
    url: str | None, index: str | None, *, is_alone: bool = False
) -> tuple[str | None, str | None]:
    """Return *url* and *index*; the last argument is the index if it *is_alone*, or by what it names.

    That is the file of a database, or an address of a server.
    """
    is_named = url and (scheme_of(url) in SCHEMES or (isfile(url) and is_database(Path(url))))
    return (None, url) if index is None and (is_alone or is_named) else (url, index)


def is_inside_project() -> bool:
    """Return whether Scrapy would look for the settings of a project here."""
    here = Path.cwd()
    is_named = bool(os.environ.get("SCRAPY_SETTINGS_MODULE"))
    return is_named or any((one / "scrapy.cfg").exists() for one in (here, *here.parents))


def plugin(name: str) -> Any:
    """Return a module of the plugin, None where Scrapy is not installed."""
    try:
        return import_module(f"dedup.plugin.{name}")
    except ModuleNotFoundError as error:
        if error.name != "scrapy":
            raise
        return None


def _scrapy_project() -> Any:
    # Importing Scrapy takes longer than all else at the start.
    return plugin("addon") if is_inside_project() else None


def settings_of(given: Mapping[str, str]) -> DedupSettings:
    """Return the settings *given*, then those of the project here, if there is one.

    Raises `ConfigError` for a bad value or an unknown name.
    """
    project = _scrapy_project()
    return read_settings({**(project.project_settings() if project else {}), **given})


def index_place(name: str | None, given: Given = ()) -> Path | str:
    """Return where the index of that *name* is, a path or an address; else of a setting *given*.

    What does not lie here may lie where the project has its own, and without a name it is the
    project's.  Outside of a project that is where a crawl leaves it, if one was run in this folder.
    """
    if name and (is_address(name) or Path(name).exists()):
        return name if is_address(name) else Path(name)
    wanted = name or dict(given).get(INDEX, "")
    if project := _scrapy_project():
        found = project.index_path(settings_of({INDEX: wanted} if wanted else {}))
    else:
        here = Path(".scrapy", wanted or DedupSettings().index)
        found = str(here) if here.exists() else wanted
    if name and not (found and Path(found).exists()):
        return Path(name)
    if not found:
        raise DedupError("there is no Scrapy project here, and no .scrapy/dedup.db; name an index")
    return found if is_address(found) else Path(found)


def opened(name: str | None, given: Given = (), *, read_only: bool = False) -> Index:
    """Return the index of that *name*, or the project's; it must exist.

    One that cannot be written is opened to read only.
    """
    place = index_place(name, given)
    if isinstance(place, Path) and place.is_file() and not place.stat().st_size:
        raise DedupError(f"{place} is an empty file and no index")
    read_only |= isinstance(place, Path) and not can_write(place)
    return open_index(place, create=False, read_only=read_only)


def settings_for(index: Path | str, given: Given = ()) -> DedupSettings:
    """Return the settings to compare pages by: *given*, then the project's."""
    return with_marks(settings_of({**dict(given), INDEX: str(index)}), index)


def check_run(index: Index, run: int | None) -> None:
    """Raise `DedupError` unless *index* has the run of that number; None asks for no run."""
    if run is not None and run not in (runs := [known.id for known in index.runs.all()]):
        raise DedupError(f"there is no run {run} in {index.name}, the last is {max(runs, default=0)}")


def named(path: Path | str) -> str:
    """Return *path*, or a line with one in it, for a message: a file name may be any bytes."""
    return printable(str(path), _LONGEST_PATH)


@contextmanager
def text_output(path: Path | None) -> Iterator[IO[str]]:
    """Open *path* for text as `replacing` does; None is the standard output."""
    if path is None:
        with click.open_file("-", "w", encoding="utf-8") as file:
            yield file
        return
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


def is_watched() -> bool:
    """Return whether the standard error is a terminal."""
    return sys.stderr.isatty()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is under way."""
    is_shown = is_watched()
    click.echo(f"{what} ..." * is_shown, err=True, nl=False)
    try:
        yield
    finally:
        click.echo("\r\x1b[K" * is_shown, err=True, nl=False, color=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[..., None]]:
    """Give a function that takes how much is done, of how much, and what to say of it, for a bar.

    The bar is on the standard error, on a terminal only.
    """
    if not is_watched():
        yield lambda *_: None
        return
    with click.progressbar(
        length=_STEPS, label=what, file=sys.stderr, item_show_func=lambda said: said
    ) as bar:

        def tell(done: float, total: float, said: str = "") -> None:
            bar.update(int(_STEPS * done / (total or 1)) - bar.pos, said or f"{done:,} of {total:,}")

        yield tell
