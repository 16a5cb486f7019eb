"""What can be chosen of a deduplication; a page to its fingerprint, and all that this depends on."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dedup.model.errors import ConfigError, shown
from dedup.model.fingerprint import HALF, Fingerprint
from dedup.model.hashes import Hashes, digest, hashes_of, murmur3
from dedup.model.marks import MARKED, NO_EXCEPTIONS, Exceptions
from dedup.model.urls import host_of
from dedup.native._pages import MUTE, OF_CODES, OF_NUMBERS, Content, spaced, structure
from dedup.reading import noise
from dedup.reading import tokens as reading
from dedup.reading.page import Page
from dedup.reading.tokens import UNSPACED, segment, table_digest, tokens, word_count

SCOPES = ("spider", "host", "domain", "global")
UNCHANGED = ("keep", "drop")

_RANGES = {"max_distance": (0, 12), "max_lost_words": (0, 100_000), "store_first": (0, 1_000_000)}
_NAMES = {"scope": SCOPES, "unchanged": UNCHANGED}


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupConfig:
    """The choices of a deduplication; checked when made, `ConfigError` names value and rule.

    Thresholds are inclusive.
    """

    max_lost_words: int = 40
    """A page may lose about so many words (0 to 100,000) that are not on the page kept, if that page is
    like it in more than what is common on their site; never more than a third of its words."""
    scope: str = "spider"
    """Pages are compared within one `spider`, `host`, `domain` or all (`global`); public suffixes of
    domains are those of registries (com) and of hosters (github.io)."""
    unchanged: str = "keep"
    """What becomes of a page that a later run finds unchanged: `keep` or `drop`."""
    store_pages: bool = False
    """Whether the index keeps the text and the tags of every page, compressed, so that `dedup explain`
    and reports can show what agrees and what differs."""
    store_first: int = field(default=0, compare=False, repr=False)  # no verdict depends on it
    """Of so many pages, the first of an index in a file (0 to 1,000,000), it keeps them though
    `store_pages` is off, in 50 MB at most.  Where ``DEDUP_STORE_PAGES`` is not set these are 500."""
    exceptions: Exceptions = NO_EXCEPTIONS
    """Pairs of pages that are different, or of which one is a copy, whatever the rule says.  A crawl
    has those of the file beside its index, which the HTML report writes."""

    max_distance: int = 10
    """A page within this many bits (0 to 12) of a canonical's content simhash is a candidate."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value, wanted = getattr(self, one.name), type(one.default)
            if type(value) is not wanted:
                raise ConfigError(f"{one.name} ({shown(value)}) must be of type {wanted.__name__}")
        for name, (low, high) in _RANGES.items():
            if not low <= (value := getattr(self, name)) <= high:
                raise ConfigError(f"{name} ({shown(value)}) must be {low} to {high}")
        for name, known in _NAMES.items():
            if (value := getattr(self, name)) not in known:
                raise ConfigError(f"{name} ({shown(value)}) must be one of {', '.join(known)}")


ONE_IN = 4
# Of texts of more than some 131,000 words it is less than one in four: the smallest hashes.
MOST = 32_768
SAMPLED_BYTES = 4
MOST_OF_SITE = 1024  # so many of a page, the smallest, tell a site: it must not grow with the pages

Sampled = NDArray[np.uint32]
Tallies = NDArray[np.uint16]


def of_site(sample: bytes) -> bytes:
    """Return that part of a *sample* by which pages of a site are known."""
    return sample[: MOST_OF_SITE * SAMPLED_BYTES]


def sampled(sample: bytes) -> Sampled:
    """Return the hashes of a *sample*, in order."""
    return np.frombuffer(sample, "<u4")


def positions(hashes: Sampled, among: Sampled) -> NDArray[np.intp]:
    """Return where each of *hashes* is in the ordered *among*, -1 where it does not."""
    if not len(among):
        return np.full(len(hashes), -1)
    found = among.searchsorted(hashes)
    found[found == len(among)] = 0
    return np.where(among[found] == hashes, found, -1)


@dataclass(slots=True)
class Shingles:
    """For each shingle that was sampled, each pair, number and title, how many of some pages have it.

    Of its parts each is at least twice as large as the next.
    """

    pages: int = 0
    _parts: list[tuple[Sampled, Tallies]] = field(default_factory=list)
    _new: list[Sampled] = field(default_factory=list)

    def add(self, told: bytes) -> None:
        """Count one more page, by what it has `told_by` it."""
        self.pages += 1
        self._new.append(sampled(told))

    def counts(self, hashes: Sampled) -> Tallies:
        """Return on how many pages each of *hashes* is."""
        self._merge()
        counts = np.zeros(len(hashes), np.uint16)
        for known, counted in self._parts:
            found = positions(hashes, known)
            counts += np.where(found >= 0, counted[found], 0).astype(np.uint16)
        return counts

    def _merge(self) -> None:
        if not self._new:
            return
        hashes = np.sort(np.concatenate(self._new))  # by itself it is much faster than with its places
        self._new.clear()
        self._parts.append(_summed(hashes, np.ones(len(hashes), np.uint16)))
        while len(self._parts) > 1 and len(self._parts[-2][0]) < 2 * len(self._parts[-1][0]):
            newer, older = self._parts.pop(), self._parts.pop()
            hashes = np.concatenate((older[0], newer[0]))
            self._parts.append(_summed(hashes, np.concatenate((older[1], newer[1]))))


def _summed(hashes: Sampled, counts: Tallies) -> tuple[Sampled, Tallies]:
    order = hashes.argsort(kind="stable")
    hashes, counts = hashes[order], counts[order]
    starts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    return hashes[starts], np.add.reduceat(counts, starts, dtype=np.uint16)


def comparable(one: bytes, other: bytes, most: int = MOST) -> tuple[Sampled, Sampled]:
    """Return the parts of two samples that are comparable: one of *most* says nothing beyond its end."""
    both = sampled(one), sampled(other)
    if ends := [hashes[-1] for hashes in both if len(hashes) == most]:
        first, second = (hashes[: hashes.searchsorted(min(ends), "right")] for hashes in both)
        return first, second
    return both


# Of a page with more of them, those with the smallest hashes: the memory of a site must not grow with
# its longest pages.
MOST_PAIRS = 1024
MOST_TITLED = 16  # so many words of a title are known, each with one of its pairs
_IS_MARKED = 1


def words_and_numbers(pairs: bytes) -> tuple[bytes, bytes]:
    """Return those of *pairs* that no number is in, but that of a date or a code, and the others."""
    told = sampled(pairs)
    has_number = told & np.uint32(OF_NUMBERS) != 0
    return told[~has_number].tobytes(), told[has_number].tobytes()


def has_codes(pairs: bytes) -> bool:
    """Return whether a date or a code is in one of *pairs*."""
    return bool((sampled(pairs) & np.uint32(OF_CODES)).any())


# Traits of a page are 32-bit hashes: those of its variant, its record and its title; how many words of
# the title its text says, and of each its hash and its lowest pair; then its pairs.
_RECORD, _TITLE, _COUNT, _TITLED = (place * SAMPLED_BYTES for place in (1, 2, 3, 4))
_NO_PAIR = 2**32 - 1


def traits(
    title: str, pairs: bytes = b"", variant: str = "", record: str = "", titled: bytes = b""
) -> bytes:
    """Return the traits of a page; *titled* is what `titled_of` returns."""
    count = len(titled) // (2 * SAMPLED_BYTES)
    own = *(murmur3(name) >> 32 for name in (record, title)), count
    numbers = b"".join(number.to_bytes(SAMPLED_BYTES, "little") for number in own)
    return _variant_in(variant) + numbers + titled + pairs


def with_variant(traits: bytes, variant: str) -> bytes:
    """Return the *traits* of a page that has another *variant* by now, b"" where they are not known."""
    return traits and _variant_in(variant) + traits[_RECORD:]


def _variant_in(variant: str) -> bytes:
    number = (murmur3(variant) >> 32) & ~_IS_MARKED | variant.startswith(MARKED)
    return number.to_bytes(SAMPLED_BYTES, "little")


def titled_of(words: Hashes, lowest: bytes) -> bytes:
    """Return the hashes of *words* of a title that have pairs in a text, each with its *lowest* one.

    The last bit of a word is set if it has no pairs but those of the title, as in a heading.
    """
    pairs, both = sampled(lowest).tolist(), array("I")
    for word, other, own in zip(words.tolist(), pairs, pairs[len(words) :], strict=False):
        if min(other, own) < _NO_PAIR:
            is_own = other == _NO_PAIR
            both.extend((word >> 32 & ~1 | is_own, own if is_own else other))
    return both.tobytes()


def other_names(kept: bytes, page: bytes, *, in_headings: bool = True) -> Sampled:
    """Return a pair of each word of its title that only *page* says, if *kept* says one alone, too.

    Both do so in their texts, or, with *in_headings*, both in nothing but a heading like the title, most
    words of which are the same: another headline names nothing else.
    """
    there, here = (sampled(one[_TITLED : _pairs_begin(one)]).tolist() for one in (kept, page))
    words, others = there[:-1:2], here[:-1:2]  # so few that numpy would take ten times as long
    alone = [(word & 1, here[2 * at + 1]) for at, word in enumerate(others) if word not in words]
    is_variant = in_headings and 2 * len(alone) <= len(others)
    where = {word & 1 for word in words if word not in others and (is_variant or not word & 1)}
    return np.array([pair for is_own, pair in alone if is_own in where], np.uint32)


def _pairs_begin(traits: bytes) -> int:
    return _TITLED + 2 * SAMPLED_BYTES * int.from_bytes(traits[_COUNT:_TITLED], "little")


def title_in(traits: bytes) -> bytes:
    """Return the hash of the title in *traits*."""
    return traits[_TITLE:_COUNT]


VARIANT, RECORD = slice(_RECORD), slice(_RECORD, _TITLE)
"""The parts of traits that are for a language or a region, or name the record that a page shows."""


def names(traits: bytes, part: slice) -> bool:
    """Return whether that *part* of *traits* names anything."""
    return traits[part] not in {_NOTHING, b""}


def differ(kept: bytes, page: bytes, part: slice) -> bool:
    """Return whether both traits name something in that *part*, and not the same."""
    return names(kept, part) and names(page, part) and kept[part] != page[part]


def is_apart(kept: bytes, page: bytes) -> bool:
    """Return whether the page with the traits *page* may say something else in places that are marked.

    Of a page kept that was read before that, and is not stored, nobody knows what it says there.
    """
    is_marked = page[:1] != b"" and bool(page[0] & _IS_MARKED)
    return is_marked and kept[:_RECORD] != page[:_RECORD]


def other_pairs(kept: bytes, page: bytes) -> bytes:
    """Return the hashes of those pairs of *page* that are not in the traits of *kept*."""
    here, there = comparable(pairs_in(page), pairs_in(kept), MOST_PAIRS)
    found: bytes = here[positions(here, there) < 0].tobytes()
    return found


def pairs_in(traits: bytes) -> bytes:
    """Return the pairs in *traits*."""
    return traits[_pairs_begin(traits) :]


_NOTHING = traits("")[:_RECORD]
UNTITLED = title_in(traits(""))  # the hash of the title of a page that has none


SHINGLE = 4  # tokens in a shingle of a sketch
MIN_WORDS = 8  # a block of fewer words is no sentence, but a label, a menu or a clock
# Tags in a run, and 256 times what a run weighs by the depth of its outermost tag, the root at depth 0:
# sums are whole numbers, and every machine agrees on them.  What lies deeper than 255 weighs no less.
RUN = 5
WEIGHTS_BY_DEPTH = [round(256 * 0.97**depth) for depth in range(256)]
_CHARACTERS = 2  # so many characters of a script without spaces are a word
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]\w*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
# What may be in an address, but for quotes and brackets.
_ADDRESS = re.compile(r"(?:https?://|(?<![\w.-])\w[\w.-]*+/)[!#-&*-;=?-Z_a-z~]+")
_MUTE = chr(MUTE)
_AGO = re.compile(noise.AGO)
_MOMENT = re.compile(r"\b(?:\d{1,2}:\d{2}(?::\d{2})?|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})\b")


def sentences_digest(text: str) -> bytes:
    """Return two digests of *text*, 8 bytes each; how long ago something was is no part of it.

    The first is that of its sentences: its blocks of eight words or more, each once, in any order,
    without times and dates; where there are none, that of all its blocks.  The second is that of all
    blocks, of which only sentences may be in another order: what is short, such as a score, says
    something by where it is.

    >>> one = "The sun rises over the hills at dawn."
    >>> sentences_digest(f"12 visitors\\n{one}")[:8] == sentences_digest(f"{one}\\n13 visitors")[:8]
    True
    >>> sentences_digest("5 days ago\\n12 notes") == sentences_digest("2 weeks ago\\n12 notes")
    True
    """
    short: list[str] = []
    long: list[str] = []
    for block in _AGO.sub("", text).splitlines():
        said = _MOMENT.sub("", block) if len(block) > MIN_WORDS else ""
        words = len(_WORD.findall(said)) + len(_UNSPACED.findall(said)) // _CHARACTERS
        (long if words >= MIN_WORDS else short).append(" ".join(block.split()))
    sentences = {" ".join(_MOMENT.sub("", block).split()) for block in long}
    halves = sorted(sentences) or short, [*filter(None, short), "", *sorted(long)]
    texts = ("\n".join(["", *one]).encode("utf-8", "surrogatepass") or b"-" for one in halves)
    return b"".join(digest(text)[:HALF] for text in texts)


def _path_of(address: str) -> str:
    """Return the path of an *address*, with a scheme or without, and no slash at its end."""
    _, slash, path = address.rpartition("://")[2].partition("?")[0].partition("#")[0].partition("/")
    return f"{slash}{path}".rstrip("/")


def _muted(text: str, url: str) -> tuple[str, str]:
    """Return *text*, its lines that name an address of the host or path of *url* muted, and their rest.

    A page for print names the address that it was made from: no two words that are beside each other
    are new because of that.
    """
    host, path = host_of(url), _path_of(url)

    def is_own(address: str) -> bool:
        there = host_of(address if "://" in address else f"http://{address}")
        other = _path_of(address)
        return there == host or ("." in there and other != "" and f"{path}/".startswith(f"{other}/"))

    begin = path[: path.find("/", 1)] if path.count("/") > 1 else path
    # Many texts name addresses, few their own one; its host may be in other letters there.
    may_be = host in text or (begin and begin in text) or ("://" in text and host in text.lower())
    if not host or not may_be or not any(map(is_own, _ADDRESS.findall(text))):
        return text, ""
    lines, rest = text.split("\n"), []
    for number, line in enumerate(lines):
        left = _ADDRESS.sub(lambda found: "\n" if is_own(found[0]) else found[0], line)
        if left != line:
            lines[number] = f"{_MUTE}{line}"
            rest.append(left)
    # A word, or what is left could be a text of signs alone, which has no tokens.
    return "\n".join(lines), "\n".join([f"{_MUTE}word", *rest]) if rest else ""


# The version of everything that a fingerprint depends on, but for the tables of jieba.
RECIPE_VERSION = 21

_DEFAULT = DedupConfig()
_WEIGHTS = np.array(WEIGHTS_BY_DEPTH, np.int32)
_content = Content(
    segment,
    lambda hashes: np.sqrt(reading.han_frequencies(hashes)),
    shingle=SHINGLE,
    one_in=ONE_IN,
    most_sampled=MOST,
    most_pairs=MOST_PAIRS,
)


def fingerprint(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    """Return the fingerprint of *page*; equal pages have equal ones, on every machine."""
    # Where a page has the sign itself, it parts words as any other control sign does.
    text, rest = _muted(page.text.replace(_MUTE, " "), page.url)
    hashes = np.ascontiguousarray(hashes_of([*dict.fromkeys(tokens(page.title))][:MOST_TITLED]))
    own = sampled(_content(page.title.replace(_MUTE, " "), hashes, sampled(b""))[-1])
    simhash, sketch, count, of_kana, of_unspaced, shingles, sample, titled, pairs = _content(
        text, hashes, own
    )
    if rest:
        *_, more_titled, more = _content(rest, hashes, own)
        titled = np.minimum(sampled(titled), sampled(more_titled)).tobytes()
        pairs = np.union1d(sampled(pairs), sampled(more))[:MOST_PAIRS].tobytes()
    return Fingerprint(
        content_simhash=simhash,
        structure_simhash=structure(page.tags, page.depths, _WEIGHTS, RUN),
        sketch=sketch,
        body_digest=page.body_digest,
        # Of all that a reader sees, but for how much white space there is: texts are equal by that.
        token_digest=digest(spaced(page.text) if count else b""),
        tokens=count,
        words=word_count(count, of_kana, of_unspaced),
        shingles=shingles,
        sample=sample,
        inside=page.inside,
        traits=traits(page.title, pairs, page.variant, page.record, titled_of(hashes, titled)),
        # Only who drops what is unchanged asks whether sentences differ.
        sentences=sentences_digest(page.text) if config.unchanged == "drop" else b"",
    )


def pairs_of(text: str) -> Iterator[tuple[str, set[int]]]:
    """Yield each two or three neighbouring words of *text*, with the pairs that they are."""
    for line in text.split("\n"):
        words = tokens(line)
        for size, at in product((1, 2, 3), range(len(words))):
            if at + size <= len(words) and size > (len(words) > 1):
                said = " ".join(words[at : at + size])
                yield said, {*sampled(pairs_in(fingerprint(Page.from_text(said)).traits)).tolist()}


def sample_of(text: str) -> bytes:
    """Return the sample in the fingerprint of a page with this *text*."""
    return bytes(_content(text.replace(_MUTE, " "), np.zeros(0, np.uint64), sampled(b""))[6])


def current_recipe() -> dict[str, str]:
    """Return all that a fingerprint depends on, as text; an index holds one such recipe only."""
    return {
        "recipe": str(RECIPE_VERSION),
        "jieba_dictionary": table_digest(*reading.DICTIONARY),
        "jieba_frequencies": table_digest(*reading.FREQUENCIES),
    }
