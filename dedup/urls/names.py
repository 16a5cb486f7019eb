"""What sites declare of their parameters, and names that mean the same everywhere."""

from __future__ import annotations

import re

from dedup.urls.edits import Edit, Form
from dedup.urls.parts import Parts

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
_CLEAN = re.compile(r"[ \t]*clean-param[ \t]*:[ \t]*([^\s#]+)(?:[ \t]+([^\s#]+))?", re.IGNORECASE)
_MOST_LINES = 200


def is_known(edit: Edit) -> bool:
    """Return whether *edit* takes out a parameter that by its name is for tracking or sessions."""
    if edit.form not in (Form.PARAMETER, Form.PATH_PARAMETER):
        return False
    return edit.name.lower() in _KNOWN or _TRACKING.fullmatch(edit.name) is not None


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
