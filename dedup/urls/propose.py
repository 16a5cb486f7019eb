"""Proposes rules from a crawl at its end: what its pages show at each URL, and where they lead.

A rule is proposed where URLs that it makes one have shown the same page again and again, and never two
pages; and where nothing would have been lost, whichever of these URLs a crawl asks for.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dedup.model.errors import ConfigError, printable
from dedup.urls.rule import (
    Parts,
    Rule,
    Rules,
    covers,
    forms_of,
    is_version,
    parts_of,
    patterns_of,
    without,
)

GROUPS = 3
"""So many groups of URLs, which show as many different pages, speak for a rule."""
CROWD = 50
"""Or so many URLs of one page, and no other page at this place."""


class UrlVisit(NamedTuple):
    """A URL that a crawl has asked for, what it shows, None where that is not known, and its links.

    What it shows are the pages kept that its items are or repeat.  Its links, like itself, are numbers.
    """

    url: int
    shows: tuple[int, ...] | None
    links: Sequence[int]


class Proposal(NamedTuple):
    """A *rule*, in how many *groups* of URLs it held, of how many *pages*, and two *examples*."""

    rule: Rule
    groups: int
    pages: int
    examples: tuple[tuple[str, str], ...]


def propose(visits: Sequence[UrlVisit], urls: Sequence[str]) -> list[Proposal]:
    """Return the rules that all *visits* speak for; *urls* are those of the numbers."""
    proposed = sorted(_agreed(visits, urls), key=lambda one: (-one.groups, one.rule))
    while proposed and (misled := _misled(visits, urls, Rules(one.rule for one in proposed))):
        proposed = [one for one in proposed if one.rule not in misled]
    return proposed


def _agreed(visits: Sequence[UrlVisit], urls: Sequence[str]) -> Iterator[Proposal]:
    """Yield the rules that the pages of all URLs agree to, the widest of each."""
    pages: dict[Parts, UrlVisit] = {}
    groups: dict[tuple[str, str], dict[Parts, list[UrlVisit]]] = {}
    for visit in visits:
        parts = parts_of(urls[visit.url])
        if parts is None or pages.setdefault(parts, visit) is not visit:
            continue
        for ignore in forms_of(parts):
            of = groups.setdefault((parts.host, ignore), {})
            of.setdefault(without(ignore, parts), []).append(visit)
    for (host, ignore), of in groups.items():
        if not is_version(ignore):
            for key in of.keys() & pages.keys():
                of[key].insert(0, pages[key])
            yield from _widest(partial(Rule, host, ignore), of, urls)


def _widest(
    rule: Callable[[str], Rule], groups: dict[Parts, list[UrlVisit]], urls: Sequence[str]
) -> Iterator[Proposal]:
    """Yield what *groups* say of a rule for paths of a pattern, of each that nothing contradicts."""
    speaking: dict[str, list[list[UrlVisit]]] = {}
    against: set[str] = set()
    crowded: set[str] = set()
    for key, members in groups.items():
        patterns, shown = patterns_of(key), {visit.shows for visit in members}
        if len(members) > 1 and (len(shown) > 1 or None in shown):
            against.update(patterns)
        elif len(members) > 1:
            for pattern in patterns:
                speaking.setdefault(pattern, []).append(members)
            crowded.update(patterns[-1:] if len(members) >= CROWD else ())
    chosen: list[str] = []
    for pattern in sorted(speaking, key=lambda one: (not one.endswith("*"), one.count("/"))):
        of = speaking[pattern]
        pages = len({members[0].shows for members in of})
        is_enough = min(len(of), pages) >= GROUPS or pattern in crowded
        if is_enough and pattern not in against and not any(covers(one, pattern) for one in chosen):
            chosen.append(pattern)
            examples = tuple((urls[one.url], urls[other.url]) for one, other, *_ in of[:2])
            yield Proposal(rule(pattern), len(of), pages, examples)


def _misled(visits: Sequence[UrlVisit], urls: Sequence[str], rules: Rules) -> set[Rule]:
    """Return the rules by which a page is lost, if only one is asked for of all URLs that are one.

    Whichever that is, it leads where all of them lead.
    """
    normal = [rules.normal(url) for url in urls]
    keys = [parts or url for url, (parts, _) in zip(urls, normal, strict=True)]
    nodes: defaultdict[object, list[UrlVisit]] = defaultdict(list)
    for visit in visits:
        nodes[keys[visit.url]].append(visit)
    led: dict[object, list[set[object]]] = {
        node: [{keys[link] for link in visit.links} for visit in of]
        for node, of in nodes.items()
        if len({visit.url for visit in of}) > 1
    }

    def links(node: object) -> set[object]:
        if node in led:
            return set.intersection(*led[node])
        return {keys[link] for visit in nodes[node] for link in visit.links}

    linked = {keys[link] for visit in visits for link in visit.links if keys[link] != keys[visit.url]}
    todo = [node for node in nodes if node not in linked] + [keys[visit.url] for visit in visits[:1]]
    reached = set(todo)
    while todo:
        new = nodes.keys() & links(todo.pop()) - reached
        reached |= new
        todo += new
    unreached = nodes.keys() - reached
    misled: set[Rule] = set()
    for node, of in led.items():
        lost = unreached & (set.union(*of) - set.intersection(*of))
        leading = {visit.url for visit, to in zip(nodes[node], of, strict=True) if to & lost}
        used = {rule for url in leading for rule in normal[url][1]}
        misled |= used or {rule for visit in nodes[node] if lost for rule in normal[visit.url][1]}
    return misled


_HEAD = "# Rules for URLs: what does not matter in them. See docs/how-to/rules-for-urls.md\n"
_SIZE = 10_000_000


def read_rules(path: Path) -> list[Rule]:
    """Return the rules in the file at *path*; raises `ConfigError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return rules_of(file.read(_SIZE).decode("utf-8"))
    except FileNotFoundError as error:
        why = "is not there: `dedup rules --accept` makes it"
        raise ConfigError(f"{printable(str(path))} {why}") from error
    except (OSError, ValueError, ConfigError) as error:
        raise ConfigError(f"{printable(str(path))}: {error}") from error


def rules_of(text: str) -> list[Rule]:
    """Return the rules in *text*; raises `ConfigError` or `ValueError`."""
    found = tomllib.loads(text)
    rules = found.get("rule", [])
    if set(found) - {"rule"} or not isinstance(rules, list):
        raise ConfigError("it must have tables [[rule]], and nothing else")
    for rule in rules:
        if not {"host", "ignore"} <= set(rule) <= set(Rule._fields):
            raise ConfigError("each [[rule]] has host and ignore, and may have paths")
        if not all(isinstance(value, str) for value in rule.values()):
            raise ConfigError("host, ignore and paths must be text")
    return [Rule.checked(**rule) for rule in rules]


def add_rules(path: Path, proposals: Iterable[Proposal]) -> None:
    """Append *proposals* to the file at *path*, which may be new; what it has already stays as it is."""
    text = path.read_text("utf-8") if path.exists() else _HEAD
    there = rules_of(text)
    for one in (one for one in proposals if one.rule not in there):
        said = f"{one.groups} groups of URLs showed {one.pages} pages: {one.rule.words}"
        text += f"\n# {printable(said)}\n[[rule]]\n"
        text += "".join(f"{name} = {json.dumps(value)}\n" for name, value in one.rule._asdict().items())
    rules_of(text)  # or the file would not be read any more
    path.write_text(text, "utf-8")
