"""Options that several commands have: the index, settings, JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dedup.files.marks_file import with_marks
from dedup.files.outputs import check_target
from dedup.index import Index
from dedup.index.address import SCHEMES, is_address, scheme_of
from dedup.index.files import is_database
from dedup.index.index import open_index
from dedup.model.errors import ConfigError, DedupError, require_text
from dedup.model.printable import printable
from dedup.settings import DICTIONARY, INDEX, DedupSettings, read_settings

if TYPE_CHECKING:
    from types import ModuleType

# To look for the nearest among more would take seconds.
_MOST_NAMES = 20_000
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

Given = tuple[tuple[str, str], ...]
"""Settings that were given on the command line: name and value."""
Place = Path | str
"""Where an index is: the path of a file, or the address of a server."""
Command = Callable[..., Any]


# Types: functions that take what was given.


def text(given: str) -> str:
    """Return text that can be stored: bytes that are no UTF-8 may only be the name of a file."""
    try:
        return require_text("the value", given)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None


def age(given: str) -> float:
    """Return a number and a unit, for instance 30d, in seconds."""
    number, unit = given[:-1], given[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdecimal()):
        units = ", ".join(_UNITS)
        raise click.BadParameter(f"{given!r} must be a whole number with one of the units {units}")
    return float(number) * _UNITS[unit]


def index_type(given: str) -> Place:
    """Return where an index is."""
    try:
        return given if is_address(given) else Path(given)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None


def setting(given: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE, as Scrapy's own option -s has them."""
    name, sign, value = given.partition("=")
    if not (name and sign):
        raise click.BadParameter(f"{given!r} must be NAME=VALUE, for instance DEDUP_MAX_LOST_WORDS=15")
    return name, value


# Arguments and options


def index_option(function: Command) -> Command:
    """Give a command the index as `path`: its last argument."""
    return click.argument("path", metavar="[INDEX]", required=False, type=index_type)(function)


def named_index_option(name: str = "path") -> Callable[[Command], Command]:
    """Give a command the index by the option --index, as an argument of that *name*."""
    told = "The index: a file, or postgresql://user@host/database [default: the project's]."
    return click.option("-i", "--index", name, type=index_type, metavar="INDEX", help=told)


def json_option(function: Command) -> Command:
    """Give a command the option --json, as argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")(function)


def pairs_option(*names: str, told: str) -> Callable[[Command], Command]:
    """Give a command an option that takes NAME=VALUE, any number of times."""
    return click.option(*names, type=setting, multiple=True, metavar="NAME=VALUE", help=told)


settings_option = pairs_option(
    *("-s", "--set", "settings"),
    told="A setting, which goes before that of the project; may be repeated.",
)


def is_file(name: str) -> bool:
    """Return whether there is a file of that name."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a path, or not one
        return False


def is_index(name: str) -> bool:
    """Return whether *name* is that of an index: the file of a database, or an address of a server."""
    return scheme_of(name) in SCHEMES or (is_file(name) and is_database(Path(name)))


def url_and_index(
    url: str | None, path: Place | None, *, is_alone: bool
) -> tuple[str | None, Place | None]:
    """Return *url* and *path*; a lone argument is the index if it *is_alone*, or a file or a server."""
    if url is None or path is not None or not (is_alone or is_file(url) or scheme_of(url) in SCHEMES):
        return url, path
    return None, index_type(url)


# The project


def is_inside_project() -> bool:
    """Return whether Scrapy would look for the settings of a project here."""
    here = Path.cwd()
    folders = (here, *here.parents)
    return bool(os.environ.get("SCRAPY_SETTINGS_MODULE")) or any(
        (one / "scrapy.cfg").exists() for one in folders
    )


def _scrapy_project() -> ModuleType | None:
    """Return the module that reads the project, None outside of any or where Scrapy is not installed."""
    if not is_inside_project():  # importing Scrapy would take longer than all else at the start
        return None
    try:
        from dedup.plugin import project
    except ModuleNotFoundError as error:
        if error.name != "scrapy":
            raise
        return None
    return project


def _project_index(name: str) -> str | None:
    """Return where the index of the project here is, or one of that *name*; None outside of any.

    Outside of a project it is where a crawl leaves it, if one was run in this folder.
    """
    if project := _scrapy_project():
        path: str | None = project.project_index(name)
        return path
    here = Path(".scrapy", name or DedupSettings().index)
    return str(here) if here.exists() else None


def settings_of(given: Mapping[str, str]) -> DedupSettings:
    """Return the settings *given*, then those of the project here, if there is one.

    Raises `ConfigError` for a bad value or an unknown name.
    """
    project = _scrapy_project()
    values = project.project_settings() if project else {}
    return read_settings({**{name: one for name, one in values.items() if one is not None}, **given})


# The index


def index_place(place: Place | None) -> Place:
    """Return *place*, the path or the address of an index, or that of a setting given, or the project's.

    What does not lie here may lie where the project has its own.
    """
    if place is not None and (is_address(place) or Path(place).exists()):
        return place
    context = click.get_current_context(silent=True)
    given = dict(context.params.get("settings") or ()).get(INDEX, "") if context else ""
    found = _project_index(given if place is None else str(place)) or given
    if place is not None and not (found and Path(found).exists()):
        return place
    if not found:
        raise DedupError("there is no Scrapy project here, and no .scrapy/dedup.db; name an index")
    return found if is_address(found) else Path(found)


def opened(place: Place | None, *, read_only: bool = False) -> Index:
    """Return the index at *place*, or the project's; it must exist."""
    return open_index(index_place(place), create=False, read_only=read_only)


def settings_for(index: Index, given: Given) -> DedupSettings:
    """Return the settings to compare pages by: *given*, then the project's.

    Raises `IndexMismatch` for a recipe *given* that makes other fingerprints than the index has.
    """
    settings = settings_of({**dict(given), INDEX: index.name})
    if DICTIONARY in dict(given):
        index.expect(settings.config)
    return with_marks(settings, index.name)


def check_output(
    output: Path | None, place: Place | None, given: Given, inputs: Iterable[Path] = ()
) -> None:
    """Raise `DedupError` if *output* is one of the *inputs*, a table that is *given*, or a database."""
    if output:
        found, table = index_place(place), read_settings(dict(given)).config.user_dictionary
        tables = [Path(table)] if table else []
        check_target(output, (*inputs, *tables), found if isinstance(found, Path) else None)


def check_run(index: Index, run: int | None) -> None:
    """Raise `DedupError` unless *index* has the run of that number; None asks for no run."""
    if run is not None and run not in {known.id for known in index.runs.all()}:
        raise DedupError(f"there is no run {run} in {index.name}; see `dedup report --all`")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a question for that of *names* which is most like *name*, or what some of them are."""
    known = list(islice(names, _MOST_NAMES))
    if near := get_close_matches(name, known, 1):
        return f"; did you mean {printable(near[0])}?"
    return f"; there is {', '.join(map(printable, known[:3])) or 'none'}"
