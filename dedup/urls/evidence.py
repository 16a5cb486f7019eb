"""What speaks for a rule and what against it, and the state that follows.  Pure: no clock, no storage.

A `Tally` is what one run has seen.  The state of a rule is a function of the tallies of all runs, in the
order of the runs; to forget a run is to leave its tally out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

# Groups, and canonicals, from which on a rule is listed, and from which on it is tested.
CANDIDATE, TRIAL = 3, 10
# Right predictions in a row from which on it acts, fewer where site or name declare it, and on so
# many pages.
RIGHT, RIGHT_DECLARED, PAGES = 30, 10, 10
# Groups that let a rule for one path be tested although they show few pages, and how few.
MANY_GROUPS, FEW_PAGES = 20, 5
# As many of the right predictions may come from replaying a crawl at its end.
REPLAYED = 20
# A rule that was contradicted so often is given up.
MOST_WRONG = 2
_KEPT, _KEPT_WRONGS, _KEPT_LOOKS = 64, 4, 128
# Pages of a place that a rule is right about before it acts there; or places of its folder, where
# the names of pages differ.
LOOKS, PLACES = 3, 10


class State(StrEnum):
    """What a rule does: only `active` ones withhold, `trial` and `suspended` ones predict."""

    SEEN = "seen"
    CANDIDATE = "candidate"
    TRIAL = "trial"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    REFUTED = "refuted"
    RETIRED = "retired"
    OFF = "off"

    @property
    def predicts(self) -> bool:
        """Whether it says of each page what it repeats, before the page is there."""
        return self in (State.TRIAL, State.ACTIVE, State.SUSPENDED)


@dataclass(frozen=True, slots=True)
class Wrong:
    """What contradicts a rule: the pages of two URLs that are one by the rule.

    *group* is the hash of their common key, *path* the pattern of its path.  *is_final* says that there
    is no second chance: the rule was not tested yet, or it hides what nothing else leads to.
    """

    group: int
    path: str
    url: str
    other: str
    reason: str
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """What one run has seen of one rule.

    *groups* are pairs of hashes, of the key of a group and of its one canonical.  *right* are the hashes
    of what was rightly predicted since the last prediction that was wrong, *since* counts these
    predictions and *rights* all.  *looks* are the hashes of a folder and of a place in it, and how often
    a page there was as the rule says, at most `LOOKS`.  *replayed* counts the predictions that would
    have been right, at most `REPLAYED`; *doubts* are those whose pages led on, while nobody knows yet
    whether only they did.  It *is_crowded* if one group has very many members.  *examples* are pairs of
    URLs that show the same page.  No more is kept of anything than it takes to decide.
    """

    groups: tuple[tuple[int, int], ...] = ()
    right: tuple[int, ...] = ()
    since: int = 0
    rights: int = 0
    wrongs: tuple[Wrong, ...] = ()
    unclear: int = 0
    withheld: int = 0
    is_declared: bool = False
    examples: tuple[tuple[str, str], ...] = ()
    looks: tuple[tuple[int, int, int], ...] = ()
    replayed: int = 0
    doubts: int = 0
    is_crowded: bool = False

    def with_look(self, folder: int, place: int) -> Tally:
        """Return it with one more page of a *place* that is as the rule says."""
        looks = {one[1]: one for one in self.looks}
        count = looks[place][2] if place in looks else 0
        is_known = sum(one[0] == folder for one in self.looks) >= PLACES
        if count >= LOOKS or (not count and (is_known or len(looks) >= _KEPT_LOOKS)):
            return self
        looks[place] = (folder, place, count + 1)
        return replace(self, looks=tuple(looks.values()))

    def with_group(self, key: int, canonical: int, example: tuple[str, str]) -> Tally:
        """Return it with one more group of one canonical."""
        if len(self.groups) >= _KEPT or (key, canonical) in self.groups:
            return self
        examples = self.examples if len(self.examples) > 1 else (*self.examples, example)
        return replace(self, groups=(*self.groups, (key, canonical)), examples=examples)

    def with_right(self, page: int) -> Tally:
        """Return it with one more right prediction; *page* is what it was about."""
        right = self.right
        if page not in right and len(right) < _KEPT:
            right = (*right, page)
        return replace(self, right=right, since=self.since + 1, rights=self.rights + 1)

    def with_wrong(self, wrong: Wrong) -> Tally:
        """Return it with what contradicts it; a group contradicts once."""
        if len(self.wrongs) >= _KEPT_WRONGS or any(one.group == wrong.group for one in self.wrongs):
            return self
        return replace(self, wrongs=(*self.wrongs, wrong), right=(), since=0, replayed=0)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return self == Tally()


class RuleStanding(StrEnum):
    """What a person has said of a rule."""

    LEARNED = ""
    PINNED = "pinned"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What all runs together say of a rule."""

    groups: int = 0
    canonicals: int = 0
    right_since: int = 0
    right_pages: int = 0
    rights: int = 0
    wrongs: tuple[Wrong, ...] = ()
    unclear: int = 0
    withheld: int = 0
    is_declared: bool = False
    examples: tuple[tuple[str, str], ...] = ()
    replayed: int = 0
    doubts: int = 0
    is_crowded: bool = False
    right_now: int = 0
    """Right predictions of the last run; *right_since* has those of all."""

    @property
    def except_paths(self) -> frozenset[str]:
        """The patterns of paths on which it was wrong: there it says nothing any more."""
        return frozenset(wrong.path for wrong in self.wrongs)


def evidence_of(tallies: Iterable[Tally]) -> Evidence:
    """Return what *tallies*, in the order of their runs, say together."""
    seen = tuple(tallies)
    groups = dict(pair for one in seen for pair in one.groups)
    wrongs: dict[int, Wrong] = {}
    for wrong in (wrong for one in seen for wrong in one.wrongs):
        wrongs.setdefault(wrong.group, wrong)
    since = seen[max((run for run, one in enumerate(seen) if one.wrongs), default=0) :]
    return Evidence(
        groups=len(groups),
        canonicals=len(set(groups.values())),
        right_since=sum(one.since for one in since),
        right_pages=len({page for one in since for page in one.right}),
        right_now=seen[-1].since if seen else 0,
        rights=sum(one.rights for one in seen),
        wrongs=tuple(wrongs.values()),
        unclear=sum(one.unclear for one in seen),
        withheld=sum(one.withheld for one in seen),
        doubts=sum(one.doubts for one in seen),
        replayed=max((one.replayed for one in since), default=0),
        is_crowded=any(one.is_crowded for one in seen),
        is_declared=any(one.is_declared for one in seen),
        examples=tuple(pair for one in seen for pair in one.examples)[:2],
    )


def tested_by(tallies: Iterable[Tally]) -> frozenset[int]:
    """Return the places, and the folders, where pages were seen to be as a rule says."""
    looks: Counter[tuple[int, int]] = Counter()
    for tally in tallies:
        for folder, place, count in tally.looks:
            looks[folder, place] += count
    folders = Counter(folder for folder, _ in looks)
    places = {place for (_, place), count in looks.items() if count >= LOOKS}
    return frozenset(places.union(folder for folder, count in folders.items() if count >= PLACES))


def state_of(
    evidence: Evidence,
    standing: RuleStanding = RuleStanding.LEARNED,
    *,
    is_known: bool = False,
    is_narrow: bool = False,
) -> State:
    """Return the state of a rule; *is_known* says that its name is one of tracking or sessions.

    *is_narrow* says that it is for one path only: then few pages with many addresses let it be tested,
    and twice the predictions of earlier runs, and some of the last one, let it act.  What a person has
    said holds whatever the evidence is.
    """
    if standing in (RuleStanding.OFF, RuleStanding.PINNED):
        return State.OFF if standing is RuleStanding.OFF else State.ACTIVE
    if any(wrong.is_final for wrong in evidence.wrongs):
        return State.REFUTED
    if len(evidence.wrongs) >= MOST_WRONG:
        return State.RETIRED
    is_of_few = is_narrow and not evidence.wrongs and shows_few_pages(evidence)
    if not (is_of_few or _reaches(evidence, TRIAL) or evidence.wrongs):
        return State.CANDIDATE if _reaches(evidence, CANDIDATE) else State.SEEN
    enough = RIGHT_DECLARED if is_known or evidence.is_declared else RIGHT
    is_proven = _is_proven_again(evidence) if is_of_few else _is_proven(evidence, enough)
    if is_proven and not evidence.doubts:
        return State.ACTIVE
    return State.SUSPENDED if evidence.wrongs else State.TRIAL


def shows_few_pages(evidence: Evidence) -> bool:
    """Return whether many addresses of few pages speak for a rule, and not many pages."""
    is_enough = evidence.groups >= MANY_GROUPS and evidence.canonicals >= FEW_PAGES
    return not _reaches(evidence, TRIAL) and (evidence.is_crowded or is_enough)


def _is_proven_again(evidence: Evidence) -> bool:
    """Return whether earlier runs have proven it, and the last one has not found it changed."""
    before = evidence.right_since - evidence.right_now
    return before >= 2 * RIGHT and evidence.right_now >= RIGHT_DECLARED


def _is_proven(evidence: Evidence, enough: int) -> bool:
    pages = max(evidence.right_pages, evidence.canonicals if evidence.replayed else 0)
    live = evidence.right_since
    return live + evidence.replayed >= enough and live >= RIGHT_DECLARED and pages >= PAGES


def _reaches(evidence: Evidence, number: int) -> bool:
    return evidence.groups >= number and evidence.canonicals >= number
