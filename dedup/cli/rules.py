"""``dedup rules``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from dedup.cli.options import json_option, named_index_option, opened
from dedup.cli.pages import is_address
from dedup.cli.terminal import console, print_json
from dedup.index.stores.postgres.address import SCHEMES
from dedup.index.url_rules import UrlRules
from dedup.urls.evidence import RuleStanding, State
from dedup.urls.learner import Learner, RuleRecord
from dedup.values.errors import DedupError
from dedup.values.printable import printable

_ORDER = tuple(State)
_LISTED = frozenset(_ORDER) - {State.SEEN, State.REFUTED}
_STANDINGS = {str(one) or "learned": one for one in RuleStanding}
_SHOWN_URL = 100


@click.command()
@click.argument("what", nargs=-1, metavar="[RULE|URL]...")
@named_index_option()
@click.option(
    "--standing",
    type=click.Choice(list(_STANDINGS)),
    help="Let RULE act whatever is seen (pinned), never (off), or by what is seen (learned).",
)
@json_option
def rules(
    *, what: tuple[str, ...], path: Path | str | None, standing: str | None, as_json: bool
) -> None:
    """List the rules for URLs that crawls have learned: which parts of a URL do not matter.

    A rule is a candidate first, then on trial, where it predicts and everything is fetched all the same.
    Only an active rule withholds requests, and only with DEDUP_RULES = "use". The columns are state,
    number of groups of pages that speak for it, right and wrong predictions, requests withheld, its
    name, host and what it says, and two URLs that show the same page. --json also has the rules that
    were seen once or refuted at once.

    For a RULE, named as in the list (its beginning is enough), all that is known of it is shown; for a
    URL, which rules speak of it, and where they look for the page.

    \b
    Examples:
      dedup rules
      dedup rules 3f2a91bc0d44
      dedup rules 3f2a --standing off
      dedup rules "https://example.com/page?sid=1"
      dedup restore --list withheld
    """
    _refuse_index(what)
    urls = [one for one in what if is_address(one)]
    names = [one for one in what if not is_address(one)]
    if standing is not None and (urls or not names):
        raise click.UsageError("--standing goes with the name of a RULE")
    with opened(path) as index:
        book = UrlRules(index.store)
        records = _sorted(book.records())
        found = [_named(records, name) for name in names]
        if standing is not None:
            for one in found:
                one.standing = _STANDINGS[standing]
                one.renew()
                book.set_standing(one)
        held = book.withheld_requests() if names else []
    screen, learner = console(), Learner(records)
    opinions = [(url, *learner.opinion(url)) for url in urls]
    if as_json:
        speaking = [one for *_, active, tested in opinions for one in (*active, *tested)]
        print_json([_record(one) for one in ([*found, *speaking] if what else records)])
    elif not what:
        _print(screen, _listed(records))
    elif standing is not None:
        for one in found:
            click.echo(f"{one.state.value}: {printable(one.rule.host)}: {one.rule.words}")
    else:
        for one in found:
            _show(screen, one, [url.was_made for url in held if one.rule.id in url.rules])
        for opinion in opinions:
            _tell(screen, *opinion)


def _refuse_index(what: tuple[str, ...]) -> None:
    """Raise `click.UsageError` where an index is among what is asked about; it may have a password."""
    if any(one.lower().startswith(SCHEMES) for one in what):
        raise click.UsageError("an index is named with --index")


def _sorted(records: list[RuleRecord]) -> list[RuleRecord]:
    """Return all rules, the most important first."""
    return sorted(
        records,
        key=lambda one: (
            *(one.state not in _LISTED, -_ORDER.index(one.state)),
            *(one.rule.host, one.rule.edit, one.rule.pattern),
        ),
    )


def _listed(records: list[RuleRecord]) -> list[RuleRecord]:
    """Return those that a person wants to see; of one edit only the widest in each state."""
    shown = [one for one in records if one.state in _LISTED]
    wide = {(one.rule.host, one.rule.edit, one.state) for one in shown if one.rule.pattern == "*"}
    return [
        one
        for one in shown
        if one.rule.pattern == "*" or (one.rule.host, one.rule.edit, one.state) not in wide
    ]


def _print(screen: Console, records: list[RuleRecord]) -> None:
    if not records:
        screen.print(Text("no rules were learned yet"))
        return
    screen.print(Text("state      groups   right  wrong  withheld  rule", "bold"))
    for one in records:
        seen = one.evidence
        counts = f"{seen.groups:>6} {seen.rights:>7} {len(seen.wrongs):>6} {seen.withheld:>9}"
        words = f"{one.rule.id}  {printable(one.rule.host)}: {one.rule.words}"
        screen.print(Text(f"{one.state.value:<10} {counts}  {words}"))
        for url, other in seen.examples[:1]:
            screen.print(Text(f"{'':<43}{_url(url)} and {_url(other)}"))


def _url(url: str) -> str:
    return printable(url, _SHOWN_URL)


def _record(one: RuleRecord) -> dict[str, Any]:
    """Return a rule for JSON."""
    seen, rule = one.evidence, one.rule
    return {
        "rule": rule.id,
        "state": one.state.value,
        "host": rule.host,
        "form": rule.edit.form.value,
        "name": rule.edit.name,
        "value": rule.edit.value,
        "paths": rule.pattern,
        "words": rule.words,
        "standing": one.standing.value,
        "groups": seen.groups,
        "canonicals": seen.canonicals,
        "right": seen.rights,
        "right_since": seen.right_since,
        "unclear": seen.unclear,
        "withheld": seen.withheld,
        "declared": seen.is_declared,
        "wrong": [asdict(wrong) for wrong in seen.wrongs],
        "examples": seen.examples,
    }


def _show(screen: Console, one: RuleRecord, made: list[bool]) -> None:
    """Print all that is known of a rule; *made* says of each request that it withheld if it was made."""
    seen = one.evidence
    screen.print(Text(f"{printable(one.rule.host)}: {one.rule.words}", "bold"))
    said = f" ({one.standing.value})" if one.standing else ""
    screen.print(Text(f"  {one.state.value}{said}, named {one.rule.id}"))
    screen.print(Text(f"  {seen.groups} groups of {seen.canonicals} pages speak for it"))
    last = f", {seen.right_since} since the last wrong one" if seen.wrongs else ""
    screen.print(Text(f"  {seen.rights} right predictions{last}, {seen.unclear} unclear"))
    for wrong in seen.wrongs:
        pair = f"{_url(wrong.url)} is not {_url(wrong.other)}"
        screen.print(Text(f"  against it: {pair} ({printable(wrong.reason)})"))
    for url, other in seen.examples:
        screen.print(Text(f"  for it: {_url(url)} is {_url(other)}"))
    screen.print(Text(f"  {len(made)} requests are withheld by it, {sum(made)} made after all"))


def _tell(
    screen: Console, url: str, key: str, active: tuple[RuleRecord, ...], tested: tuple[RuleRecord, ...]
) -> None:
    """Print what the rules make of *url*."""
    screen.print(Text(printable(url, _SHOWN_URL), "bold"))
    for one in (*active, *tested):
        screen.print(Text(f"  {one.state.value:<10} {one.rule.id}  {one.rule.words}"))
    same = f"would be withheld for the page of {_url(key)}, or of any URL like it"
    screen.print(Text(f"  {same if active else 'is fetched'}"))


def _named(records: list[RuleRecord], name: str) -> RuleRecord:
    found = [one for one in records if one.rule.id.startswith(name)]
    if len(found) != 1:
        raise DedupError(
            f"{len(found) or 'no'} rules have a name that begins with {printable(name)}; "
            "see `dedup rules`"
        )
    return found[0]
