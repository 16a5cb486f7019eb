"""What somebody has said about places of pages: that they tell these apart, or do not matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from dedup.model.errors import ConfigError
from dedup.model.hashes import digest
from dedup.model.marks import DIFFERENT, MARKED, Exceptions
from dedup.model.urls import host_of
from dedup.reading.noise import Gap, Gaps, Line, lines_of
from dedup.reading.page import Page

# The place of the lines of a text that had no elements.
_OF_TEXT = "text"
# What would take more than this share of the text (0 to 1) out of a page is not left out of it.
_MOST_SHARE = 0.5


def place_name(gap: Gap) -> str:
    """Return *gap* as a file of marks has it."""
    return json.dumps(gap, ensure_ascii=False)


def gap_named(name: str) -> Gap:
    """Return the gap that `place_name` has written; raises `ConfigError` for anything else."""
    try:
        place, before, after, heading, is_number = json.loads(name)
        texts = (place, heading, *before, *after)
        if not (all(isinstance(text, str) for text in texts) and isinstance(is_number, bool)):
            raise TypeError
        return Gap(place, tuple(before), tuple(after), heading, is_number)
    except (TypeError, ValueError, RecursionError):
        raise ConfigError(f"{name!r} is no place of a page") from None


def placed(page: Page) -> Page:
    """Return *page* with places, of which a text has but one."""
    if page.places or page.tags:
        return page
    return replace(page, places=(_OF_TEXT,) * len(page.text.split("\n")))


class MarkedPlaces:
    """The places that *exceptions* tell of; raises `ConfigError` for a bad one."""

    def __init__(self, exceptions: Exceptions) -> None:
        found: dict[str, dict[bool, list[Gap]]] = {}
        for site, place, says in exceptions.places:
            found.setdefault(site, {True: [], False: []})[says == DIFFERENT].append(gap_named(place))
        self._hosts = {
            site: (Gaps(gaps[True], tries=True), Gaps(gaps[False])) for site, gaps in found.items()
        }

    def __contains__(self, host: object) -> bool:
        """Return whether anything is said of the pages of *host*."""
        return host in self._hosts

    def obeyed(self, page: Page) -> Page:
        """Return *page* as it is judged: without what does not matter, and with what tells it apart."""
        host = host_of(page.url) if self._hosts and page.seen_on is None else page.seen_on
        if host not in self._hosts or page.excess:
            return page
        apart, ignored = self._hosts[host]
        whole = placed(page)
        told = _told(apart, lines_of(whole))
        masked, _ = ignored.masked(whole)
        if len(masked.text) < (1 - _MOST_SHARE) * len(page.text):
            masked = whole
        if told:
            masked = replace(masked, variant=f"{MARKED}{page.variant}{MARKED}{told}")
        return replace(masked, places=masked.places if page.places else ())


def _told(gaps: Gaps, lines: Sequence[Line]) -> str:
    """Return a digest of what is in *gaps*, "" where a page has none of them."""
    out = sorted(gaps.leave_out(lines).out.items())
    said = [(gap, found if gap.is_line else [gap.said(line) for line in found]) for gap, found in out]
    return digest(json.dumps(said).encode()).hex() if said else ""
