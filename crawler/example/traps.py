"""Two parts of the example site where a crawl would never end.  Their pages are made on request."""

from __future__ import annotations

import re
from calendar import Calendar, month_name
from itertools import count
from urllib.parse import urlsplit

# The first page of each; no other part of the site links to it.
CALENDAR = "/calendar/2026-01.html"
SESSIONS = "/sessions/tides.html?sid=0"

_MONTH = re.compile(r"/calendar/(\d{4})-(\d{2})\.html")
_GUIDES = {
    "tides": (
        "The causeway is dry for two hours either side of low water. Leave the island when the "
        "warden rings the second bell, for the sand by the old mooring posts goes first, and the "
        "last cart of the day waits for nobody. Low water is later by some fifty minutes each day."
    ),
    "boats": (
        "From May to September the mail boat takes twelve passengers from the fish quay. It sails "
        "at nine and at two, weather allowing, and comes back with the lobster crates. Dogs travel "
        "free on deck, bicycles need a ticket of their own, and nobody sits on the post bags."
    ),
    "birds": (
        "Terns nest on the shingle north of the foghorn house, so keep to the rope from April until "
        "the young have flown. Puffins come in the evening with sand eels across their bills; the "
        "best place to see them is the broken wall above the landing steps, out of the wind."
    ),
}
_sessions = count(1)


def trap_page(path: str) -> str | None:
    """Return the page at *path* if it is in a trap, else None."""
    if found := _MONTH.fullmatch(path):
        return _month(int(found[1]), int(found[2]))
    name = urlsplit(path).path.removeprefix("/sessions/").removesuffix(".html")
    return _guide(name) if path.startswith("/sessions/") and name in _GUIDES else None


def _month(year: int, month: int) -> str | None:
    if not 1 <= month <= 12:
        return None
    weeks = Calendar().monthdayscalendar(year, month)
    rows = "".join("<tr>" + "".join(f"<td>{day or ''}</td>" for day in week) + "</tr>" for week in weeks)
    after = f"{year + month // 12}-{month % 12 + 1:02}"
    return _html(
        f"{month_name[month]} {year}",
        "<p>What is on at the lighthouse. The lamp room is open on every dry afternoon, tours begin "
        "at the keeper's door on the hour, and groups of more than eight ask the day before. No other "
        f"events are planned for this month.</p><table>{rows}</table>"
        f'<p><a href="/calendar/{after}.html">the month after</a></p>',
    )


def _guide(name: str) -> str:
    links = "".join(
        f'<li><a href="/sessions/{other}.html?sid={next(_sessions)}">{other}</a></li>'
        for other in _GUIDES
    )
    return _html(f"On the island: {name}", f"<p>{_GUIDES[name]}</p><ul>{links}</ul>")


def _html(title: str, content: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title></head>'
        f"<body><h1>{title}</h1>{content}</body></html>"
    )
