"""What a verifier may know about the site of a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiteContext:
    """What the pages seen before tell about the site of the page that is judged; so far, nothing.

    An index reads it in the transaction that decides, and hands it on in `dedup.rule.decide.Past`:
    a verdict depends on the pages before it alone.
    """


EMPTY_SITE = SiteContext()
"""Nothing is known: what two pages are compared by outside of an index."""
