"""The command group ``dedup``: what each command takes; what it does is loaded when it is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import dedup

# Nothing here is linear algebra, for which numpy would start threads: a tenth of a short command.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A package of strangers has the same name: installed later, it replaces files of this one.
if "Detector" not in getattr(dedup, "__all__", ()):
    raise SystemExit(
        f"Error: {dedup.__file__} is of another package named dedup: pip uninstall dedup, "
        "then pip install --force-reinstall --no-deps scrapy-dedup"
    )

from dedup.model.errors import ConfigError, DedupError, printable, require_text

# What was given to the command, for `click.Context.meta`.
_GIVEN = "dedup.given"
_ADDRESS = re.compile(r"postgres(?:ql)?:/[^\s'\"]*", re.IGNORECASE)
# What is meant by options that a command does not have.
_INSTEAD = {"--html": "--output FILE.html", **dict.fromkeys(("-i", "--index"), "INDEX, at the end")}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Commands(click.Group):
    """Turns the errors that this package raises on purpose into one line and exit code 1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_GIVEN] = list(args)
        ctx.color = False if os.environ.get("NO_COLOR") else None
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DedupError as error:
            message = _without_passwords(str(error), ctx.meta[_GIVEN])
            raise click.ClickException(printable(message, limit=2000)) from error
        except click.ClickException as error:
            if instead := _INSTEAD.get(getattr(error, "option_name", "")):
                vars(error)["possibilities"] = [instead]
            vars(error)["message"] = _without_passwords(error.message, ctx.meta[_GIVEN])
            raise


def _without_passwords(text: str, given: Sequence[str]) -> str:
    """Return *text* with addresses of indexes as they are shown, wherever they were *given*."""
    from dedup.model.address import shown_place

    for argument in given:
        if found := _ADDRESS.search(argument):
            address = argument[found.start() :]
            for said in {address, printable(address), repr(address)[1:-1]}:
                text = text.replace(said, shown_place(address))
    return _ADDRESS.sub(lambda found: shown_place(found[0]), text)


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


def _setting(given: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE, as Scrapy's own option -s has them."""
    name, sign, value = given.partition("=")
    if not (name.startswith("DEDUP_") and sign):
        raise click.BadParameter(
            f"{given!r} must be a setting of dedup, for instance DEDUP_MAX_LOST_WORDS=15"
        )
    return name, value


_index = click.argument("index", metavar="[INDEX]", required=False)


def _named_index(name: str) -> Decorator:
    told = "The index: a file, or postgresql://user@host/database [default: the project's]."
    return click.option("-i", "--index", name, metavar="INDEX", help=told)


def _output(told: str, **of: bool) -> Decorator:
    return click.option("-o", "--output", type=click.Path(path_type=Path, **of), help=told)


def _format(*forms: str, told: str) -> Decorator:
    return click.option("--format", "form", type=click.Choice(forms), help=told)


_settings = click.option(
    *("-s", "--set", "settings"),
    type=_setting,
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting, which goes before that of the project; may be repeated.",
)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dedup.__version__, prog_name="scrapy-dedup")
def main() -> None:
    """See which copies a crawl dropped, which page was kept, and which words were lost.

    Inside a Scrapy project every command finds the project's index by itself; elsewhere name it as
    the last argument, and for `dedup add` with --index.

    Exit codes: 0 for done, 1 for an error or a check that failed, 2 for a wrong option.
    """


def _command(module: str) -> Decorator:
    """Make a command of what declares it; what it does is the function of its name in that module."""

    def declared(declaring: Callable[[], None]) -> click.Command:
        @wraps(declaring)
        def run(**given: Any) -> None:
            getattr(import_module(f"dedup.cli.{module}"), declaring.__name__)(**given)

        return main.command(declaring.__name__.removesuffix("_"))(run)

    return declared


@_command(module="report")
@click.argument("url")
@click.option(
    "--pages", default=200, show_default=True, type=click.IntRange(1, 100_000), help="How many."
)
@_output("The folder for index and report [default: a temporary one].", file_okay=False)
@_settings
def try_() -> None:
    """Crawl some pages of the site of URL, and show what would be dropped.

    Links are followed on the host of URL only, breadth first. The crawl obeys robots.txt and asks no
    faster than the site answers. It is a dry run into an index of its own, not that of your project. On
    a terminal a browser opens the report, unless --output says where it goes.

    \b
    Examples:
      dedup try https://example.com/
      dedup try https://example.com/news/ --pages 500 -s DEDUP_MAX_LOST_WORDS=15
    """


@_command(module="report")
@_index
@_named_index("other_name")
@click.option("--run", type=int, help="Only what this run saw.")
@click.option("--domain", default="", type=text, help="Only pages of this domain and its subdomains.")
@_format(
    *("jsonl", "csv", "html"),
    told="A record for each dropped page (csv, jsonl), or a page for a browser (html) [default: as the "
    "name of --output ends, else text].",
)
@click.option("--all", "everything", is_flag=True, help="All clusters; as records each kept page, too.")
@_output("The file to write [default: the terminal].", allow_dash=True)
@click.option("--changes", "is_of_changes", is_flag=True, help="What the last crawl, or --run, changed.")
@click.option("--serve", "is_served", is_flag=True, help="Show the HTML report in a browser, live.")
def report() -> None:
    """Print the runs and the clusters: each page kept, and the pages dropped for it.

    The copies that lose most words come first: those that are not on the page kept.

    HTML is one file, which loads nothing else: the clusters, with the texts of copies compared, up to
    2,000 pages; its figures count all.

    --serve shows it on 127.0.0.1, port 8090 or another free one (from afar: ssh -L 8090:127.0.0.1:8090
    HOST), made anew at each load, also while a crawl runs. Its buttons write marks into a file beside
    the index, which the next crawl obeys.

    \b
    Examples:
      dedup report pages.db --run 3 --domain example.com
      dedup report --output report.html
      dedup report --serve
      dedup report --changes --format jsonl > changes.jsonl
    """


@_command(module="explain")
@click.argument("what", metavar="URL|FILE")
@click.argument("other", required=False, metavar="[OTHER]")
@_index
@_settings
def explain() -> None:
    """Say what became of a page and why, what is near it, or how OTHER stands to it.

    Of a URL or a file that the index knows: what was decided each time (the newest ten), and of the last
    time the page kept for it, the words lost, what the rule says by today's settings (-s tries others).
    Of what was kept, and of any other file (HTML or plain text): the nearest pages kept.

    OTHER, a file or a URL, is compared with the first page: is it a copy, and which words does it lose?
    Two files need no index. The exit code is 0 if it is a copy, 3 if not, 1 for an error; 3 as well if
    no page kept is like a file.

    \b
    Examples:
      dedup explain https://example.com/page
      dedup explain one.html other.html
      dedup explain https://example.com/a https://example.com/b
    """


@_command(module="manage")
@_index
@click.option("--off", type=int, multiple=True, help="Never leave out the place of this number.")
def places() -> None:
    """List the places of sites whose content changes by itself: counters, clocks, links drawn at random.

    Crawls ask for some pages twice. What differs then is left out of the pages of the host before they
    are compared. "#" stands for what is left out. Each place has a number, on how many pages it has
    changed and stayed, and an example. If a place tells pages apart, switch it off: it says "(off)".
    """


@_command(module="manage")
@click.argument("url", required=False)
@_index
@click.option("--run", type=int, help="What this run dropped or withheld, see `dedup report`.")
@click.option(
    "--list",
    "what",
    type=click.Choice(("dropped", "orphans", "withheld")),
    is_flag=False,
    flag_value="",  # is none, and the error names them
    help="Only print the URLs of these; restore nothing.",
)
def restore() -> None:
    """Have the next crawl keep what was dropped at URL, or by a run.

    Lists each dropped page with the page that it repeats. The next crawl that meets it keeps it,
    whatever it repeats then.

    --list prints URLs that a spider can crawl again: of pages that were dropped, of orphans (dropped for
    a page that was forgotten or lost), or of withheld links (they stood on a copy, and were not met
    since).

    \b
    Examples:
      dedup restore https://example.com/page
      dedup restore --run 3
      dedup restore --list orphans > again.txt; scrapy crawl urls -a file=again.txt
      dedup restore --list withheld --run 3
    """


@_command(module="manage")
@click.argument("url", required=False)
@_index
@click.option("--run", type=int, help="Undo the run of this number, see `dedup report`.")
@click.option("--older-than", type=age, help="Forget what was neither seen nor repeated so long: 30d.")
def forget() -> None:
    """Forget what was seen at URL, by a run, or long ago: nothing is compared with it any more.

    Pages that were dropped for it become orphans; `dedup restore --list orphans` lists these. The rows
    stay in the index as forgotten, but the texts that DEDUP_STORE_PAGES kept are deleted. This
    cannot be undone, so on a terminal it asks before.
    """


@_command(module="add")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="FILES..."
)
@_named_index("index")
@_output("A file for the records that are kept.")
@_format(
    *("jsonl", "csv", "html", "warc", "parquet"), told="The format of all FILES, whatever their names."
)
@click.option("--spider", default="", type=text, help="Take them for pages of this spider.")
@click.option("--jobs", type=click.IntRange(1, 60), help="Processes for reading [default: one a core].")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON, for scripts.")
@_settings
def add() -> None:
    """Add the pages of FILES to the index, and say which ones are copies.

    FILES are JSON Lines (.jsonl), CSV with a header, web archives (.warc, .wet), Parquet, files of
    HTML, and folders of all these; also compressed (.gz). --output writes the records that are kept
    as they stand in the input; of HTML the names of the files, of Parquet those of the rows.

    The page of a record is its `html` field, or else a `body` with markup, as for the items of a
    crawl. Other fields are named by a setting: -s DEDUP_TEXT_FIELDS=title,text.

    Added pages are compared with each other, and with those of a crawl if --spider names its spider, or
    both have another DEDUP_SCOPE than `spider`. Only items are compared with, or, if DEDUP_SOURCE is
    `response`, only responses.

    A record that cannot be read is reported and counted, and kept if it is whole. If the command is
    interrupted there is no output. The exit code is 1 if a file could not be read to its end, or if no
    record was judged.

    \b
    Examples:
      dedup add pages.jsonl --output unique.jsonl
      dedup add --index archive.db crawl.warc.gz --output unique.warc.gz
      dedup add html/ --output unique.txt -s DEDUP_MAX_LOST_WORDS=15
    """


@_command(module="manage")
@click.argument("other")
@_index
@_settings
def merge() -> None:
    """Judge the pages of the index OTHER into the index; a missing index is created.

    The pages that OTHER has kept are judged in their order as if they were crawled now: the pages that
    are already there count as the older ones and stay. So begin with the index whose pages shall be
    kept. OTHER stays as it is, and adds only what is new in it if it is given again. Texts stay there.

    \b
    Examples:
      dedup merge monday.db week.db
      dedup merge pages.db postgresql://crawler@db.example/crawls
    """


@_command(module="manage")
@_index
@click.option("--accept", type=int, multiple=True, help="Write the rule of this number; repeatable.")
@click.option("--file", type=click.Path(path_type=Path), default="rules.toml", help="Accepted rules.")
def rules() -> None:
    """List the rules for URLs that the last crawls propose: which parts of a URL do not matter.

    Each has a number, how many groups of URLs and pages speak for it, two examples, and a warning if
    what it takes away may be records. --accept writes rules by their numbers into a file, which crawls
    obey with DEDUP_RULES = "rules.toml". You may write rules there by hand.

    Last come the rules that were switched off, because a page was not as they said. A rule stays off
    until it is accepted again.
    """


@_command(module="manage")
@_index
def check() -> None:
    """Test whether the index is sound; the exit code is 1 if it is not.

    SQLite tests the file, and the rows and the stored pages are read.
    """
