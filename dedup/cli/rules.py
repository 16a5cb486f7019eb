"""``dedup rules``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from dedup.cli.options import Place, index_option, json_option, opened
from dedup.cli.output import console, print_json
from dedup.index.notes import Proposed, UrlRules
from dedup.model.errors import DedupError
from dedup.model.printable import printable
from dedup.urls.propose import Proposal, add_rules, read_rules
from dedup.urls.rule import Rule

_SHOWN_URL = 100


@click.command()
@index_option
@click.option(
    "--accept", type=int, multiple=True, help="Write the rule of this number; may be repeated."
)
@click.option(
    "--file", type=click.Path(path_type=Path), default="rules.toml", help="The rules that you accept."
)
@json_option
def rules(*, path: Place | None, accept: tuple[int, ...], file: Path, as_json: bool) -> None:
    """List the rules for URLs that the last crawls propose: which parts of a URL do not matter.

    Each has a number, how many groups of URLs and pages speak for it and none against it, and two
    examples. --accept writes rules by their numbers into a file, which crawls obey with
    DEDUP_RULES = "rules.toml". You may write rules there by hand.

    Last come the rules that were switched off, because a page was not as they said. A rule stays off
    until it is accepted again.

    \b
    Examples:
      dedup rules
      dedup rules --accept 1 --accept 3
    """
    with opened(path) as index:
        book = UrlRules(index.store)
        proposed, off = _listed(book.proposed()), list(book.wrong().values())
        every = [*proposed, *(Proposal(one.rule, 0, 0, ()) for one in off)]
        if wrong := [number for number in accept if not 1 <= number <= len(every)]:
            raise DedupError(f"there is no rule {wrong[0]}; see `dedup rules`")
        if accept:
            chosen = [every[number - 1] for number in accept]
            add_rules(file, chosen)
            book.forgive(one.rule for one in chosen)
            for one in chosen:
                click.echo(f"{printable(str(file))}: {_name(one.rule)}")
            return
    there = set(read_rules(file)) if file.exists() else set()
    if as_json:
        names = ("groups", "pages", "examples")
        new = [
            one.rule._asdict()
            | {name: getattr(one, name) for name in names}
            | {"accepted": one.rule in there}
            for one in proposed
        ]
        found = [one._asdict() | {"rule": one.rule._asdict()} for one in off]
        print_json({"proposed": new, "switched_off": found})
        return
    told = [
        (
            f"{_name(one.rule)}{' (accepted)' * (one.rule in there)}",
            f"{one.groups:,} groups of URLs, {one.pages:,} pages, none against it",
            *(f"{_url(url)} is {_url(other)}" for url, other in one.examples),
        )
        for one in proposed
    ]
    told += [
        (
            f"{_name(one.rule)}: off",
            f"{_url(one.url)} is not {_url(one.other)}: {printable(one.reason)}",
        )
        for one in off
    ]
    screen = console()
    for number, (title, *lines) in enumerate(told, 1):
        screen.print(Text(f"{number:>3}  {title}", "bold"))
        for line in lines:
            screen.print(Text(f"     {line}"))
    if not told:
        screen.print(Text("no rules are proposed"))


def _listed(crawls: list[Proposed]) -> list[Proposal]:
    """Return what the last crawl of each spider has proposed, each rule once, most groups first."""
    last = {crawl.spider: crawl for crawl in reversed(crawls)}
    found = {one.rule: one for crawl in last.values() for one in crawl.proposals}
    return sorted(found.values(), key=lambda one: (one.rule.host, -one.groups, one.rule))


def _name(rule: Rule) -> str:
    return f"{printable(rule.host)}: {rule.words}"


def _url(url: str) -> str:
    return printable(url, _SHOWN_URL)
