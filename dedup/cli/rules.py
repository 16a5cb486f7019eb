"""``dedup rules``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dedup.cli.options import json_option, opened
from dedup.cli.output import console, print_json
from dedup.index.address import SCHEMES
from dedup.index.notes import Proposed, UrlRules
from dedup.model.errors import DedupError
from dedup.model.printable import printable
from dedup.urls.propose import Proposal, add_rules, read_rules
from dedup.urls.rule import Counterexample

_SHOWN_URL = 100


@click.command()
@click.argument("what", nargs=-1, metavar="[accept N...] [INDEX]")
@click.option(
    "--file", type=click.Path(path_type=Path), default="rules.toml", help="The rules that you accept."
)
@json_option
def rules(*, what: tuple[str, ...], file: Path, as_json: bool) -> None:
    """List the rules for URLs that the last crawls propose: which parts of a URL do not matter.

    Each has a number, how many groups of URLs and pages speak for it and none against it, and two
    examples. `accept` writes rules by their numbers into a file, which crawls obey with
    DEDUP_RULES = "rules.toml". You may write rules there by hand.

    Last come the rules that were switched off, because a page was not as they said. A rule stays off
    until it is accepted again.

    \b
    Examples:
      dedup rules
      dedup rules accept 1 3
    """
    numbers, path = _asked(list(what))
    with opened(path) as index:
        book = UrlRules(index.store)
        wrong = book.wrong()
        proposed, off = _listed(book.proposed()), list(wrong.values())
        if numbers:
            rules = _numbered(proposed, off, numbers)
            add_rules(file, rules)
            book.forgive(one.rule for one in rules)
            for one in rules:
                click.echo(f"{printable(str(file))}: {printable(one.rule.host)}: {one.rule.words}")
            return
    there = set(read_rules(file)) if file.exists() else set()
    if as_json:
        print_json(
            {
                "proposed": [_record(one) | {"accepted": one.rule in there} for one in proposed],
                "switched_off": [one._asdict() | {"rule": one.rule._asdict()} for one in off],
            }
        )
        return
    screen = console()
    for number, one in enumerate(proposed, 1):
        _show(screen, number, one, is_accepted=one.rule in there)
    for number, found in enumerate(off, len(proposed) + 1):
        _tell(screen, number, found)
    if not (proposed or off):
        screen.print(Text("no rules are proposed"))


def _asked(what: list[str]) -> tuple[list[int], str | None]:
    """Return the numbers of the rules to accept, none to list all, and the index."""
    path = what.pop() if what and not (what[-1].isdecimal() or what[-1] == "accept") else None
    accepts = what[:1] == ["accept"]
    if what and not (accepts and len(what) > 1 and all(one.isdecimal() for one in what[1:])):
        shown = "a server" if any(one.lower().startswith(SCHEMES) for one in what) else " ".join(what)
        raise click.UsageError(f"cannot read {printable(shown)}: give [accept N...] [INDEX]")
    return [int(one) for one in what[1:]], path


def _listed(crawls: list[Proposed]) -> list[Proposal]:
    """Return what the last crawl of each spider has proposed, each rule once, most groups first."""
    last = {crawl.spider: crawl for crawl in reversed(crawls)}
    found = {one.rule: one for crawl in last.values() for one in crawl.proposals}
    return sorted(found.values(), key=lambda one: (one.rule.host, -one.groups, one.rule))


def _numbered(proposed: list[Proposal], off: list[Counterexample], numbers: list[int]) -> list[Proposal]:
    every = [*proposed, *(Proposal(one.rule, 0, 0, ()) for one in off)]
    for number in numbers:
        if not 1 <= number <= len(every):
            raise DedupError(f"there is no rule {number}; see `dedup rules`")
    return [every[number - 1] for number in numbers]


def _show(screen: Console, number: int, one: Proposal, *, is_accepted: bool) -> None:
    said = " (accepted)" if is_accepted else ""
    screen.print(Text(f"{number:>3}  {printable(one.rule.host)}: {one.rule.words}{said}", "bold"))
    screen.print(Text(f"     {one.groups:,} groups of URLs, {one.pages:,} pages, none against it"))
    for url, other in one.examples:
        screen.print(Text(f"     {_url(url)} is {_url(other)}"))


def _tell(screen: Console, number: int, one: Counterexample) -> None:
    screen.print(Text(f"{number:>3}  {printable(one.rule.host)}: {one.rule.words}: off", "bold"))
    pair = f"{_url(one.url)} is not {_url(one.other)}"
    screen.print(Text(f"     {pair}: {printable(one.reason)}"))


def _url(url: str) -> str:
    return printable(url, _SHOWN_URL)


def _record(one: Proposal) -> dict[str, Any]:
    return one.rule._asdict() | {"groups": one.groups, "pages": one.pages, "examples": one.examples}
