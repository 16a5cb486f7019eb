"""What was met on a host, as the rules that act and those on trial see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from dedup.urls.edits import Edit, Reading, edits_of
from dedup.urls.evidence import State
from dedup.urls.groups import Content
from dedup.urls.parts import Parts, patterns_for, width_of
from dedup.values.hashes import murmur3

if TYPE_CHECKING:
    from dedup.urls.learner import RuleRecord


class Page(NamedTuple):
    """A page that this crawl has seen to its end: what it shows, and the rows that say so.

    *signature* says how it was requested: for another callback, the same page is other data.  *size* is
    that of its body in bytes.
    """

    url: str
    content: Content
    rows: tuple[int, ...]
    signature: str
    size: int


class View:
    """The pages and URLs of a host and its aliases, by what is left of them under the rules.

    It goes by the *records* that it was made with; those that do not act are taken for such that do if
    it is said that *all_act*.  Else it knows what is left where their edits are made too.
    """

    def __init__(
        self,
        records: Iterable[RuleRecord],
        pages: Iterable[tuple[Page, Reading | None]],
        urls: Iterable[Reading | None],
        *,
        all_act: bool = False,
    ) -> None:
        self.active: dict[Edit, list[RuleRecord]] = {}
        self.tested: dict[Edit, list[RuleRecord]] = {}
        for record in sorted(records, key=lambda one: width_of(one.rule.pattern)):
            of = self.active if all_act or record.state is State.ACTIVE else self.tested
            of.setdefault(record.rule.edit, []).append(record)
        self._pages: dict[tuple[Edit | None, Parts], Page] = {}
        self._met: set[int] = set()
        self._met_by: dict[Edit, set[int]] = {edit: set() for edit in self.tested}
        self.size = 0
        for page, read in pages:
            if read:
                self.stand(page, read)
        for read in urls:
            if read:
                self.meet(read)
        self.made_at = self.size
        self.is_behind = False

    # What was met

    def stand(self, page: Page, read: Reading) -> None:
        """Note a page that others may repeat; the first one of a key is the one that counts."""
        for edit, key in self._keys(read):
            self._pages.setdefault((edit, key), page)

    def meet(self, read: Reading) -> None:
        """Note a URL that is requested."""
        self.size += 1
        for edit, key in self._keys(read):
            (self._met_by[edit] if edit else self._met).add(hash(key))

    def _keys(self, read: Reading) -> Iterator[tuple[Edit | None, Parts]]:
        key = self.normal(read)[0]
        yield None, key
        if self.tested:
            for edit in read.edits:
                if edit in self.tested:
                    yield edit, self.without(edit, key)

    # Questions

    def normal(self, read: Reading) -> tuple[Parts, tuple[RuleRecord, ...]]:
        """Return what is left of a URL by the rules that act, and these."""
        key, edits = read.parts, read.edits if self.active else []
        used: dict[RuleRecord, None] = {}
        while edits:
            parts = key
            for edit in edits:
                if edit not in self.active:
                    continue
                left = edit.applied(parts)
                if record := _speaking(self.active[edit], left):
                    key = left if key is parts else edit.applied(key)
                    used[record] = None
            # What is left of a path may end in what another rule takes out: /x/index.html, /x/ and /x.
            edits = edits_of(key) if key.path != parts.path else []
        return key, tuple(used)

    def without(self, edit: Edit, key: Parts) -> Parts:
        """Return *key*, which is `normal`, without what *edit* takes out; that is normal again."""
        left = edit.applied(key)
        return left if left.path == key.path else self.normal(Reading(left, edits_of(left)))[0]

    def on_trial(self, read: Reading) -> Iterator[RuleRecord]:
        """Yield the rules on trial that speak of a URL."""
        # One that acts by now goes on to predict until the view is made again.
        return (record for record in self.speaking(read) if record.state.predicts)

    def speaking(self, read: Reading) -> Iterator[RuleRecord]:
        """Yield the rules that speak of a URL and did not act when the view was made."""
        for edit in read.edits:
            if edit in self.tested:
                path = patterns_for(edit.applied(read.parts))
                yield from (record for record in self.tested[edit] if record.speaks_of(path))

    def bare(self, read: Reading) -> Parts:
        """Return what is left of a URL by all rules, those that act and those on trial."""
        key = self.normal(read)[0]
        for edit in dict.fromkeys(record.rule.edit for record in self.on_trial(read)):
            key = self.without(edit, key)
        return key

    def page(self, edit: Edit | None, key: Parts, url: str, signature: str) -> Page | None:
        """Return another page than that of *url* that has this *key*, with or without *edit*."""
        for place in ((edit, key), (None, key)):
            page = self._pages.get(place)
            if page and page.url != url and page.signature == signature:
                return page
        return None

    def was_met(self, edit: Edit | None, read: Reading) -> bool:
        """Return whether a URL was met, or another one that has the same key, with *edit* or without."""
        key = self.normal(read)[0]
        number = hash(self.without(edit, key) if edit else key)
        return number in self._met or (edit is not None and number in self._met_by.get(edit, ()))


def hash_of(key: Parts) -> int:
    """Return the number of a key, the same in every process."""
    return murmur3(key.text)


def _speaking(records: list[RuleRecord], key: Parts) -> RuleRecord | None:
    """Return the widest of *records*, all about one edit, that speaks of the URL it leaves *key* of."""
    patterns = patterns_for(key)
    return next((record for record in records if record.speaks_of(patterns)), None)
