"""The rules that a crawl obeys: which requests it need not make, and how it sees that a rule is wrong.

Pure: it is told of the pages that came, and asked about URLs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from dedup.urls.parts import Parts, place_of
from dedup.urls.rule import Rule, Rules

FIRST_LOOKS, STEP = 2, 10
"""The first URLs of a folder that a rule speaks of are asked for all the same, then every so many."""
# Links by which it is seen that a page leads on; where there are more, no rule is obeyed.
_MOST_MET = 1_000_000


class Counterexample(NamedTuple):
    """What is against a *rule*: by it two URLs are one, and they are not, for a *reason*."""

    rule: Rule
    url: str
    other: str
    reason: str


class Known(NamedTuple):
    """A page that the crawl has: its *url*, what it *shows*, and the *rules* that say so of another."""

    url: str
    shows: tuple[int, ...]
    rules: frozenset[Rule]


class Obeyed:
    """The *rules* of one crawl; *run* tells which of the URLs are asked for all the same.

    If it does not know all that the crawl has met, a page that leads on says nothing.
    """

    def __init__(self, rules: Iterable[Rule] = (), run: int = 0, *, knows_all: bool = True) -> None:
        self.rules = Rules(rules)
        self._run, self._knows_all = run, knows_all
        self._known: dict[tuple[Parts | None, str], Known] = {}
        self._met: set[int] = set()
        self._looks: Counter[tuple[Rule, str]] = Counter()

    def page_for(self, url: str, signature: str) -> Known | None:
        """Return the page that *url* would bring again, None to ask for it."""
        key, used = self.rules.normal(url)
        page = self._known.get((key, signature))
        if key is None or not used or page is None or page.url == url or len(self._met) >= _MOST_MET:
            return None
        if self._is_explored(used, place_of(key).rpartition("/")[0]):
            return None
        return page._replace(rules=used)

    def _is_explored(self, used: Collection[Rule], folder: str) -> bool:
        self._looks.update((rule, folder) for rule in used)
        counts = [self._looks[rule, folder] for rule in used]
        return any(count <= FIRST_LOOKS or (count + self._run) % STEP == 0 for count in counts)

    def seen(
        self,
        urls: Sequence[str],
        signature: str,
        shows: tuple[int, ...] | None,
        links: Iterable[str],
        *,
        stands: bool = True,
    ) -> list[Counterexample]:
        """Note a page that *urls* have led to, the last by redirects; return what is against rules.

        These are obeyed no more.  None stands for a page of which nobody knows what it *shows*; one that
        *stands* is what others may repeat.
        """
        new = [url for url in links if not self._was_met(url)]
        for url in dict.fromkeys((urls[0], urls[-1])):
            self._was_met(url)
            key, used = self.rules.normal(url)
            page = self._known.get((key, signature))
            if page is None:
                if shows is not None and stands and key is not None:
                    self._known[key, signature] = Known(urls[-1], shows, used)
            elif shows is not None and shows != page.shows:
                return self._wrong(used | page.rules, url, page.url, "they show two pages")
            elif new and used and page.url not in urls and self._knows_all:
                return self._wrong(used, url, page.url, f"only one leads to {new[0]}")
        return []

    def _was_met(self, url: str) -> bool:
        keys = {hash(url), hash(self.rules.normal(url)[0] or url)}
        is_met = not self._met.isdisjoint(keys)
        self._met |= keys
        return is_met

    def _wrong(self, rules: Collection[Rule], url: str, other: str, reason: str) -> list[Counterexample]:
        """Obey *rules* no more: any of them may be wrong."""
        self.rules = self.rules.less(rules)
        self._known = {place: one for place, one in self._known.items() if one.rules.isdisjoint(rules)}
        return [Counterexample(rule, url, other, reason) for rule in sorted(rules)]
