"""Pages made for tests, of which it is known how alike they are, and what is put to an index of them."""

import random
import time
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from dedup import DedupConfig, Detector, Page, Verdict
from dedup.index import Index, Row, Run, Sighting
from dedup.model.fingerprint import Fingerprint, PageToRecord
from dedup.model.verdict import Glance, Outcome
from dedup.prints.fingerprinter import RECIPE_VERSION
from dedup.reading.page import sighting_of

Pages = Mapping[str, str] | Iterable[tuple[str, str] | Page]
Config = DedupConfig | None
_WORDS = [f"word{number}" for number in range(5000)]


def text(seed: int, words: int = 120) -> str:
    """Return a text that shares next to nothing with those of other seeds."""
    return " ".join(random.Random(seed).choices(_WORDS, k=words))


def edited(seed: int, edits: int = 1, words: int = 120) -> str:
    """Return `text` with its last *edits* words replaced by identifiers, as of sessions.

    Other words would stand where no page has them, and so keep it on a site that is known.
    """
    return " ".join(text(seed, words).split()[: words - edits] + [f"feed{n:04}" for n in range(edits)])


def told_elsewhere() -> list[str]:
    """Return three texts, of which the last repeats the first and a part of the second, 500 words."""
    first, second = text(5, 400), text(6, 100)
    before = " ".join(first.split()[-3:])  # so that no shingle is on the last page only
    return [first, f"{before} {second} {text(7, 300)}", f"{first} {second}"]


def of_another_recipe(patch: pytest.MonkeyPatch) -> str:
    """Make fingerprints those of a later release, and return what an index of this one says of it."""
    patch.setattr("dedup.prints.fingerprinter.RECIPE_VERSION", version := RECIPE_VERSION + 1)
    return f"was built by a release with recipe={RECIPE_VERSION}, this one has recipe={version}"


def page(content: str, url: str = "", *, template: int = 0) -> Page:
    tags = "".join(f"<div><ul><li>{'<b></b>' * n}</li></ul></div>" for n in range(template % 7))
    return Page.from_html(f"<html><body>{tags}<p>{content}</p></body></html>", url=url)


def glance_of(row: Row, scope: Any) -> Glance:
    """Return what a store that knows its group as *scope* tells of *row* at a glance."""
    parts = row, row.sighting.fingerprint, row.sighting, row.verdict
    about = (next(getattr(one, name) for one in parts if hasattr(one, name)) for name in Glance._fields)
    return Glance(*about)._replace(scope=scope)


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
    here: dict[str, Any] = {"spider": run.spider, "scope": config.scope}
    return sighting_of(seen, fingerprint, **here | {"run": run.id, "time": time.time()} | about)


def find_or_add(
    index: Index, fingerprint: Fingerprint, url: str = "", *, run: Run, config: DedupConfig, **about: Any
) -> Verdict:
    """Call `Ledger.find_or_add` with a `sighting`; *about* are arguments of either."""
    names, confirmed = ("is_restored", "wait_for", "page"), about.pop("confirmed", True)
    how = {name: about.pop(name) for name in names if name in about}
    asked = PageToRecord(sighting(fingerprint, url, run=run, config=config, **about), **how)
    return index.ledger.find_or_add([asked], config, confirmed=confirmed)[0]


def submit(detector: Detector, seen: Sighting, *, confirmed: bool = False, **how: Any) -> Verdict:
    """Judge and record *seen*; *how* are the fields of `PageToRecord`."""
    return detector.submit([PageToRecord(seen, **how)], confirmed=confirmed)[0]


def claim(index: Index, seen: Sighting, verdict: Verdict, position: Any) -> int | None:
    """Add what the *verdict* on *seen* says to a shared index, if it still holds; see `Store.claim`."""
    row = Row(0, seen, verdict, Outcome.CONFIRMED, verdict.is_canonical)
    return next(iter(index.store.claim([row], position, [b""])), None)
