"""Rules for duplicate-url-discarder, and its rules for us: a JSON list of patterns and parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from dedup.urls.edits import Edit, Form
from dedup.urls.parts import ANY_PATH
from dedup.urls.rule import Rule

_PROCESSOR = "queryRemoval"
_MOST_RULES = 10_000


def exported(rules: Iterable[Rule]) -> tuple[list[dict[str, Any]], list[Rule]]:
    """Return *rules* in the format of duplicate-url-discarder, and those that do not fit.

    It removes parameters from queries and knows no other form of a rule, no value, and no pattern with
    digits in it.  The slash after a host says that subdomains are not meant.

    >>> exported([Rule("a.example", Edit(Form.PARAMETER, "sid"), "/shop/*")])[0]
    [{'args': ['sid'], 'order': 100, 'processor': 'queryRemoval', 'urlPattern': {'include': \
['a.example/shop/']}}]
    """
    fitting: dict[str, list[str]] = {}
    others = []
    for rule in rules:
        if rule.edit.form is Form.PARAMETER and "#" not in rule.pattern:
            path = "/" if rule.pattern == ANY_PATH else rule.pattern.removesuffix("*")
            fitting.setdefault(rule.host + path, []).append(rule.edit.name)
        else:
            others.append(rule)
    return [_entry(pattern, sorted(set(names))) for pattern, names in sorted(fitting.items())], others


def _entry(pattern: str, names: list[str]) -> dict[str, Any]:
    include = {"include": [pattern]}
    return {"args": names, "order": 100, "processor": _PROCESSOR, "urlPattern": include}


def imported(text: str) -> tuple[list[Rule], list[str]]:
    """Return the rules in *text*, a file of duplicate-url-discarder, and in words what does not fit.

    Raises ValueError where it is no such file.
    """
    entries = json.loads(text)
    if not isinstance(entries, list) or len(entries) > _MOST_RULES:
        raise ValueError("it must be a list of rules")
    rules: list[Rule] = []
    others: list[str] = []
    for number, entry in enumerate(entries, 1):
        try:
            rules += _rules_of(entry)
        except (KeyError, TypeError, ValueError) as error:
            others.append(f"rule {number}: {error}")
    return rules, others


def _rules_of(entry: Mapping[str, Any]) -> list[Rule]:
    if entry["processor"] != _PROCESSOR:
        raise ValueError(f"the processor {str(entry['processor'])[:40]!r} has no counterpart here")
    pattern = entry["urlPattern"]
    if pattern.get("exclude"):
        raise ValueError("a pattern with exceptions has no counterpart here")
    names = [str(name) for name in entry["args"]]
    places = [_place_of(str(include)) for include in pattern["include"]]
    if not places:
        raise ValueError("rules here are for one host each")
    return [Rule(host, Edit(Form.PARAMETER, name), path) for host, path in places for name in names]


def _place_of(include: str) -> tuple[str, str]:
    """Return host and pattern of ``host``, ``host/`` and ``host/segment/``, of three segments too."""
    parts = urlsplit(include if "://" in include else f"//{include}")
    path = parts.path.strip("/")
    if not parts.netloc or "*" in include or parts.query or path.count("/") > 2:
        raise ValueError(f"the pattern {include[:60]!r} has no counterpart here")
    return parts.netloc.lower(), f"/{path}/*" if path else ANY_PATH
