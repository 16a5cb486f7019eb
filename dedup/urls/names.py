"""Names that mean the same everywhere: of parameters for tracking, sessions, and versions."""

from __future__ import annotations

import re
from collections.abc import Collection

from dedup.urls.parts import Parts, parts_of
from dedup.urls.rule import forms_of, without

_KNOWN = re.compile(
    r"utm_[a-z_]+|(?:hsa|mtm|pk|piwik)_[a-z]+|(?:d|fb|g|osc|tt|tw|y|ys)clid|[gw]braid|gclsrc|"
    r"igshid|mc_[ce]id|_g[al]|(?:php|j|asp)sess(?:ion)?id|cfid|cftoken|msclkid|zenid|s_kwcid"
)
# These mostly are for tracking or sessions, but not everywhere.
_USUAL = re.compile(r"ref|referr?er|s|session(?:_?id)?|sid|source|src")
# Of wikis and of programs that show repositories: most pages have one version only.
_VERSIONS = re.compile(r"(?:old_)?version|ver|rev[12]?|revision|oldid|diff|at|hb?")


def is_version(ignore: str) -> bool:
    """Return whether a parameter says by its name which version is meant.

    Where most pages have one version only, the others would be taken for copies of it.
    """
    return ignore[0] == "?" and _VERSIONS.fullmatch(ignore[1:].lower()) is not None


def is_one_address(one: str, other: str, harmless: Collection[str] = ()) -> bool:
    """Return whether two URLs differ only in what does not matter: for tracking, or *harmless*.

    >>> is_one_address("http://a.example/?id=1&utm_source=x", "http://a.example/?id=1&sid=7")
    True
    >>> is_one_address("http://a.example/?id=1", "http://a.example/?id=2")
    False
    """
    parts = parts_of(one), parts_of(other)
    if not (parts[0] and parts[1]):
        return one == other
    return _bare(parts[0], harmless) == _bare(parts[1], harmless)


def _bare(parts: Parts, harmless: Collection[str]) -> Parts:
    for ignore in list(forms_of(parts)):
        is_spelling = ignore[-1] in ":."  # the scheme, www.
        if is_spelling or ignore in harmless or _is_for_tracking(ignore):
            parts = without(ignore, parts)
    return parts


def _is_for_tracking(ignore: str) -> bool:
    kind, name = ignore[0], ignore[1:].lower()
    if kind not in "?;":
        return False
    return bool(_KNOWN.fullmatch(name) or (kind == "?" and _USUAL.fullmatch(name)))
