"""Tokens and fingerprints by their plain definitions: what the compiled ones must equal."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from dedup import Fingerprint, Page
from dedup.model.fingerprint import BINS
from dedup.model.hashes import digest, hashes_of, murmur3
from dedup.model.urls import host_of
from dedup.native._pages import CODE, DAY, IN_NO_PAIR, MOST_CHARACTERS, NUMBER, WORD, YEAR
from dedup.prints import fingerprinter
from dedup.prints.fingerprinter import RUN, SHINGLE, WEIGHTS_BY_DEPTH, traits
from dedup.prints.literature import fold, idf
from dedup.reading.tokens import _UNSPACED, HAN, IN_WORDS, KANA, POINTS, _normal_form, is_han, segment

# Each of them before a digit, and behind no word, belongs to the number: a minus, or a decimal point.
BEFORE_NUMBERS = ".\\-\u2010-\u2013"
JOINED = "(?<![0-9])(?!(?:19|20)[0-9]{2}-)[0-9]{3,}+(?:-[0-9]++)++"  # by hyphens: a code, and no date
# Possessive: to backtrack in an endless word would take 100 bytes of memory for each character.
_RUNS = re.compile(
    rf"[{HAN}]++|[{_UNSPACED}]++"
    rf"|(?:{JOINED}|{IN_WORDS}|(?<=[0-9])[.,:](?=[0-9])|(?<!{IN_WORDS})[{BEFORE_NUMBERS}](?=[0-9]))++|\n"
)
_POINTS = re.compile(f"[{POINTS}]")


def token_lines(text: str) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    for match in _RUNS.finditer(_normal_form(text)):
        run = _POINTS.sub("", match[0])
        if run == "\n":
            lines.append([])
        elif not run:
            continue
        elif re.match(f"[{_UNSPACED}]", run):
            lines[-1] += [run[at : at + 3] for at in range(len(run)) if at == 0 or at + 3 <= len(run)]
        elif not is_han(run):
            word = run if re.fullmatch("[A-Z]", run) else run.lower()
            lines[-1] += [word[at : at + MOST_CHARACTERS] for at in range(0, len(word), MOST_CHARACTERS)]
        elif re.search(f"[{KANA}]", run):
            lines[-1] += [run[at : at + 2] for at in range(len(run)) if at == 0 or at + 2 <= len(run)]
        else:
            lines[-1] += segment(run)
    return list(filter(None, lines)) if re.search(r"\w", "".join(map("".join, lines))) else []


_MASK = (1 << 64) - 1


def _mixed(hash_: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        hash_ = (hash_ ^ hash_ >> 33) * factor & _MASK
    return hash_ ^ hash_ >> 33


def hash_of_run(hashes: list[int]) -> int:
    run = hashes[0]
    for one in hashes[1:]:
        run = (_mixed(run) * 0x9E3779B97F4A7C15 + one) & _MASK
    return _mixed(run)


def runs_of(hashes: list[int], size: int) -> list[int]:
    return [hash_of_run(hashes[at : at + size]) for at in range(len(hashes) - size + 1)]


def sketch_of(shingles: list[int]) -> bytes:
    smallest: dict[int, int] = {}
    for value in shingles:
        place = value >> 56
        smallest[place] = min(value, smallest.get(place, value))
    return bytes(smallest[bin_] % 255 + 1 if bin_ in smallest else 0 for bin_ in range(BINS))


def sample_of(shingles: list[int]) -> bytes:
    chosen = sorted({shingle >> 32 for shingle in shingles if shingle % fingerprinter.ONE_IN == 0})
    return np.array(chosen[: fingerprinter.MOST], "<u4").tobytes()


def kind_of(token: str) -> int:
    if not re.search("[0-9]", token):
        return WORD
    if re.fullmatch("(19|20)[0-9]{2}", token):
        return YEAR
    if re.fullmatch("(?=.*[a-f])[0-9a-f]{6,}", token):
        return IN_NO_PAIR
    if not re.fullmatch(r"[^0-9A-Za-z_]*[0-9][0-9.,:]*[A-Za-z]{0,2}[^0-9A-Za-z_]*", token):
        return CODE
    if ":" in token:
        return IN_NO_PAIR
    other = CODE if re.search(r"\.[0-9]{1,2}\.", token) or re.fullmatch("[0-9]{7,}", token) else NUMBER
    return DAY if re.fullmatch("(0?[1-9]|[12][0-9]|3[01])([A-Za-z]{2})?", token) else other


def pairs_of(lines: list[list[str]]) -> bytes:
    found = {pair for line in lines for _, pair in _pairs_in(line)}
    return np.array(sorted(found)[: fingerprinter.MOST_PAIRS], "<u4").tobytes()


def _pairs_in(line: list[str]) -> Iterator[tuple[list[str], int]]:
    """Yield the pairs of a line, with their words where they are two."""
    for one, other in pairwise(line if len(line) > 1 else line * 2):
        kinds = {kind_of(one), kind_of(other)}
        if IN_NO_PAIR not in kinds:
            has_number = not kinds.isdisjoint((NUMBER, DAY, YEAR))
            yield [one, other], _pair([one, other], 1 if has_number else 2 if CODE in kinds else 0)
    for three in zip(line, line[1:], line[2:], strict=False):
        first, middle, last = map(kind_of, three)
        is_named = first in {CODE, WORD} and (middle, last) == (DAY, YEAR)
        if is_named or ({first, last} <= {NUMBER, DAY, YEAR} and middle != IN_NO_PAIR):
            is_date = YEAR in {first, last} and NUMBER not in {first, middle, last}
            yield [], _pair(list(three), 2 if is_date else 1)


def titled_pairs(lines: list[list[str]], title: list[list[str]]) -> dict[str, tuple[bool, int]]:
    """Return of each word of a title in *lines* whether all its pairs are the title's, and the lowest."""
    own = {pair for line in title for _, pair in _pairs_in(line)}
    found = [(words, pair) for line in lines for words, pair in _pairs_in(line)]
    titled = [*dict.fromkeys(word for line in title for word in line)][: fingerprinter.MOST_TITLED]
    of_word = {word: {pair for words, pair in found if word in words} for word in titled}
    return {word: (pairs <= own, min(pairs - own or pairs)) for word, pairs in of_word.items() if pairs}


def _pair(words: list[str], last_bits: int) -> int:
    return hash_of_run([murmur3(word) for word in words]) >> 34 << 2 | last_bits


def structure_of(page: Page) -> int:
    size, hashes = min(RUN, len(page.tags)), [murmur3(tag) for tag in page.tags]
    nearest: dict[int, int] = {}
    for at, run in enumerate(runs_of(hashes, size) if size else []):
        nearest[run] = min(*page.depths[at : at + size], nearest.get(run, 255), 255)
    runs = np.array([*nearest], np.uint64)
    return fold(runs, np.array([float(WEIGHTS_BY_DEPTH[depth]) for depth in nearest.values()]))


def word_count(tokens: list[str]) -> int:
    of_kana, of_unspaced = (
        sum(bool(re.search(f"[{script}]", token)) for token in tokens) for script in (KANA, _UNSPACED)
    )
    return len(tokens) - round(of_kana * (1 - 1 / 2)) - round(of_unspaced * (1 - 1 / 3))


def whole_weights(tokens: list[str]) -> dict[str, float]:
    counts = Counter(tokens)
    damped = 1 + np.log(np.array([*counts.values()], np.float64))
    weights = np.rint(256 * damped * np.sqrt([idf(word) for word in counts]))
    return dict(zip(counts, weights.tolist(), strict=True))


def without_own_addresses(page: Page) -> str:
    host = host_of(page.url)
    addresses = re.compile(r"https?://[!#-&*-;=?-Z_a-z~]+")
    return addresses.sub(lambda found: "\n" if host_of(found[0]) == host != "" else found[0], page.text)


def print_of(page: Page) -> Fingerprint:
    lines = token_lines(page.text)
    tokens = [token for line in lines for token in line]
    weights = whole_weights(tokens)
    shingles = runs_of([murmur3(token) for token in tokens], SHINGLE)
    spaced = " ".join(page.text.split()).encode("utf-8", "surrogatepass")
    paired = token_lines(without_own_addresses(page))
    pairs = titled_pairs(paired, token_lines(page.title))
    titled = [n for word, (own, pair) in pairs.items() for n in (murmur3(word) >> 33 << 1 | own, pair)]
    numbers = np.array(titled, "<u4").tobytes()
    return Fingerprint(
        content_simhash=fold(hashes_of(weights), np.array([*weights.values()])),
        structure_simhash=structure_of(page),
        sketch=sketch_of(shingles),
        body_digest=page.body_digest,
        token_digest=digest(spaced if tokens else b""),
        tokens=len(tokens),
        words=word_count(tokens),
        shingles=len(set(shingles)),
        sample=sample_of(shingles),
        inside=page.inside,
        traits=traits(page.title, pairs_of(paired), page.variant, titled=numbers),
    )
