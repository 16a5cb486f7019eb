"""``dedup rules``."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from dedup.cli.options import json_option, named_index_option, opened
from dedup.cli.output import named, text_output
from dedup.cli.runs import address
from dedup.cli.terminal import console, print_json
from dedup.index import Index
from dedup.index.url_rules import HeldBack, UrlRules, seen_of
from dedup.urls import dud
from dedup.urls.evidence import Standing, State
from dedup.urls.learner import Learner, Record
from dedup.urls.learning import learned_from
from dedup.values.errors import DedupError
from dedup.values.printable import printable

_ORDER = tuple(State)
_LISTED = frozenset(_ORDER) - {State.SEEN, State.REFUTED}
_SHOWN_URL = 100


@click.group(invoke_without_command=True)
@named_index_option
@click.option(
    "--all", "show_all", is_flag=True, help="Also those that were seen once or refuted at once."
)
@json_option
@click.pass_context
def rules(context: click.Context, path: Path | str | None, show_all: bool, as_json: bool) -> None:
    """List the rules for URLs that crawls have learned: which parts of a URL do not matter.

    A rule is a candidate first, then on trial, where it predicts and everything is fetched all the same.
    Only an active rule withholds requests, and only with DEDUP_RULES = "use". The columns are state,
    number of groups of pages that speak for it, right and wrong predictions, requests withheld, its
    name, host and what it says, and two URLs that show the same page.

    \b
    Examples:
      dedup rules
      dedup rules show 3f2a91bc0d44
      dedup rules test https://example.com/page?sid=1
      dedup rules withheld > again.txt; scrapy crawl urls -a file=again.txt
    """
    context.ensure_object(dict)
    context.obj["path"] = path
    if context.invoked_subcommand is not None:
        return
    with opened(path) as index:
        records = _listed(UrlRules(index.store).records(), show_all=show_all)
    if as_json:
        print_json([_record(record) for record in records])
        return
    _print(records)


def _listed(records: list[Record], *, show_all: bool) -> list[Record]:
    """Return those to show, the most important first; of one edit only the widest in each state."""
    shown = [one for one in records if show_all or one.state in _LISTED]
    shown.sort(
        key=lambda one: (-_ORDER.index(one.state), one.rule.host, one.rule.edit, one.rule.pattern)
    )
    if show_all:
        return shown
    wide = {(one.rule.host, one.rule.edit, one.state) for one in shown if one.rule.pattern == "*"}
    return [
        one
        for one in shown
        if one.rule.pattern == "*" or (one.rule.host, one.rule.edit, one.state) not in wide
    ]


def _print(records: list[Record]) -> None:
    screen = console()
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


def _record(one: Record) -> dict[str, Any]:
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


@rules.command()
@click.argument("rule")
@json_option
@click.pass_context
def show(context: click.Context, rule: str, as_json: bool) -> None:
    """Show all that is known of RULE, named as `dedup rules` does; its beginning is enough."""
    with _index(context) as index:
        book = UrlRules(index.store)
        one = _named(book, rule)
        held = [url for url in book.held_back() if one.rule.id in url.rules]
    if as_json:
        print_json({**_record(one), "requests": [asdict(url) | {"request": ""} for url in held]})
        return
    screen, seen = console(), one.evidence
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
    screen.print(
        Text(
            f"  {len(held)} requests are withheld by it, {sum(u.was_made for u in held)} made after all"
        )
    )


@rules.command()
@click.argument("urls", nargs=-1, required=True)
@click.pass_context
def test(context: click.Context, urls: tuple[str, ...]) -> None:
    """Say what the rules make of URLS: which speak of them, and where they look for the page."""
    with _index(context) as index:
        learner = Learner(UrlRules(index.store).records())
    screen = console()
    for url in urls:
        key, active, tested = learner.opinion(url)
        screen.print(Text(printable(url, _SHOWN_URL), "bold"))
        for one in (*active, *tested):
            screen.print(Text(f"  {one.state.value:<10} {one.rule.id}  {one.rule.words}"))
        same = (
            f"would be withheld for the page of {_url(key)}, or of any URL like it"
            if active
            else "is fetched"
        )
        screen.print(Text(f"  {same}"))


@rules.command()
@click.pass_context
def learn(context: click.Context) -> None:
    """Learn rules from all pages that the index has, those that crawls have not learned yet.

    No rule acts by this alone: without a crawl nothing was predicted.
    """
    with _index(context) as index:
        book = UrlRules(index.store)
        known = {one.rule for one in book.records()}
        found = [one for one in learned_from(index.rows()) if one.rule not in known]
        run = max((run.id for run in index.runs()), default=0)
        book.save(run, [seen_of(one) for one in found if one.state is not State.SEEN])
    states = Counter(one.state for one in found)
    click.echo(
        ", ".join(f"{states[state]} {state.value}" for state in _ORDER if states[state]) or "nothing"
    )


@rules.command()
@click.argument("rule")
@click.pass_context
def pin(context: click.Context, rule: str) -> None:
    """Let RULE act from now on, whatever is seen; `dedup rules off` undoes it."""
    _say(context, rule, Standing.PINNED)


@rules.command()
@click.argument("rule")
@click.option("--undo", is_flag=True, help="Let the rule be what its evidence makes it.")
@click.pass_context
def off(context: click.Context, rule: str, undo: bool) -> None:
    """Never let RULE act, whatever is seen."""
    _say(context, rule, Standing.LEARNED if undo else Standing.OFF)


@rules.command("withheld")
@click.option("--run", type=int, help="Only what the run of this number withheld.")
@click.option("--made", is_flag=True, help="Also what was requested after all.")
@json_option
@click.pass_context
def withheld_(context: click.Context, run: int | None, made: bool, as_json: bool) -> None:
    """List the URLs that were not requested because of a rule."""
    with _index(context) as index:
        held = [one for one in UrlRules(index.store).held_back(run) if made or not one.was_made]
    if as_json:
        print_json([_held_record(one) for one in held])
        return
    for url in dict.fromkeys(one.url for one in held):
        click.echo(address(url))
    click.echo(f"{len(held):,} requests were withheld", err=True)


def _held_record(one: HeldBack) -> dict[str, Any]:
    # A stored request may hold what only its spider may see.
    return {name: value for name, value in asdict(one).items() if name != "request"}


@rules.command("export")
@click.option("--format", "kind", type=click.Choice(["dud", "json"]), default="json", show_default=True)
@click.option(
    "--output", type=click.Path(path_type=Path), help="The file to write [default: the screen]."
)
@click.pass_context
def export_(context: click.Context, kind: str, output: Path | None) -> None:
    """Write the active rules, as JSON or for duplicate-url-discarder ("dud")."""
    with _index(context) as index:
        active = [one for one in UrlRules(index.store).records() if one.state is State.ACTIVE]
    records = _listed(active, show_all=False)
    entries: object = [_record(one) for one in records]
    if kind == "dud":
        entries, others = dud.exported(one.rule for one in records)
        for rule in others:
            click.echo(f"does not fit: {printable(rule.host)}: {rule.words}", err=True)
    with text_output(output) as file:
        file.write(json.dumps(entries, indent=2).replace("\x7f", "\\u007f") + "\n")


@rules.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_context
def import_(context: click.Context, file: Path) -> None:
    """Take over rules from FILE, of `dedup rules export` or of duplicate-url-discarder.

    They are on trial: they predict first, and act when that was right often enough here.
    """
    found, others = _read(file)
    with _index(context) as index:
        book = UrlRules(index.store)
        known = {one.rule for one in book.records()}
        for rule in found:
            if rule not in known:
                book.set_standing(Record(rule, standing=Standing.IMPORTED))
    for other in others:
        click.echo(f"does not fit: {printable(other)}", err=True)
    click.echo(f"{len(set(found) - known):,} rules are on trial, {len(set(found) & known):,} were known")


def _read(file: Path) -> tuple[list[Any], list[str]]:
    try:
        text = file.read_text("utf-8")
        if isinstance(entries := json.loads(text), list) and entries and "form" in entries[0]:
            return [_rule_of(entry) for entry in entries], []
        return dud.imported(text)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DedupError(f"{named(file)} has no rules: {error}") from error


def _rule_of(entry: dict[str, Any]) -> Any:
    from dedup.urls.edits import Edit, Form
    from dedup.urls.rule import Rule

    names = [str(entry[name]) for name in ("name", "value")]
    return Rule(str(entry["host"]), Edit(Form(entry["form"]), *names), str(entry["paths"]))


def _index(context: click.Context) -> Index:
    return opened(context.obj["path"])


def _say(context: click.Context, name: str, standing: Standing) -> None:
    with _index(context) as index:
        book = UrlRules(index.store)
        one = _named(book, name)
        one.standing = standing
        one.renew()
        book.set_standing(one)
    click.echo(f"{one.state.value}: {printable(one.rule.host)}: {one.rule.words}")


def _named(book: UrlRules, name: str) -> Record:
    found = [one for one in book.records() if one.rule.id.startswith(name)]
    if len(found) != 1:
        raise DedupError(
            f"{len(found) or 'no'} rules have a name that begins with {printable(name)}; "
            "see `dedup rules`"
        )
    return found[0]
