"""Our rules for duplicate-url-discarder: a JSON list of patterns and parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dedup.urls.edits import Form
from dedup.urls.parts import ANY_PATH
from dedup.urls.rule import Rule

_PROCESSOR = "queryRemoval"


def exported(rules: Iterable[Rule]) -> tuple[list[dict[str, Any]], list[Rule]]:
    """Return *rules* in the format of duplicate-url-discarder, and those that do not fit.

    It removes parameters from queries and knows no other form of a rule, no value, and no pattern with
    digits or a kind of page in it.  The slash after a host says that subdomains are not meant.

    >>> exported([Rule("a.example", Edit(Form.PARAMETER, "sid"), "/shop/*")])[0]
    [{'args': ['sid'], 'order': 100, 'processor': 'queryRemoval', 'urlPattern': {'include': \
['a.example/shop/']}}]
    """
    fitting: dict[str, list[str]] = {}
    others = []
    for rule in rules:
        if rule.edit.form is Form.PARAMETER and not set("#?") & set(rule.pattern):
            path = "/" if rule.pattern == ANY_PATH else rule.pattern.removesuffix("*")
            fitting.setdefault(rule.host + path, []).append(rule.edit.name)
        else:
            others.append(rule)
    return [_entry(pattern, sorted(set(names))) for pattern, names in sorted(fitting.items())], others


def _entry(pattern: str, names: list[str]) -> dict[str, Any]:
    include = {"include": [pattern]}
    return {"args": names, "order": 100, "processor": _PROCESSOR, "urlPattern": include}
