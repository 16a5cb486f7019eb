"""Fingerprints that no page was read for, put to an index."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from dedup import DedupConfig, Detector, Page, Verdict
from dedup.index import Index, Row, Run, Sighting
from dedup.model.fingerprint import Fingerprint
from dedup.model.verdict import Outcome
from dedup.reading.page import sighting_of
from tests.support.pages import page

Pages = Mapping[str, str] | Iterable[tuple[str, str] | Page]
Config = DedupConfig | None


def checked(index: Index, pages: Pages, config: Config = None, spider: str = "") -> list[Verdict]:
    """Check *pages*, made ones or URLs with their contents, one after the other in one run."""
    found = pages.items() if isinstance(pages, Mapping) else pages
    made = [one if isinstance(one, Page) else page(one[1], one[0]) for one in found]
    with Detector(index, config or DedupConfig(), spider) as detector:
        return [detector.check(one) for one in made]


OF_PAGE = ("canonical_link", "item_key", "redirects", "seen_on", "title")


def sighting(
    fingerprint: Fingerprint, url: str = "", *, run: Run, config: DedupConfig, **about: Any
) -> Sighting:
    """Return the sighting of a page with *fingerprint*, now."""
    of_page = {name: about.pop(name) for name in OF_PAGE if name in about}
    seen = Page(url=url, body_digest=b"", text="", **of_page)
    here: dict[str, Any] = {
        "spider": run.spider,
        "scope": config.scope,
        "run": run.id,
        "time": time.time(),
    }
    return sighting_of(seen, fingerprint, **here | about)


def find_or_add(
    index: Index, fingerprint: Fingerprint, url: str = "", *, run: Run, config: DedupConfig, **about: Any
) -> Verdict:
    """Call `Ledger.find_or_add` with a `sighting`; *about* are arguments of either."""
    names = ("confirmed", "is_restored", "wait_for", "page")
    choices = {name: about.pop(name) for name in names if name in about}
    seen = sighting(fingerprint, url, run=run, config=config, **about)
    return index.ledger.find_or_add(seen, config, **choices)


def claim(index: Index, seen: Sighting, verdict: Verdict, position: Any) -> Row | None:
    """Add what the *verdict* on *seen* says to a shared index, if it still holds; see `Store.claim`."""
    row = Row(0, seen, verdict, Outcome.CONFIRMED, verdict.is_canonical)
    return next(iter(index.store.claim([row], position, [b""])), None)
