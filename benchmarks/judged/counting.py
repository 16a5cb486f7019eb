"""What is counted of the drops of a rule, and the rule that is chosen by it.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.judged.labels import LABELS, OF_DROPS, RIGHT, WRONG, Label

# A reader called a drop arguable, and not wrong, where less than some 15 words were lost with it.
MOST_LOST = 15
# What a rule may do to the sites that it is chosen on.
MOST_WRONG, MOST_HEAVY = 0.15, 10


@dataclass(frozen=True, slots=True)
class Drop:
    """A page that was dropped, and the one that it was dropped for ("": unknown).

    *is_near* says that no page that is kept has the same bytes or the same tokens.  Of such a page,
    *nowhere* is how many of its words stand on no page kept at the end, *beside* how many are not on
    *other*; *excerpt* is the beginning of the words of *nowhere* if these are over `MOST_LOST`, else
    of *beside*.
    """

    page: str
    other: str
    is_near: bool
    nowhere: int
    beside: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule dropped of a site, and the seconds that the index took."""

    site: str
    drops: tuple[Drop, ...]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What a rule did to one site or several.

    *by_page* counts for each label the pages that were dropped for any page, *by_pair* those for the
    page of the label, of as many as there are (*of*).  *wrong* are drops of labelled pages that are
    wrong: of label C for the page of the label, or of any label for another page with more than
    `MOST_LOST` words not on that page.  *nowhere* is how many words of the near drops stand on no page
    that was kept, *heavy* how many of these drops lose more than `MOST_LOST` such words.
    """

    by_page: Mapping[str, int] = field(default_factory=dict)
    by_pair: Mapping[str, int] = field(default_factory=dict)
    of: Mapping[str, int] = field(default_factory=dict)
    wrong: int = 0
    drops: int = 0
    near: int = 0
    nowhere: int = 0
    heavy: int = 0
    seconds: float = 0.0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            by_page=_added(self.by_page, other.by_page),
            by_pair=_added(self.by_pair, other.by_pair),
            of=_added(self.of, other.of),
            wrong=self.wrong + other.wrong,
            drops=self.drops + other.drops,
            near=self.near + other.near,
            nowhere=self.nowhere + other.nowhere,
            heavy=self.heavy + other.heavy,
            seconds=self.seconds + other.seconds,
        )

    @property
    def is_allowed(self) -> bool:
        """Whether a rule may be chosen that does this."""
        return (
            self.by_page.get(WRONG, 0) <= MOST_WRONG * self.of.get(WRONG, 0) and self.heavy <= MOST_HEAVY
        )


def _added(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return {name: a.get(name, 0) + b.get(name, 0) for name in LABELS if name in a or name in b}


def figures(outcome: Outcome, labels: Sequence[Label]) -> Figures:
    """Return the figures of a site, of which *labels* are all labels."""
    drops = {drop.page: drop for drop in outcome.drops}
    names = [name for name in LABELS if any(label.label == name for label in labels)]
    near = [drop for drop in outcome.drops if drop.is_near]
    return Figures(
        by_page=_counted(names, [label for label in labels if is_dropped(label, drops)]),
        by_pair=_counted(names, [label for label in labels if is_pair_dropped(label, drops)]),
        of=_counted(names, labels),
        wrong=sum(_is_wrong(label, drops) for label in labels if label.label in OF_DROPS),
        drops=len(drops),
        near=len(near),
        nowhere=sum(drop.nowhere for drop in near),
        heavy=sum(drop.nowhere > MOST_LOST for drop in near),
        seconds=outcome.seconds,
    )


def _counted(names: Sequence[str], labels: Sequence[Label]) -> dict[str, int]:
    return {name: sum(label.label == name for label in labels) for name in names}


def is_dropped(label: Label, drops: Mapping[str, Drop]) -> bool:
    """Return whether the page of *label* is among *drops*, or the other one was dropped for it."""
    return label.page in drops or is_pair_dropped(label, drops)


def is_pair_dropped(label: Label, drops: Mapping[str, Drop]) -> bool:
    """Return whether one page of *label* was dropped for the other: in another order, another one is."""
    return any(
        page in drops and drops[page].other == other
        for page, other in ((label.page, label.other), (label.other, label.page))
    )


def elsewhere(label: Label, drops: Mapping[str, Drop]) -> Drop | None:
    """Return the drop of the page of *label* if it was dropped for another page than that of the label."""
    drop = drops.get(label.page)
    return None if drop is None or is_pair_dropped(label, drops) else drop


def _is_wrong(label: Label, drops: Mapping[str, Drop]) -> bool:
    drop = elsewhere(label, drops)
    if drop is not None:
        return drop.beside > MOST_LOST
    return label.label == WRONG and is_pair_dropped(label, drops)


def chosen(rules: Mapping[str, Figures]) -> str:
    """Return the rule that drops most of what is right to drop, among those that are allowed, "" for none.

    Of equal ones it is the one with the fewest heavy drops, then the first one.
    """
    allowed = {name: found for name, found in rules.items() if found.is_allowed}
    return max(
        allowed, key=lambda name: (allowed[name].by_page.get(RIGHT, 0), -allowed[name].heavy), default=""
    )


def left_out(sites: Mapping[str, Mapping[str, Figures]]) -> dict[str, tuple[str, Figures]]:
    """Return for each site the rule that is chosen on the others, and what it does to this one.

    *sites* has the figures of every rule by site.  Where no rule is allowed, nothing is dropped.
    """
    found = {}
    for site, here in sites.items():
        others = [rules for name, rules in sites.items() if name != site]
        rule = chosen({name: total(rules[name] for rules in others) for name in here})
        found[site] = (rule, here[rule] if rule else Figures(of=next(iter(here.values())).of))
    return found


def total(found: Iterable[Figures]) -> Figures:
    """Return the sum of figures."""
    return sum(found, Figures())
