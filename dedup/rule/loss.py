"""Pages are duplicates if little would be lost with them: few words that are on no kept page.

Similarity alone does not tell: a page with a text of its own inside the frame of its site is like its
neighbours.  Measured on whole sites whose drops were read (docs/explanation/judging.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt

import numpy as np

from dedup import native
from dedup.recipes import sample
from dedup.recipes.config import DedupConfig
from dedup.recipes.pairs import of_codes, without_numbers
from dedup.recipes.sample import MOST, MOST_OF_SITE, SAMPLED_BYTES, comparable, of_site, places
from dedup.recipes.sketch import BINS
from dedup.recipes.traits import UNTITLED, news, other_pairs, title_in
from dedup.rule.similarity import SimilarityVerifier, similarity_of
from dedup.rule.site import SiteContext
from dedup.values.fingerprint import NAMED, Fingerprint
from dedup.values.match import Check

FEW, OWN, ELSEWHERE, LOST = "few_words", "own_words", "elsewhere", "lost_words"

# So few words are hardly a text of their own.
FEW_WORDS = 15
# So few, and of a page of few words so small a share, are lost where a single word is changed; that
# alone makes no text.
LITTLE_WORDS, LITTLE_SHARE = 5, 1 / 10
# However long a page is, more words than this would be a text of their own.
MOST_WORDS = 100
# A long page may lose so many times `max_lost_words` at most: a lower setting holds for it too.
MOST_TIMES = 2.5
# No page loses more than this share of its words, and of those that are not common on its site.
MOST_SHARE = 1 / 3
# What two pages must share of what is not common on their site, where more than a few words are lost.
OWN_SIMILARITY = 0.75
# With fewer pages of a site, it is not known what is common on it.
KNOWN_PAGES = 100
# With so many it is known well enough to tell what stands nowhere, and for an edit of a long page: under
# the same title the two share more, and no third page has what they share.
SOME_PAGES, SIMILARITY_OF_EDITS = 20, 0.8
LONG_PAGE = 200
# What two pages share is the frame of a series, and no text of theirs, if so many other pages have it,
# and if they have two titles, as two classes that inherit the same members have; or if both are long and
# each has more than this share of its words alone.
PAGES_OF_SERIES, SHARE_OF_PART = 2, 0.03
# So few words may be on no kept page if all the others are on one, and no more than this share of the
# words that are not common on the site.
MISSING_WORDS, MISSING_SHARE = 8, 1 / 4
# Under another title more words than that are a sentence that tells the page from its like, if they are
# also more than this share of those that are not common on the site: the first where no more than a few
# words are lost.  In a longer text they are the edit of a release, whose title tells its number.
SENTENCE_SHARES = 1 / 32, 1 / 16
# Two pages with so many other numbers are two records, such as two matches or two models.  Under one
# title, clocks and counters make some, and in a long text versions, dates and notes do.
NEW_NUMBERS, NEW_NUMBERS_OF_ONE_TITLE, WORDS_A_NUMBER = 2, 4, 250
# Under one title they are also so large a share of the numbers of the page: an article whose dates were
# corrected is the same one.  In a frame that is not known yet, the numbers of other pages may stand.
SHARE_OF_NUMBERS = 1 / 4
# Where the numbers are others, so few words may be on no kept page.
MISSING_OF_RECORD = 3
# A page is kept for one pair of words that stands on no page kept, and a long one for one in so many
# words of its own, up to so many.  One without a title and with hardly a word of its own, such as a
# login wall, names another page with one pair; and the edit of a long page has such a share of them, but
# no new code and no new date.
WORDS_A_PAIR, PAIRS_OF_LONG = 250, 4
STUB, PAIRS_OF_STUB = 20, 2
PAIRS_OF_EDIT = 1 / 16
# With fewer sampled shingles than this, words that are nowhere else can be missed: of a page, and of
# what would be lost with it.
LEAST_SAMPLED, LEAST_LOST_SAMPLED = 8, 3
# With so many it is told how much of a page is its own: an error there keeps a page.
LEAST_OWN_SAMPLED = 3
# Of pages whose sample was cut off, estimates err more: a drop is refused where even the upper end of
# the estimate is not allowed.  Of 100 such pages that lose more, 99 are kept.
DEVIATIONS = 2.33
# Losses this near to the bound are borderline, in words.
EDGE_WORDS = 15
_UNKNOWN = "; nothing is known here of its site"


@dataclass(frozen=True, slots=True)
class LossVerifier:
    """Asks for similarity, and then how many words of the page would be lost with it.

    The page passes in one of three ways.  It would lose at most a few words that are not on the kept
    page.  Or it would lose more, within the bounds of the configuration, and is like the kept page in
    what is not common on their site.  Or its words are on other kept pages, as those of a list are.
    The first two ways are closed where that is more than a third of what the page has of its own, and
    where its numbers are others: then it is another record in the frame of the same table.  All three
    are closed where two words, or the parts of a date, stand beside each other that do so on no page
    kept; and a number with what stands beside it, where the title is another one, or that of many.
    """

    config: DedupConfig

    @property
    def rule(self) -> str:
        """See `Verifier`."""
        config = self.config
        similar = SimilarityVerifier(config).rule
        return (
            f"{similar} and few of their words would be lost: at most {FEW_WORDS}; or at most "
            f"{config.max_lost_words} or {config.max_lost_share:.0%}, for pages that share "
            f"{OWN_SIMILARITY:g} of what is not common on their site; or words of other pages kept"
        )

    @property
    def bounds(self) -> Mapping[str, float]:
        """See `Verifier`."""
        return {"similarity": self.config.min_similarity, "lost": self.config.max_lost_words}

    def check(self, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> Check:
        """See `Verifier`."""
        check = self._by_loss(kept, page, site)
        if not (check.passes and (new := _new_pairs(kept, page, site, check))):
            return check
        sentence = f"{check.sentence} Pairs of its words that stand on no page kept: {new}."
        return check._replace(passes=False, finding=LOST, margin=0.0, sentence=sentence)

    def _by_loss(self, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> Check:
        check = SimilarityVerifier(self.config).check(kept, page, site)
        lost, most = _lost_at_most(kept, page, check.similarity)
        told = round(lost)
        check = check._replace(lost=told)
        if not check.passes:
            return check
        allowed = allowed_words(page, self.config)
        check = check._replace(margin=min(check.margin, (allowed - most) / EDGE_WORDS))
        bound = float(MISSING_WORDS)
        if most > allowed:
            may_be = f", and it may be {most:.0f}" if lost <= allowed else ""
            why = f"at most {allowed:.0f} are allowed{may_be}"
        elif new := new_numbers(kept, page, site):
            why, bound = f"{new} of its numbers are not on that page", MISSING_OF_RECORD
        elif is_own := _is_much(told, page, site) or _is_text(told, kept, page, site):
            why = is_own
        elif told <= FEW_WORDS:
            return _told(check, page, FEW, "too few for a text of their own")
        else:
            if site.is_known:
                check = check._replace(own=own_similarity(kept, page, site), site_pages=site.pages)
            is_like, why = _is_like(kept, page, site, check)
            why = f"at most {allowed:.0f} are allowed{why}"
            if is_like:
                return _told(check, page, OWN, why)
        return _elsewhere(check, kept, page, site, why, min(bound, allowed))

    def may_pass(self, page: Fingerprint, sketches: Sequence[bytes]) -> list[bool]:
        """See `Verifier`; what is lost is asked later, of those that are left."""
        return SimilarityVerifier(self.config).may_pass(page, sketches)

    def sieve(self, page: Fingerprint, site: SiteContext) -> Callable[[Fingerprint], bool]:
        """See `Verifier`; what is asked of the page and its *site* alone is asked once."""
        allowed, little = allowed_words(page, self.config), _little(page)
        much = cache(lambda: MOST_SHARE * own_words(page, site))
        elsewhere = cache(lambda: _stands_elsewhere(page, site, min(MISSING_WORDS, allowed)))

        def may_pass(kept: Fingerprint) -> bool:
            lost, most = _lost_at_most(kept, page, similarity_of(kept.sketch, page.sketch))
            if most <= allowed and (round(lost) <= little or round(lost) <= much()):
                return True
            return elsewhere()

        return may_pass

    def loosened(self) -> DedupConfig:
        """See `Verifier`."""
        config = SimilarityVerifier(self.config).loosened()
        return replace(config, max_lost_words=config.max_lost_words + EDGE_WORDS)


def _is_like(kept: Fingerprint, page: Fingerprint, site: SiteContext, check: Check) -> tuple[bool, str]:
    """Return whether two pages are alike in what is not common on their site, and why."""
    if not site.is_known:
        return True, _UNKNOWN
    if site.pages < KNOWN_PAGES:
        is_edit, why = _is_edit(kept, page, site, check)
        return is_edit, why or f" where {KNOWN_PAGES} pages of the site are known"
    if is_part := _is_part(kept, page, site, check):
        return False, is_part
    if check.own is None:
        return True, ""
    asked = f"where pages share {OWN_SIMILARITY:g} of what is not common on their site"
    return check.own >= OWN_SIMILARITY, f" {asked}; these share {check.own:.2f}"


def _is_edit(kept: Fingerprint, page: Fingerprint, site: SiteContext, check: Check) -> tuple[bool, str]:
    """Return whether *page* is an edit of *kept*, where little is known of its *site*, and why."""
    found = news(kept.traits, page.traits)
    is_long = words_of(page) >= LONG_PAGE
    if not (is_long and found and found.has_same_title and site.pages >= SOME_PAGES):
        return False, ""
    if is_part := _is_part(kept, page, site, check):
        return False, is_part
    share = check.similarity if check.own is None else check.own
    return share >= SIMILARITY_OF_EDITS, f"; they share {share:.2f}, which no other page of the site has"


def _is_part(kept: Fingerprint, page: Fingerprint, site: SiteContext, check: Check) -> str:
    """Return why *page* is a part of a series, as *kept* is, "" if it is not."""
    found, words = news(kept.traits, page.traits), words_of(page)
    has_same_title = found is None or found.has_same_title
    if has_same_title and (words < LONG_PAGE or (check.lost or 0) <= SHARE_OF_PART * words):
        return ""
    if (others := _pages_with_both(kept, page, site)) < PAGES_OF_SERIES:
        return ""
    return f"; what they share is on {others:.0f} pages, as in a series"


def _pages_with_both(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> float:
    """Return on how many pages of *site*, in the middle, that stands which both have of their own."""
    of_page, of_kept = comparable(of_site(page.sample), of_site(kept.sample), MOST_OF_SITE)
    is_own = ~site.common(of_site(page.sample))[: len(of_page)] & (places(of_page, of_kept) >= 0)
    counts = site.on(of_site(page.sample))[: len(of_page)][is_own]
    return float(np.median(counts)) if len(counts) else 0.0


def _is_much(lost: int, page: Fingerprint, site: SiteContext) -> str:
    """Return why the words that *page* would lose are much of what it has of its own, "" if not.

    A few words alone inside the frame of a site are a stub, such as a login wall.  A record that is
    hardly more than named by its HTML has nothing but its name, and may lose nothing.
    """
    if lost <= _little(page):
        return ""
    own = own_words(page, site)
    if lost <= MOST_SHARE * own:
        return ""
    return f"that is much of the about {own:.0f} that are not common on its site"


def _little(page: Fingerprint) -> float:
    """Return how many words are not much, whatever *page* has of its own."""
    little = min(LITTLE_WORDS, LITTLE_SHARE * words_of(page))
    return {None: little, NAMED: 0}.get(page.inside, FEW_WORDS)


def _is_text(lost: int, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> str:
    """Return why the few words that *page* would lose are a text of its own, "" if they are none.

    One sentence tells what each page of a reference is about, or from which other product one differs.
    """
    if lost <= MISSING_WORDS or not site.is_known:
        return ""
    found = news(kept.traits, page.traits)
    missing = missing_words(page, site)
    if found is None or found.has_same_title or missing is None:
        return ""
    least = SENTENCE_SHARES[lost > FEW_WORDS] * own_words(page, site)
    return "its title is another one" if min(lost, missing) > max(MISSING_WORDS, least) else ""


def _elsewhere(  # noqa: PLR0917
    check: Check, kept: Fingerprint, page: Fingerprint, site: SiteContext, why: str, bound: float
) -> Check:
    """Return what the pages of *site* say, where the kept page is not enough; *why* says why not.

    At most *bound* words of the page may stand on no page that was kept.
    """
    check = check._replace(margin=min(check.margin, 0.0))
    if not site.is_known:
        return _told(check, page, LOST, f"{why}{_UNKNOWN}")
    missing = missing_words(page, site)
    if missing is None:
        return _told(check, page, LOST, why)
    check = check._replace(missing=round(missing), site_pages=site.pages)
    if _stands_elsewhere(page, site, bound):
        if _lost_sampled(kept, page) < LEAST_LOST_SAMPLED:
            return _told(check, page, LOST, why)
        check = check._replace(margin=0.0)
        but = f" but about {missing:.0f}" if check.missing else ""
        return _told(check, page, ELSEWHERE, f"all{but} stand on other pages kept")
    return _told(check, page, LOST, f"{why}; about {missing:.0f} stand on no page kept")


def _stands_elsewhere(page: Fingerprint, site: SiteContext, bound: float) -> bool:
    """Return whether at most *bound* words of *page*, and few of its own, stand on no page kept."""
    missing = missing_words(page, site) if site.is_known else None
    if missing is None or max(missing, _most_missing(page, site)) > bound:
        return False
    return missing <= MISSING_SHARE * own_words(page, site)


def _new_pairs(kept: Fingerprint, page: Fingerprint, site: SiteContext, check: Check) -> int:
    """Return how many pairs of words of *page* stand on no page of *site* that was kept.

    0 where they are so few that they say little.  Where little is known of the site, only words that
    stand on other pages and pages under a title of many are asked.  Under the title of the page *kept*,
    unless it is that of many, numbers are counters, but for those of a date; so they are of a page
    without a title, but where its words are said to stand on other pages.
    """
    found, others = news(kept.traits, page.traits), other_pairs(kept.traits, page.traits)
    if not (found and others):
        return 0
    is_elsewhere, is_untitled = check.finding == ELSEWHERE, title_in(page.traits) == UNTITLED
    is_of_many = (
        found.has_same_title and (is_elsewhere or not is_untitled) and _is_common_title(page, site)
    )
    if site.pages < SOME_PAGES and not (is_elsewhere or is_of_many):
        return 0
    own = own_words(page, site)
    least = max(1, min(own // WORDS_A_PAIR, PAIRS_OF_LONG))
    if found.has_same_title:
        if not is_of_many:
            others = without_numbers(others)
        if own < STUB and is_untitled:
            least = PAIRS_OF_STUB
        elif words_of(page) >= LONG_PAGE and not (is_of_many or _is_part(kept, page, site, check)):
            new_codes = np.count_nonzero(site.unknown(of_codes(others)))
            if new_codes < least:
                least = own * PAIRS_OF_EDIT
    new = int(np.count_nonzero(site.unknown(others)))
    return new if new >= least else 0


def _is_common_title(page: Fingerprint, site: SiteContext) -> bool:
    """Return whether many pages of *site* have the title of *page*: it tells no two of them alike."""
    return bool(site.common(title_in(page.traits)).any())


def _lost_sampled(kept: Fingerprint, page: Fingerprint) -> int:
    """Return how much of what *page* would lose is in its sample."""
    return _lost_hashes(of_site(page.sample), of_site(kept.sample), MOST_OF_SITE)[1]


def _lost_hashes(page: bytes, kept: bytes, most: int = MOST) -> tuple[int, int]:
    compiled = native.search()
    found: tuple[int, int] = (compiled or sample).lost_hashes(page, kept, most)
    return found


def lost_words(
    kept: Fingerprint, page: Fingerprint, similarity: float, deviations: float = 0.0
) -> float:
    """Return about how many words of *page* are not on the page *kept*, 0 or more.

    With *deviations* it is how many they are at most: so many standard deviations above the estimate.

    *similarity* is that of their sketches: if n and m shingles share J of all, J(n + m) / (1 + J) are on
    both.  Their samples tell it too, and better for long pages; the two estimates are weighted by their
    variances.  A changed word inside a text is lost with its shingles, and counts as up to four words.
    What the page has more than the kept page is lost for certain.
    """
    shingles, more = shingles_of(page), shingles_of(page) - shingles_of(kept)
    # As many successes and failures are added as a test by *deviations* asks for, see `sketch.agrees`.
    added = deviations**2
    alike = (similarity * BINS + added / 2) / (BINS + added)
    lost, variance = _by_sketches(shingles_of(kept), shingles, alike)
    of, gone = _lost_hashes(page.sample, kept.sample)
    if of >= LEAST_SAMPLED:
        other, other_variance = _by_samples(gone, of, shingles, added)
        lost = (lost * other_variance + other * variance) / (variance + other_variance)
        variance = variance * other_variance / (variance + other_variance)
    lost = min(max(more, lost + deviations * sqrt(variance)), shingles)
    return lost * words_a_token(page)


def _lost_at_most(kept: Fingerprint, page: Fingerprint, similarity: float) -> tuple[float, float]:
    """Return about how many words are lost and how many at most, 1 or more: or the texts were equal."""
    lost = most = max(lost_words(kept, page, similarity), 1.0)
    if deviations := _deviations(page.sample, MOST):
        most = max(lost_words(kept, page, similarity, deviations), 1.0)
    return lost, most


def _by_sketches(of_kept: int, of_page: int, similarity: float) -> tuple[float, float]:
    """Return how many shingles are lost by sketches, and the variance of that."""
    both = similarity * (of_page + of_kept) / (1 + similarity)
    smooth = (similarity * BINS + 1) / (BINS + 2)  # or what is alike would have no variance
    slope = (of_page + of_kept) / (1 + smooth) ** 2
    return max(0.0, of_page - both), slope**2 * smooth * (1 - smooth) / BINS


def _by_samples(lost: int, of: int, shingles: int, added: float) -> tuple[float, float]:
    """Return the same by samples: of the *of* shingles that are sampled, *lost* are lost."""
    smooth = (lost + 1) / (of + 2)
    unseen = max(0.0, 1 - of / max(shingles, 1))
    share = (lost + added * unseen / 2) / (of + added * unseen)
    return shingles * share, shingles**2 * smooth * (1 - smooth) / of * unseen


def allowed_words(page: Fingerprint, config: DedupConfig) -> float:
    """Return how many words *page* may lose by the bounds of *config*."""
    words = words_of(page)
    share = min(config.max_lost_share * words, MOST_TIMES * config.max_lost_words, MOST_WORDS)
    return min(max(config.max_lost_words, share), MOST_SHARE * words)


def own_words(page: Fingerprint, site: SiteContext) -> float:
    """Return about how many words of *page* are its own: those that are not common on its *site*.

    Of a page that says so little that the frame of its site was read too, those inside that frame.
    """
    inside = words_of(page) if page.inside is None else page.inside
    common = site.common(of_site(page.sample))
    of_frame = np.count_nonzero(common)
    if len(common) < LEAST_OWN_SAMPLED or not of_frame:
        return inside
    return min(inside, (1 - of_frame / len(common)) * shingles_of(page) * words_a_token(page))


def new_numbers(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> int:
    """Return how many numbers of *page* are not on the page *kept*, 0 if so few that they say little."""
    found = news(kept.traits, page.traits)
    if found is None:
        return 0
    least = NEW_NUMBERS_OF_ONE_TITLE if found.has_same_title else NEW_NUMBERS
    if found.numbers < max(least, words_of(page) / WORDS_A_NUMBER):
        return 0
    is_much = found.numbers >= SHARE_OF_NUMBERS * found.of or not found.has_same_title
    return found.numbers if is_much or (site.is_known and site.pages < KNOWN_PAGES) else 0


def missing_words(page: Fingerprint, site: SiteContext) -> float | None:
    """Return about how many words of *page* stand on no page of its *site* that was kept.

    None where its sample of shingles is too small to tell, as that of a name is.
    """
    unknown = site.unknown(of_site(page.sample))
    if page.inside == NAMED or len(unknown) < LEAST_SAMPLED:
        return None
    share = np.count_nonzero(unknown) / len(unknown)
    return share * shingles_of(page) * words_a_token(page)


def _most_missing(page: Fingerprint, site: SiteContext) -> float:
    """Return how many `missing_words` there are at most, 1 or more, as `lost_words` does."""
    unknown = site.unknown(of_site(page.sample))
    deviations = _deviations(page.sample, MOST_OF_SITE)
    missing, variance = _by_samples(int(unknown.sum()), len(unknown), shingles_of(page), deviations**2)
    return max((missing + deviations * sqrt(variance)) * words_a_token(page), 1.0)


def _deviations(sample: bytes, most: int) -> float:
    """Return how many deviations above an estimate by at most *most* hashes a loss may be."""
    return DEVIATIONS if len(sample) >= most * SAMPLED_BYTES else 0.0


def own_similarity(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> float | None:
    """Return what two pages share of those shingles that are not common on their site, 0 to 1.

    None where nothing on them is common: then it is what they share of all.  0 where everything is.
    """
    here, there = of_site(page.sample), of_site(kept.sample)
    if not (site.common(here).any() or site.common(there).any()):
        return None
    of_page, of_kept = comparable(here, there, MOST_OF_SITE)
    own_here = ~site.common(here)[: len(of_page)]
    own_there = ~site.common(there)[: len(of_kept)]
    of_page, of_kept = of_page[own_here], of_kept[own_there]
    both = int((places(of_page, of_kept) >= 0).sum())
    return both / max(len(of_page) + len(of_kept) - both, 1)


def shingles_of(page: Fingerprint) -> int:
    """Return how many different shingles *page* has; for rows that do not tell, how many at most."""
    return page.shingles if page.words else max(page.tokens - 3, 0)


def words_of(page: Fingerprint) -> int:
    """Return how many words *page* has; for rows that do not tell, how many tokens."""
    return page.words or page.tokens


def words_a_token(page: Fingerprint) -> float:
    """Return how many words a token, and so a shingle, of *page* stands for: 1, or less (0 to 1)."""
    return words_of(page) / page.tokens if page.tokens else 1.0


def _told(check: Check, page: Fingerprint, finding: str, why: str) -> Check:
    because = f": {why}" if check.lost else ""
    sentence = f"{check.sentence} The page would lose {loses(check.lost, words_of(page))}{because}."
    return check._replace(passes=finding != LOST, finding=finding, sentence=sentence)


def loses(lost: int | None, words: int) -> str:
    """Return how much is lost, in words.

    >>> loses(12, 1640), loses(0, 1640)
    ('about 12 of 1,640 words', 'nothing')
    """
    return f"about {lost:,} of {words:,} words" if lost else "nothing"
