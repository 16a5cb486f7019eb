"""The file of rules that a person has reviewed: TOML, read with the standard library, written by hand.

[[rule]]
host = "www.example.com"
ignore = "?sid"
paths = "/shop/*"
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

from dedup.urls.propose import Proposal
from dedup.urls.rule import Rule
from dedup.values.errors import ConfigError
from dedup.values.printable import printable

_HEAD = "# Rules for URLs: what does not matter in them. See docs/how-to/rules-for-urls.md\n"
_SIZE = 10_000_000


def read_rules(path: Path) -> list[Rule]:
    """Return the rules in the file at *path*; raises `ConfigError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return rules_of(file.read(_SIZE).decode("utf-8"))
    except (OSError, ValueError, ConfigError) as error:
        raise ConfigError(f"{printable(str(path))}: {error}") from error


def rules_of(text: str) -> list[Rule]:
    """Return the rules in *text*.

    >>> rules_of('[[rule]]\\nhost = "a.example"\\nignore = "?sid"')
    [Rule(host='a.example', ignore='?sid', paths='*')]
    """
    found = tomllib.loads(text)
    rules = found.get("rule", [])
    if set(found) - {"rule"} or not isinstance(rules, list):
        raise ConfigError("it must have tables [[rule]], and nothing else")
    for rule in rules:
        if set(rule) - set(Rule._fields) or not {"host", "ignore"} <= set(rule):
            raise ConfigError("each [[rule]] has host and ignore, and may have paths")
        if not all(isinstance(value, str) for value in rule.values()):
            raise ConfigError("host, ignore and paths must be text")
    return [Rule.checked(**rule) for rule in rules]


def add_rules(path: Path, proposals: Iterable[Proposal]) -> None:
    """Append *proposals* to the file at *path*, which may be new; what it has already stays as it is."""
    text = path.read_text("utf-8") if path.exists() else _HEAD
    there = rules_of(text)
    for one in proposals:
        if one.rule in there:
            continue
        said = f"{one.groups} groups of URLs showed {one.pages} pages: {one.rule.words}"
        text += f"\n# {printable(said)}\n[[rule]]\n"
        text += "".join(f"{name} = {json.dumps(value)}\n" for name, value in one.rule._asdict().items())
    rules_of(text)  # or the file would not be read any more
    path.write_text(text, "utf-8")
