"""What sites declare of their parameters, and names that mean the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Collection

from dedup.urls.edits import Edit, Form, edits_of
from dedup.urls.parts import Parts, parts_of

_TRACKING = re.compile(r"utm_[a-z_]+|(?:hsa|mtm|pk|piwik)_[a-z]+", re.IGNORECASE)
_KNOWN = frozenset(
    [
        "dclid",
        "fbclid",
        "gbraid",
        "gclid",
        "gclsrc",
        "igshid",
        "mc_cid",
        "mc_eid",
        "msclkid",
        "ttclid",
        "twclid",
        "wbraid",
        "yclid",
        "ysclid",
        "_ga",
        "_gl",
        "phpsessid",
        "jsessionid",
        "aspsessionid",
        "cfid",
        "cftoken",
        "osclid",
        "zenid",
        "s_kwcid",
    ]
)
# These mostly are for tracking or sessions, but not everywhere.
_USUAL = frozenset(
    ("ref", "referer", "referrer", "s", "session", "session_id", "sessionid", "sid", "source", "src")
)
# Of wikis and of programs that show repositories.
_VERSIONS = frozenset(
    (
        "version",
        "old_version",
        "ver",
        "rev",
        "rev1",
        "rev2",
        "revision",
        "oldid",
        "diff",
        "at",
        "h",
        "hb",
    )
)
# How the same address is written in two ways.
_SPELLINGS = (Form.SCHEME, Form.ALIAS)
_CLEAN = re.compile(r"[ \t]*clean-param[ \t]*:[ \t]*([^\s#]+)(?:[ \t]+([^\s#]+))?", re.IGNORECASE)
_MOST_LINES = 200


def is_known(edit: Edit) -> bool:
    """Return whether *edit* takes out a parameter that by its name is for tracking or sessions."""
    if edit.form not in (Form.PARAMETER, Form.PATH_PARAMETER):
        return False
    return edit.name.lower() in _KNOWN or _TRACKING.fullmatch(edit.name) is not None


def is_version(edit: Edit) -> bool:
    """Return whether *edit* takes out a parameter that by its name says which version is meant.

    Where most pages have one version only, the others would be taken for copies of it.
    """
    return edit.form in (Form.PARAMETER, Form.VALUE) and edit.name.lower() in _VERSIONS


def is_one_address(one: str, other: str, edits: Collection[Edit] = ()) -> bool:
    """Return whether two URLs differ only in what does not matter: parameters for tracking, or *edits*.

    >>> is_one_address("http://a.example/?id=1&utm_source=x", "http://a.example/?id=1&sid=7")
    True
    >>> is_one_address("http://a.example/?id=1", "http://a.example/?id=2")
    False
    """
    parts = parts_of(one), parts_of(other)
    if not (parts[0] and parts[1]):
        return one == other
    return _bare(parts[0], edits) == _bare(parts[1], edits)


def _bare(parts: Parts, edits: Collection[Edit]) -> Parts:
    for edit in edits_of(parts):
        if edit in edits or is_known(edit) or edit.form in _SPELLINGS or _is_usual(edit):
            parts = edit.applied(parts)
    return parts._replace(query=tuple(sorted(parts.query)))


def _is_usual(edit: Edit) -> bool:
    return edit.form is Form.PARAMETER and edit.name.lower() in _USUAL


def clean_params(robots: str) -> list[tuple[Edit, str]]:
    """Return the parameters that ``Clean-param`` lines of a robots.txt name, each with a path prefix.

    >>> clean_params("Clean-param: sid&sort /forum/show.php")
    [(Edit(form=<Form.PARAMETER: 'parameter'>, name='sid', value=''), '/forum/show.php'), \
(Edit(form=<Form.PARAMETER: 'parameter'>, name='sort', value=''), '/forum/show.php')]
    """
    lines = (found for line in robots.splitlines() if (found := _CLEAN.match(line)))
    declared = [
        (Edit(Form.PARAMETER, name), (line[2] or "/").partition("*")[0])
        for line in lines
        for name in line[1].split("&")
        if name
    ]
    return declared[:_MOST_LINES]


def is_declared(edit: Edit, parts: Parts, declared: list[tuple[Edit, str]]) -> bool:
    """Return whether the site of *parts* has declared *edit* for its path."""
    return any(edit == one and parts.path.startswith(prefix) for one, prefix in declared)
