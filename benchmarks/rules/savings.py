"""What rules can save of a crawl at best, by its truth: the text of each URL, and which texts are unique."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from dedup.urls.edits import Edit, reading_of
from dedup.urls.evidence import FEW_PAGES, MANY_GROUPS, TRIAL
from dedup.urls.groups import CROWD
from dedup.urls.parts import Parts, patterns_for

Rule = tuple[Edit, str]


class Savings:
    """Pages (URL -> text) and the *kept* texts, in groups: URLs that are one under an edit."""

    def __init__(self, texts: Mapping[str, bytes], kept: Collection[bytes]) -> None:
        self._texts = texts
        self._kept = kept
        self._groups: defaultdict[tuple[Edit, Parts], set[str]] = defaultdict(set)
        pages: dict[Parts, str] = {}
        for url in texts:
            if read := reading_of(url):
                pages[read.parts] = url
                for edit in read.edits:
                    self._groups[edit, edit.applied(read.parts)].add(url)
        for (_, key), urls in self._groups.items():
            if key in pages:
                urls.add(pages[key])

    @property
    def exact_copies(self) -> int:
        """Requests whose page repeats another one, token for token, wherever that stands."""
        return len(self._texts) - len(set(self._texts.values()))

    @property
    def by_a_form(self) -> int:
        """Requests whose page repeats, token for token, another one that some form maps to it."""
        return self._saved(self._groups, self._texts.values())

    @property
    def of_a_kept_page(self) -> int:
        """Those among them whose page is kept at one of the URLs: what may be withheld repeats such."""
        return self._saved(self._groups, self._kept)

    @property
    def by_a_right_rule(self) -> int:
        """Those among these for which there is a rule that nothing contradicts, with enough groups."""
        right = self._right_rules()
        groups = [
            (edit, key)
            for edit, key in self._groups
            if any((edit, pattern) in right for pattern in patterns_for(key))
        ]
        return self._saved(groups, self._kept)

    def _right_rules(self) -> set[Rule]:
        speaking: defaultdict[Rule, list[bytes]] = defaultdict(list)
        members: Counter[Rule] = Counter()
        wrong: set[Rule] = set()
        for (edit, key), urls in self._groups.items():
            shown = {self._texts[url] for url in urls}
            patterns = patterns_for(key)
            rules = [(edit, pattern) for pattern in patterns]
            if len(shown.intersection(self._kept)) > 1:
                wrong.update(rules)
            elif len(urls) > 1 and len(shown) == 1:
                for rule in rules:
                    speaking[rule] += shown
                members[rules[-1]] += len(urls) - 1
        right = {rule for rule, number in members.items() if number >= CROWD}
        return (right | {rule for rule, shown in speaking.items() if _is_enough(rule, shown)}) - wrong

    def _saved(self, groups: Iterable[tuple[Edit, Parts]], texts: Iterable[bytes]) -> int:
        """Return how many requests are left out if one is made for each text of connected *groups*."""
        wanted = set(texts)
        parents = {url: url for url in self._texts}

        def root(url: str) -> str:
            while parents[url] != url:
                parents[url] = parents[parents[url]]
                url = parents[url]
            return url

        for group in groups:
            first: dict[bytes, str] = {}
            for url in sorted(self._groups[group]):
                text = self._texts[url]
                if text in wanted:
                    parents[root(url)] = root(first.setdefault(text, url))
        return len(parents) - len(set(map(root, parents)))


def _is_enough(rule: Rule, shown: list[bytes]) -> bool:
    """Return whether so many groups, which show these pages, are enough for a rule."""
    pages = len(set(shown))
    is_of_few = not rule[1].endswith("*") and len(shown) >= MANY_GROUPS and pages >= FEW_PAGES
    return pages >= TRIAL or is_of_few
