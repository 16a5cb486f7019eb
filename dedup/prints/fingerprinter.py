"""A page to its fingerprint, and all that this depends on."""

from __future__ import annotations

import re

import numpy as np

from dedup.model.fingerprint import HALF, Fingerprint
from dedup.model.hashes import digest, hashes_of
from dedup.model.urls import host_of
from dedup.native._pages import MUTE, Content, spaced, structure
from dedup.prints.config import DedupConfig
from dedup.prints.samples import MOST, MOST_PAIRS, MOST_TITLED, ONE_IN, sampled, titled_of, traits
from dedup.reading.chinese import DICTIONARY, FREQUENCIES, han_frequencies, segment, table_digest
from dedup.reading.page import Page
from dedup.reading.tokens import UNSPACED, tokens, word_count

# Tokens in a shingle of a sketch.
SHINGLE = 4
# A block of fewer words is no sentence, but a label, a menu or a clock.
MIN_WORDS = 8
# Tags in a run, and 256 times what a run weighs by the depth of its outermost tag, the root at depth 0:
# sums are whole numbers, and every machine agrees on them.  What lies deeper than 255 weighs no less.
RUN = 5
WEIGHTS_BY_DEPTH = [round(256 * 0.97**depth) for depth in range(256)]
# So many characters of a script without spaces are a word.
_CHARACTERS = 2
_WORD = re.compile(rf"[^\W\d_{UNSPACED}]\w*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
# What may be in an address, but for quotes and brackets.
_ADDRESS = re.compile(r"https?://[!#-&*-;=?-Z_a-z~]+")
_MUTE = chr(MUTE)
_MOMENT = re.compile(r"\b(?:\d{1,2}:\d{2}(?::\d{2})?|\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})\b")


def sentences_digest(text: str) -> bytes:
    """Return two digests of *text*, 8 bytes each.

    The first is that of its sentences: its blocks of eight words or more, each once, in any order,
    without times and dates; where there are none, that of all its blocks.  The second is that of all
    blocks, of which only sentences may be in another order: what is short, such as a score, says
    something by where it is.

    >>> one, other = "The sun rises over the hills at dawn.", "The rain falls on the hills at night."
    >>> sentences_digest(f"12 visitors\\n{one}")[:8] == sentences_digest(f"{one}\\n13 visitors")[:8]
    True
    >>> sentences_digest(one)[:8] == sentences_digest(other)[:8]
    False
    >>> sentences_digest(f"{one}\\n{other}") == sentences_digest(f"{other}\\n{one}")
    True
    """
    short: list[str] = []
    long: list[str] = []
    for block in text.splitlines():
        is_long = len(block) > MIN_WORDS and _words_in(_MOMENT.sub("", block)) >= MIN_WORDS
        (long if is_long else short).append(" ".join(block.split()))
    said = {" ".join(_MOMENT.sub("", block).split()) for block in long}
    halves = sorted(said) or short, [*filter(None, short), "", *sorted(long)]
    texts = ("\n".join(["", *one]).encode("utf-8", "surrogatepass") or b"-" for one in halves)
    return b"".join(digest(text)[:HALF] for text in texts)


def _words_in(block: str) -> int:
    return len(_WORD.findall(block)) + len(_UNSPACED.findall(block)) // _CHARACTERS


def _muted(text: str, url: str) -> tuple[str, str]:
    """Return *text*, its lines that name an address of the host of *url* muted, and the rest of these.

    A page for print names the address that it was made from: no two words that are beside each other
    are new because of that.
    """
    host, addresses = host_of(url), _ADDRESS.findall(text) if "://" in text else ()
    if not host or host not in map(host_of, addresses):
        return text, ""
    lines, rest = text.split("\n"), []
    for number, line in enumerate(lines):
        left = _ADDRESS.sub(lambda found: "\n" if host_of(found[0]) == host else found[0], line)
        if left != line:
            lines[number] = f"{_MUTE}{line}"
            rest.append(left)
    # A word, or what is left could be a text of signs alone, which has no tokens.
    return "\n".join(lines), "\n".join([f"{_MUTE}word", *rest]) if rest else ""


# The version of everything that a fingerprint depends on, but for the tables of jieba.
RECIPE_VERSION = 15

_DEFAULT = DedupConfig()
_WEIGHTS = np.array(WEIGHTS_BY_DEPTH, np.int32)
_content = Content(
    segment,
    lambda hashes: np.sqrt(han_frequencies(hashes)),
    shingle=SHINGLE,
    one_in=ONE_IN,
    most_sampled=MOST,
    most_pairs=MOST_PAIRS,
)


def fingerprint(page: Page, config: DedupConfig = _DEFAULT) -> Fingerprint:
    """Return the fingerprint of *page*; equal pages have equal ones, on every machine."""
    # Where a page has the sign itself, it parts words as any other control sign does.
    text, rest = _muted(page.text.replace(_MUTE, " "), page.url)
    title = [*dict.fromkeys(tokens(page.title))][:MOST_TITLED]
    hashes = np.ascontiguousarray(hashes_of(title))
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


def current_recipe() -> dict[str, str]:
    """Return all that a fingerprint depends on, as text; an index holds one such recipe only."""
    return {
        "recipe": str(RECIPE_VERSION),
        "jieba_dictionary": table_digest(*DICTIONARY),
        "jieba_frequencies": table_digest(*FREQUENCIES),
    }
