"""The rule for two pages: does the second repeat the first?

Pages are duplicates if little would be lost with them: few words that are on no kept page.  Similarity
alone does not tell: a page with a text of its own inside the frame of its site is like its neighbours.
Measured on whole sites whose drops were read (docs/explanation/judging.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import counted
from dedup.model.fingerprint import BINS, NAMED, Fingerprint
from dedup.model.hashes import simhash_distance
from dedup.model.verdict import Canonical, Match, Reason
from dedup.native._pages import lost_hashes, similarity
from dedup.prints import fingerprinter as prints
from dedup.prints.fingerprinter import DedupConfig, Sampled, of_site, other_pairs, sampled, title_in
from dedup.reading.page import Page

Flags = NDArray[np.bool_]
Counted = NDArray[np.int64]

MIN_EQUAL_TOKENS = 4  # fewer equal ones say too little: "Not found" is not one page
# A page within so many bits of a canonical's structure simhash is a candidate as well, never more:
# structure alone drops nothing.  So many are looked at, the newest.
STRUCTURE_MAX_DISTANCE, MAX_STRUCTURE_CANDIDATES = 8, 64
MAX_CANDIDATES = 1000  # by content, the nearest

# What decided: the pages are too little alike, or else what becomes of the words that are lost.
NOT_ALIKE, FEW, OWN, ELSEWHERE = "not_alike", "few_words", "own_words", "elsewhere"
VIEW = "view"
BY_SITE = (ELSEWHERE, VIEW)  # found by what is known of the site: of two pages alone nobody can tell
LOST, MUCH, SERIES, NEW_PAIRS = "lost_words", "much_lost", "series", "new_pairs"

MIN_SIMILARITY = 0.62  # from this estimated Jaccard similarity of shingles on it can be a duplicate
# So few words may be lost, also of a page that is nearly all frame, as a login wall is, or where all
# others that are lost stand on pages kept.
FEW_WORDS = 15
MAX_LOST_SHARE, MOST_TIMES = 0.1, 2.5  # so many times `max_lost_words` would be a text of their own
# No page loses more than this share of what it has of its own: of the words not common on its site.
MOST_SHARE = 1 / 3
# Of one page there may be so many versions.  What two pages under different titles share is the frame of
# a series if so many others have it, as classes have that inherit the same members.
VERSIONS = 2
# Shingles on so many pages of a site, and on this share of them, are its frame.
COMMON_PAGES, COMMON_SHARE = 5, 0.02
LEAST_SAMPLED = 3  # with fewer sampled shingles, a sample tells nothing
# A version changes at most this share of a page, under another title the second and a few words.
EDIT_SHARE, OTHER_SHARE = 1 / 8, 1 / 20
# A page with fewer words of its own has no versions, and with fewer than the second, under a title that
# other pages have, it is a record: a copy only of a page that has all its pairs of words.
EDIT_WORDS, RECORD_WORDS = 100, 40


EMPTY, EQUAL_BYTES, EQUAL_TEXT, REORDERED = "empty", "equal_bytes", "equal_tokens", "reordered"
NO_CANDIDATE = "no_candidate"
OUTRIGHT = (EMPTY, EQUAL_BYTES, EQUAL_TEXT, REORDERED)  # found without a key and a loss

_DEFAULT = DedupConfig()


# What may be known of the site of a page


class SiteContext:
    """What is on the pages of a site that were kept before the page that is judged: here, nothing.

    A site is a host.  An index reads it in the transaction that decides, and hands it on in
    `dedup.rule.decide.Past`: a verdict depends on the pages before it alone.  A *sample* is one of
    shingles or of traits (`dedup.prints.fingerprinter`); each of its hashes has a flag or a number.
    """

    is_known = False  # whether anything can be known of the site here
    is_beside: bool = False  # whether the page kept is of another host

    @property
    def pages(self) -> int:
        """How many kept pages of the site are known."""
        return 0

    def on(self, sample: bytes) -> Counted:
        """Return on how many kept pages of the site each of *sample* is."""
        return np.zeros(len(sampled(sample)), np.int64)

    def unknown(self, sample: bytes) -> Flags:
        """Return what of *sample* is on no kept page of the site."""
        return np.asarray(self.on(sample) == 0)

    def common(self, sample: bytes) -> Flags:
        """Return what of *sample* is common on the site: the frame of its pages, not their text."""
        return np.zeros(len(sampled(sample)), bool)

    def seen(self, told: bytes) -> Counted:
        """Return how many pages tell what is *told*, dropped near copies too.

        It is a title, or the `cluster_name` the page that they were dropped for.
        """
        return self.on(told)

    def layout(self, page: Fingerprint) -> Sequence[bytes]:  # noqa: ARG002
        """Return the pairs of the newest pages kept that have exactly the structure of *page*."""
        return ()

    def beside(self, host: str) -> SiteContext:  # noqa: ARG002
        """Return what is known beside a page of *host*: what is common there counts as common, too."""
        return self


NO_SITE = SiteContext()


def told_by(sample: bytes, traits: bytes) -> bytes:
    """Return the hashes that a page tells its site: those of its shingles, title and pairs."""
    return of_site(sample) + title_in(traits) + prints.pairs_in(traits)


def told_by_copy(traits: bytes, token_digest: bytes) -> bytes:
    """Return what a dropped page tells: its title, and the name of the page it was dropped for.

    *token_digest* is that of the page that was kept.
    """
    return title_in(traits) + token_digest[: prints.SAMPLED_BYTES].ljust(prints.SAMPLED_BYTES, b"\0")


def cluster_name(kept: Fingerprint) -> bytes:
    """Return the name under which the copies of a page that was *kept* are counted."""
    return told_by_copy(kept.traits, kept.token_digest)[-prints.SAMPLED_BYTES :]


def is_common(counts: NDArray[Any], pages: int) -> Flags:
    """Return which shingles are the frame of a site of so many *pages*, by how many have each."""
    return np.asarray(counts >= max(COMMON_PAGES, COMMON_SHARE * pages))


def compare(a: Page | Fingerprint, b: Page | Fingerprint, config: DedupConfig = _DEFAULT) -> Match:
    """Return what would happen to *b* after *a* at another URL, two pages or two fingerprints.

    Nothing is known here of other pages of their site.  In a crawl, that knowledge can keep pages which
    share only what is common on the site, and drop those whose words are on other kept pages.
    """
    kept = a if isinstance(a, Fingerprint) else prints.fingerprint(a, config)
    page = b if isinstance(b, Fingerprint) else prints.fingerprint(b, config)
    return match(kept, page, config)


def match(
    kept: Fingerprint, page: Fingerprint, config: DedupConfig, site: SiteContext = NO_SITE
) -> Match:
    """Return how *page* relates to one that was *kept*: the whole rule for two pages.

    Equal bytes are an exact duplicate.  A page that has its title alone inside the frame of its site
    repeats none with another title.  The same text with `MIN_EQUAL_TOKENS` tokens or more is a
    near-duplicate, and so is a candidate, by content or structure, with which little is lost, and one of
    another structure that shows it in another frame; none of two for different languages or regions is.
    """
    if outright := _outright(kept, page):
        return outright
    found = check(kept, page, config, site)
    if not found.is_duplicate or found.finding == VIEW or is_candidate(kept, page, config):
        return found
    content, structure = ("-" if one is None else one for one in distances(kept, page))
    sentence = (
        f"The page is no candidate: content differs in {content} bits, at most {config.max_distance} "
        f"are allowed, structure in {structure}, at most {STRUCTURE_MAX_DISTANCE}."
    )
    return found._replace(reason=Reason.NEW, finding=NO_CANDIDATE, sentence=sentence)


def _outright(kept: Fingerprint, page: Fingerprint) -> Match | None:
    """Return how *page* relates to one that was *kept* where no loss has to be asked about."""
    reason, there, here, record = Reason.NEW, kept.traits, page.traits, prints.RECORD
    has_title_alone = page.inside not in {None, NAMED} and page.inside < MIN_EQUAL_TOKENS
    if page.is_empty:
        reason, finding = Reason.NOT_JUDGED, EMPTY
        sentence = "There is nothing in the page to judge."
    elif page.body_digest == kept.body_digest:
        reason, finding, sentence = Reason.EXACT_DUPLICATE, EQUAL_BYTES, "All bytes are equal."
    elif has_title_alone and not has_same_title(kept, page):
        finding = "other_title"
        sentence = "Inside the frame of its site the page has only a title, and that is another."
    elif prints.differ(there, here, record):
        finding, sentence = "other_record", "They name different records by their ids."
    elif has_equal_text(kept, page):
        reason, finding = Reason.NEAR_DUPLICATE, EQUAL_TEXT
        sentence = f"The texts are the same, with {page.tokens:,} tokens."
    elif prints.is_apart(there, here):  # whatever their texts say
        finding = "other_place"
        sentence = (
            "In a place that is marked, which tells pages apart, they are not known to say the same."
        )
    elif prints.differ(there, here, prints.VARIANT):
        finding = "other_variant"
        sentence = "Both name alternates in other languages or regions, and they are for different ones."
    elif prints.names(here, record) and not prints.names(there, record) and other_pairs(there, here):
        finding = "other_record"
        sentence = "The page names a record by its id; the other one names none, and lacks words of it."
    elif is_reordered(kept, page):
        reason, finding = Reason.NEAR_DUPLICATE, REORDERED
        sentence = f"The lines of the texts are the same, with {page.tokens:,} tokens, in another order."
    else:
        return None
    is_copy = reason in {Reason.EXACT_DUPLICATE, Reason.NEAR_DUPLICATE}
    near = distances(kept, page)
    return Match(reason, finding, sentence, float(is_copy), *near, lost=0 if is_copy else None)


# What makes a page a candidate: keys find, the loss confirms; no key makes a duplicate on its own


def is_candidate(kept: Fingerprint, page: Fingerprint, config: DedupConfig) -> bool:
    """Return whether a key leads from *page* to one that was *kept*: content, or else structure.

    Pages without content have none by structure: they all look alike.
    """
    content, structure = distances(kept, page)
    is_alike = structure is not None and structure <= STRUCTURE_MAX_DISTANCE
    return content is not None and (content <= config.max_distance or is_alike)


def distances(kept: Fingerprint, page: Fingerprint) -> tuple[int | None, int | None]:
    """Return the Hamming distances of the content and of the structure simhashes, None for none."""
    return (
        simhash_distance(kept.content_simhash, page.content_simhash),
        simhash_distance(kept.structure_simhash, page.structure_simhash),
    )


def has_equal_text(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether both have the same text, and tokens enough to mean something."""
    return page.tokens >= MIN_EQUAL_TOKENS and page.token_digest == kept.token_digest


def is_reordered(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether both say the same in the same lines, most of which follow each other in both.

    As values would not that have changed places.  The terms of their texts are the same, and all pairs.
    """
    is_like = page.content_simhash == kept.content_simhash and page.tokens == kept.tokens
    if not is_like or page.tokens < MIN_EQUAL_TOKENS or not has_same_title(kept, page):
        return False
    pairs = prints.pairs_in(page.traits)
    are_all = 0 < len(pairs) < prints.MOST_PAIRS * prints.SAMPLED_BYTES
    is_other = pairs != prints.pairs_in(kept.traits) or kept.sketch == page.sketch
    return are_all and not is_other and are_alike(page, [kept.sketch], in_order=False)[0]


def nearness(page: Fingerprint, canonical: Canonical) -> tuple[float, ...]:
    """Return the key that puts candidates in order: equal, then nearest, then oldest first."""
    kept = canonical.fingerprint
    rank = 0 if page.body_digest == kept.body_digest else 1 if has_equal_text(kept, page) else 2
    near = (inf if distance is None else distance for distance in distances(kept, page))
    return (rank, *near, canonical.id)


# What is lost


def check(kept: Fingerprint, page: Fingerprint, config: DedupConfig, site: SiteContext) -> Match:
    """Return whether *page*, which came after *kept*, repeats it: by similarity, then by what is lost.

    It may lose a few words that are not on the page kept; or more, within the bounds of *config*, if the
    two are no parts of a series; neither if that is more than a third of what it has of its own.  Or its
    words are on other kept pages, as those of a list are; or it is a view of the page kept (`_is_view`).
    But it has no pair of neighbouring words that no kept page has (`_new_pairs`), but for a version.
    """
    found = _by_loss(kept, page, config, site)
    if found.finding == NOT_ALIKE and _is_view(kept, page, config, site):
        found = _viewed(found, kept, page, site)
    if found.is_duplicate and (new := _new_pairs(kept, page, site, found)):
        told = counted(
            new, "pair of its neighbouring words tells", "pairs of its neighbouring words tell"
        )
        sentence = f"{told} it from the page kept."
        found = found._replace(reason=Reason.NEW, finding=NEW_PAIRS, sentence=sentence)
    if not found.is_duplicate and _is_relaid(
        kept, page, config, site, lambda: _beyond_layout(page, site)
    ):
        found = found._replace(
            reason=Reason.NEAR_DUPLICATE,
            finding=VIEW,
            missing=round(missing_words(kept, page, site) or 0),
            sentence=f"All pages of its layout say what would be lost, {loses(found.lost, page.words)}.",
        )
    return found


def _by_loss(kept: Fingerprint, page: Fingerprint, config: DedupConfig, site: SiteContext) -> Match:
    alike, allowed = similarity(kept.sketch, page.sketch), allowed_words(page, config)
    lost = max(lost_words(kept, page, alike), 1.0)  # or the texts were equal
    told = round(lost)
    # What is below the bound is rounded down, so that it is not shown as the bound.
    share = alike if alike >= MIN_SIMILARITY else int(100 * alike) / 100
    asked = f"at least {MIN_SIMILARITY:g} is asked for"
    sentence = f"The pages share {share:.2f} of their runs of four words, {asked}."
    found = Match(Reason.NEW, NOT_ALIKE, sentence, alike, *distances(kept, page), lost=told)
    if alike < MIN_SIMILARITY:
        return found
    found = found._replace(sentence="")  # of bounds, only that which decides is told
    if lost > allowed:
        finding, why = LOST, f"at most {allowed:.0f} are allowed"
    elif told > not_much(page, site) and not _adds_known(kept, page, site):
        own = own_words(page, site)
        finding, why = MUCH, f"that is much of the about {own:.0f} that are not common on its site"
    elif told <= FEW_WORDS:
        return _concluded(found, page, FEW, f"{min(FEW_WORDS, allowed):.0f} are allowed")
    elif has_same_title(kept, page) or (others := _pages_with_both(kept, page, site)) < VERSIONS:
        return _concluded(
            found, page, OWN, f"at most {allowed:.0f} are allowed where there is no series"
        )
    else:
        finding, why = SERIES, f"what they share is on {others:.0f} pages, as in a series"
    found = found._replace(finding=finding)
    return _elsewhere(found, kept, page, site, why, min(FEW_WORDS, allowed))


def sieve(page: Fingerprint, config: DedupConfig, site: SiteContext) -> Callable[[Fingerprint], bool]:
    """Return what tells of a kept page whether *page* may repeat it: False is certain, and fast."""
    allowed = allowed_words(page, config)
    few, missing = cache(lambda: not_much(page, site)), cache(lambda: _missing_of(page, site))
    most = cache(lambda: _most_missing(page, site, min(FEW_WORDS, allowed)))
    own = cache(lambda: _beyond_layout(page, site))

    def may_repeat(kept: Fingerprint) -> bool:
        is_equal = kept.body_digest == page.body_digest or has_equal_text(kept, page)
        if is_equal or is_reordered(kept, page):
            return True
        alike = similarity(kept.sketch, page.sketch)
        if alike < MIN_SIMILARITY:
            return _is_view(kept, page, config, site) or _is_relaid(kept, page, config, site, own)
        lost = max(lost_words(kept, page, alike), 1.0)
        if lost <= allowed and (round(lost) <= few() or _adds_known(kept, page, site)):
            return True
        lacks = missing()(kept) if site.is_known else None
        if lacks is not None and lacks <= most():
            return True
        return _is_relaid(kept, page, config, site, own)

    return may_repeat


def are_alike(page: Fingerprint, sketches: Sequence[bytes], *, in_order: bool = True) -> list[bool]:
    """Return for each of *sketches* whether its page is similar enough to *page*.

    Or, not *in_order*, whether one of the same size may have all but a third of what the other has.
    """
    least = MIN_SIMILARITY if in_order else (1 - MOST_SHARE) / (1 + MOST_SHARE)
    return [similarity(page.sketch, sketch) >= least for sketch in sketches]


def not_much(page: Fingerprint, site: SiteContext) -> float:
    """Return how many lost words are not much of what *page* has of its own: of a mere name none."""
    little = 0 if page.inside in {None, NAMED} else FEW_WORDS
    return max(little, MOST_SHARE * own_words(page, site))


def _pages_with_both(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> float:
    """Return on how many pages of *site*, in the median, what both pages have of their own is."""
    own, shared = _own_and_shared(kept, page, site)
    counts = site.on(of_site(page.sample))[: len(own)][shared]
    return float(np.median(counts)) if len(counts) else 0.0


def _own_and_shared(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> tuple[Flags, Flags]:
    """Return which comparable shingles of *page* are its own, and which of these are on *kept*, too."""
    sample = of_site(page.sample)
    of_page, of_kept = prints.comparable(sample, of_site(kept.sample), prints.MOST_OF_SITE)
    own = ~site.common(sample)[: len(of_page)]
    return own, own & (prints.positions(of_page, of_kept) >= 0)


def _elsewhere(  # noqa: PLR0917
    found: Match, kept: Fingerprint, page: Fingerprint, site: SiteContext, why: str, bound: float
) -> Match:
    """Return what the pages of *site* say, where the kept page is not enough; *why* says why not."""
    _, lost_sampled = lost_hashes(of_site(page.sample), of_site(kept.sample), prints.MOST_OF_SITE)
    if not site.is_known:
        why += "; nothing is known here of its site"
    elif (missing := missing_words(kept, page, site)) is not None:
        found = found._replace(missing=round(missing))
        # Under a title of its own, the words that only it has may be a text of its own, however few.
        if not _stands_elsewhere(kept, page, site, bound if has_same_title(kept, page) else 0):
            why += f"; about {min(missing, found.lost or missing):.0f} stand on no page kept"
        elif _is_titled_as_another(kept, page, site):
            why += "; they stand on other pages kept, but one of these has its title: it is no list"
        elif lost_sampled >= LEAST_SAMPLED:  # or what is lost is not in the sample
            but = f" but about {missing:.0f}" if found.missing else ""
            return _concluded(found, page, ELSEWHERE, f"all{but} stand on other pages kept")
    return _concluded(found, page, found.finding, why)


def _is_titled_as_another(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> bool:
    """Return whether another page than *kept* has the title of *page*, and *kept* not all its pairs."""
    is_kept = has_same_title(kept, page) or not other_pairs(kept.traits, page.traits)
    return not is_kept and bool(site.on(title_of(page)).any())


def _stands_elsewhere(kept: Fingerprint, page: Fingerprint, site: SiteContext, bound: float) -> bool:
    """Return whether at most *bound* words of *page*, and few of its own, are on no kept page."""
    missing = missing_words(kept, page, site) if site.is_known else None
    return missing is not None and missing <= _most_missing(page, site, bound)


def _most_missing(page: Fingerprint, site: SiteContext, bound: float) -> float:
    return min(bound, MOST_SHARE * own_words(page, site))


def _is_view(kept: Fingerprint, page: Fingerprint, config: DedupConfig, site: SiteContext) -> bool:
    """Return whether *page* shows what *kept* does in another frame, as a page for print does.

    Their structure differs, but few pages have the title of *page*, which is that of *kept* or names
    nothing else, and each has most of what the other has of its own.  No more than a copy may lose is on
    no page kept, *kept* has all pairs of words of the page but common ones, and no numbers of others
    stand in the place of some.
    """
    title = title_of(page)  # the site is asked last: of most pages it would be asked for nothing
    if not title or not _is_in_other_frame(kept, page):
        return False
    if not _is_titled_alike(kept, page) or site.seen(title)[0] > VERSIONS:
        return False
    is_text = site.pages >= COMMON_PAGES and own_words(page, site) >= RECORD_WORDS
    if not (
        is_text
        and config.max_lost_words
        and _stands_elsewhere(kept, page, site, allowed_words(page, config))
    ):
        return False
    both = (kept.traits, page.traits), (page.traits, kept.traits)
    (words, numbers), (_, replaced) = (prints.words_and_numbers(other_pairs(*one)) for one in both)
    if numbers and replaced and (site.on(numbers) >= VERSIONS).all():  # values of another record
        return False
    has_most = _has_most(kept, page, site) and _has_most(page, kept, site)
    return has_most and bool(site.common(words).all())


def _is_relaid(
    kept: Fingerprint,
    page: Fingerprint,
    config: DedupConfig,
    site: SiteContext,
    own: Callable[[], Sampled | None],
) -> bool:
    """Return whether *page* is *kept* in another layout, as a record for print is.

    *kept* has all pairs of the page but those of all pages of its layout, so all that *own* gives, and
    the page has most of what *kept* says and no other page of its layout does.
    """
    if not config.max_lost_words or not distances(kept, page)[1]:
        return False
    here, there = (prints.pairs_in(one.traits) for one in (page, kept))
    if max(len(here), len(there)) >= prints.MOST_PAIRS * prints.SAMPLED_BYTES:
        return False
    if not _is_titled_alike(kept, page) or (beyond := own()) is None or len(_beside(beyond, there)):
        return False
    pages, counts = _on_layout(kept, site)
    is_here = prints.positions(sampled(there), sampled(here)) >= 0
    both = np.count_nonzero(is_here & (counts < pages))
    lacks = np.count_nonzero(~is_here & (counts <= 1))
    if pages < COMMON_PAGES or both < max(LEAST_SAMPLED, MIN_SIMILARITY * (both + lacks)):
        return False
    # Times and identifiers are in no pair.
    return (missing_words(kept, page, site) or 0) <= config.max_lost_words


def _beyond_layout(page: Fingerprint, site: SiteContext) -> Sampled | None:
    """Return the pairs of *page* that not all kept pages of its layout have, None if few are known."""
    pages, counts = _on_layout(page, site)
    return sampled(prints.pairs_in(page.traits))[counts < pages] if pages >= COMMON_PAGES else None


def _on_layout(page: Fingerprint, site: SiteContext) -> tuple[int, Counted]:
    """Return how many pages of the layout of *page* are known, and how many have each of its pairs."""
    pairs, layout = sampled(prints.pairs_in(page.traits)), site.layout(page)
    counts = np.zeros(len(pairs), np.int64)
    for one in layout:
        counts += prints.positions(pairs, sampled(one)) >= 0
    return len(layout), counts


def title_of(page: Fingerprint) -> bytes:
    """Return the hash of the title of *page*, b"" if it has none."""
    title = title_in(page.traits)
    return b"" if title == prints.UNTITLED else title


def _has_most(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> bool:
    """Return whether *kept* has most of what *page* has of its own, by their samples."""
    own, shared = map(np.count_nonzero, _own_and_shared(kept, page, site))
    return bool(shared >= max(LEAST_SAMPLED, MIN_SIMILARITY * own))


def _viewed(found: Match, kept: Fingerprint, page: Fingerprint, site: SiteContext) -> Match:
    missing = round(missing_words(kept, page, site) or 0)
    sentence = "Under one title, each page has most of what the other has beside the frame of the site."
    but = f" but about {missing}" if missing else ""
    found = found._replace(sentence=sentence, missing=missing)
    return _concluded(found, page, VIEW, f"all{but} stand on pages kept")


def _new_pairs(kept: Fingerprint, page: Fingerprint, site: SiteContext, found: Match) -> int:
    """Return how many pairs of neighbouring words of *page* no kept page of *site* has.

    - For a record, all that *kept* has not: each of its values may be known.
    - Under the same title, values in the place of others are another record, and no list (`_are_values`;
      in another structure, of those that not all pages of a layout have).
    - Where something was left out because it changes, a number tells the page from others, if it is new
      or in the place of another one.
    - Otherwise, under the same title, ignore pairs with a number, except dates: counters change.
    """
    others = other_pairs(kept.traits, page.traits)
    if not others or not site.is_known:
        return 0
    own = own_words(page, site)
    if _is_record(kept, page, site, own) and is_changed(kept, page):
        return len(others) // prints.SAMPLED_BYTES
    words, numbers = prints.words_and_numbers(others)
    in_other_frame = _is_in_other_frame(kept, page)
    if has_same_title(kept, page) or (in_other_frame and _is_titled_alike(kept, page)):
        gone, replaced = prints.words_and_numbers(other_pairs(page.traits, kept.traits))
        values = words, gone
        if in_other_frame:
            values = _beside_layout(words, page, site), _beside_layout(gone, kept, site)
        if (
            not site.is_beside
            and found.finding != ELSEWHERE
            and _are_values(*values, site, has_numbers=bool(numbers or replaced))
        ):
            return len(values[0]) // prints.SAMPLED_BYTES
        numbers_tell = page.left_out and has_same_title(kept, page)
        if numbers_tell and numbers and (replaced or site.unknown(numbers).any()):
            return len(numbers) // prints.SAMPLED_BYTES
    # A title of many pages tells no two of them alike.
    is_named = found.finding == ELSEWHERE or title_in(page.traits) != prints.UNTITLED
    is_of_many = is_named and site.common(title_in(page.traits)).any()
    is_by_both = site.is_beside and found.finding in BY_SITE
    if has_same_title(kept, page) and not (is_of_many or is_by_both):
        others = words
    new = sampled(others)[site.unknown(others)]
    return 0 if _is_edit(kept, page, site, own, found.lost or 0, new) else len(new)


def _beside_layout(pairs: bytes, page: Fingerprint, site: SiteContext) -> bytes:
    """Return those of *pairs* of *page* that not all pages of its layout have, none if few are known."""
    if (beyond := _beyond_layout(page, site)) is None:
        return b""
    return sampled(pairs)[prints.positions(sampled(pairs), beyond) >= 0].tobytes()


def _are_values(words: bytes, gone: bytes, site: SiteContext, *, has_numbers: bool) -> bool:
    """Return whether pairs of *words* in the place of those *gone* are the values of another record.

    As many are as are gone, a date or a code among both; or beside another number all stand on other
    pages of *site*, on several if they are many.
    """
    if len(words) == len(gone) and prints.has_codes(words) and prints.has_codes(gone):
        return True
    are_few = max(len(words), len(gone)) <= FEW_WORDS * prints.SAMPLED_BYTES
    are_known = ((site.on(pairs) >= (1 if are_few else VERSIONS)).all() for pairs in (words, gone))
    return bool(has_numbers and words and gone and all(are_known))


def _is_edit(  # noqa: PLR0917
    kept: Fingerprint, page: Fingerprint, site: SiteContext, own: float, lost: int, new: Sampled
) -> bool:
    """Return whether *page* is another version of *kept*, on its host, in spite of its *new* pairs.

    Pages with new words again and again, not only new numbers, are parts of a series.  A page whose
    title and text say a name where those of *kept* say another one is about something else.
    """
    if site.pages < COMMON_PAGES or own < EDIT_WORDS or site.is_beside:
        return False
    most = EDIT_SHARE * own
    if not has_same_title(kept, page):
        if not site.common(prints.other_names(kept.traits, page.traits).tobytes()).all():
            return False
        most = min(OTHER_SHARE * own, FEW_WORDS)
    has_words = bool(prints.words_and_numbers(new.tobytes())[0])
    return lost <= most and not (has_words and site.seen(cluster_name(kept))[0] > VERSIONS)


def _is_record(kept: Fingerprint, page: Fingerprint, site: SiteContext, own: float) -> bool:
    """Return whether *page* has hardly a word of its own, and is one of many under its title.

    Or its title and text name something, and those of *kept* something else.
    """
    if own >= RECORD_WORDS and site.pages >= COMMON_PAGES:
        return False
    if page.left_out:  # which may have told it from others
        return True
    title = title_of(page)
    if title and site.seen(title)[0] >= VERSIONS:
        return True
    names = prints.other_names(kept.traits, page.traits, in_headings=False)
    return not has_same_title(kept, page) and len(names) > 0


def lost_words(kept: Fingerprint, page: Fingerprint, similarity: float) -> float:
    """Return about how many words of *page* are not on the page *kept*, 0 or more.

    *similarity* is that of their sketches: if n and m shingles share J of all, J(n + m) / (1 + J) are on
    both.  Their samples tell it too, and better for long pages; the two estimates are weighted by their
    variances.  A changed word is lost with its shingles, and counts as up to four words.
    """
    shingles, more = page.shingles, page.shingles - kept.shingles
    lost, variance = _by_sketches(kept.shingles, shingles, similarity)
    of, gone = lost_hashes(page.sample, kept.sample, prints.MOST)
    if of >= LEAST_SAMPLED:
        other, other_variance = _by_sample(gone, of, shingles)
        lost = (lost * other_variance + other * variance) / (variance + other_variance)
    lost = min(max(more, lost), shingles) * words_a_token(page)
    # Times and identifiers are in no pair: of more words than a few the shingles tell.
    return min(lost, _added_pairs(kept, page)) if lost <= FEW_WORDS else lost


def _added_pairs(kept: Fingerprint, page: Fingerprint) -> float:
    """Return how many pairs of words *page* has beside all those of *kept*, as many as words.

    Infinite if it has others in the place of some, or if not all pairs of both are known.
    """
    sizes = [len(prints.pairs_in(one.traits)) for one in (kept, page)]
    most = prints.MOST_PAIRS * prints.SAMPLED_BYTES
    if min(sizes) < 1 or max(sizes) >= most or is_changed(kept, page):
        return inf
    return len(other_pairs(kept.traits, page.traits)) / prints.SAMPLED_BYTES


def _adds_known(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> bool:
    others = other_pairs(kept.traits, page.traits)
    return _added_pairs(kept, page) < inf and not site.unknown(others).any()


def is_changed(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether each of two pages has words that the other has not: neither only adds some."""
    return bool(other_pairs(page.traits, kept.traits) and other_pairs(kept.traits, page.traits))


def _by_sketches(of_kept: int, of_page: int, similarity: float) -> tuple[float, float]:
    """Return how many shingles are lost by sketches, and the variance of that."""
    both = similarity * (of_page + of_kept) / (1 + similarity)
    smooth = (similarity * BINS + 1) / (BINS + 2)  # or what is alike would have no variance
    slope = (of_page + of_kept) / (1 + smooth) ** 2
    return max(0.0, of_page - both), slope**2 * smooth * (1 - smooth) / BINS


def _by_sample(lost: int, of: int, shingles: int) -> tuple[float, float]:
    """Return the same by samples: of the *of* shingles that are sampled, *lost* are lost."""
    smooth = (lost + 1) / (of + 2)
    unseen = max(0.0, 1 - of / max(shingles, 1))
    return shingles * lost / of, shingles**2 * smooth * (1 - smooth) / of * unseen


def allowed_words(page: Fingerprint, config: DedupConfig) -> float:
    """Return how many words *page* may lose by the bounds of *config*."""
    words = page.words
    share = min(MAX_LOST_SHARE * words, MOST_TIMES * config.max_lost_words)
    return min(max(config.max_lost_words, share), MOST_SHARE * words)


def own_words(page: Fingerprint, site: SiteContext) -> float:
    """Return about how many words of *page* are its own: inside its frame, not common on its *site*."""
    inside = page.words if page.inside is None else page.inside
    common = site.common(of_site(page.sample))
    of_frame = np.count_nonzero(common)
    if len(common) < LEAST_SAMPLED or not of_frame:
        return inside
    return min(inside, (1 - of_frame / len(common)) * page.shingles * words_a_token(page))


def missing_words(kept: Fingerprint, page: Fingerprint, site: SiteContext) -> float | None:
    """Return about how many words of *page* are neither on *kept* nor on another kept page of *site*.

    None for a small sample.
    """
    return _missing_of(page, site)(kept)


def _missing_of(page: Fingerprint, site: SiteContext) -> Callable[[Fingerprint], float | None]:
    """Return what tells the `missing_words` of *page* beside each page kept: the site is asked once."""
    sample = of_site(page.sample)
    if page.inside == NAMED or (size := len(sampled(sample))) < LEAST_SAMPLED:
        return lambda _: None
    unknown, each = sampled(sample)[site.unknown(sample)], page.shingles * words_a_token(page) / size
    return lambda kept: each * len(_beside(unknown, kept.sample))


def _beside(unknown: Sampled, kept: bytes) -> Sampled:
    """Return what of that which is *unknown* on a site is not in the sample of a page *kept* either."""
    return unknown[prints.positions(unknown, sampled(kept)) < 0]


def has_same_title(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether two pages have one title; pages of which none is known have."""
    return not (kept.traits and page.traits) or title_in(kept.traits) == title_in(page.traits)


def _is_in_other_frame(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether the structure of two pages is too different for one frame."""
    return (distances(kept, page)[1] or 0) > STRUCTURE_MAX_DISTANCE


def _is_titled_alike(kept: Fingerprint, page: Fingerprint) -> bool:
    """Return whether the title of *page* is that of *kept*, or names nothing else."""
    return has_same_title(kept, page) or not len(prints.other_names(kept.traits, page.traits))


def words_a_token(page: Fingerprint) -> float:
    """Return how many words a token, and so a shingle, of *page* stands for: 1, or less (0 to 1)."""
    return page.words / page.tokens if page.tokens else 1.0


def _concluded(found: Match, page: Fingerprint, finding: str, why: str) -> Match:
    lost = loses(found.lost, page.words).capitalize()
    sentence = f"{found.sentence} {lost} would be lost; {why}.".lstrip()
    reason = Reason.NEAR_DUPLICATE if finding in {FEW, OWN, *BY_SITE} else Reason.NEW
    return found._replace(reason=reason, finding=finding, sentence=sentence)


def loses(lost: int | None, words: int) -> str:
    """Return how much is lost, in words.

    >>> loses(12, 1640), loses(0, 1640)
    ('about 12 of 1,640 words', 'nothing')
    """
    return f"about {lost:,} of {words:,} words" if lost else "nothing"


def elsewhere(lost: int | None, nowhere: int | None) -> str:
    """Return which of so many words *lost* stand on other pages: all but those that stand *nowhere*.

    >>> elsewhere(70, 5), elsewhere(70, 70)
    (', all but about 5 of which stand on other pages kept', '')
    """
    if nowhere == lost:
        return ""
    return f", all{f' but about {nowhere:,}' if nowhere else ''} of which stand on other pages kept"
