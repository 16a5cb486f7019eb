"""What can be chosen: thresholds, and the recipe that turns a page into a fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from dedup.dictionary import dictionary_digest, frequencies_digest
from dedup.errors import ConfigError

STRUCTURES = ("tag_ngrams", "tag_decay")
SCOPES = ("spider", "host", "domain", "global")
UNCHANGED = ("keep", "drop")
CANONICAL_LINKS = ("record", "decide")
CANDIDATES = ("simhash", "minhash", "both")

# The bins of a page's sketch, which its bands are cut from.
SKETCH_BINS = 256

# The version of everything a fingerprint depends on that is no field of its own.
RECIPE_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupConfig:
    """The choices of a deduplication; checked when made, `ConfigError` names value and rule.

    Thresholds are inclusive.  A setting ``DEDUP_MAX_DISTANCE`` is the field `max_distance`.
    """

    max_distance: int = 10
    """A page within this many bits (0 to 12) of a canonical's content word is a candidate."""
    min_similarity: float = 0.60
    """A candidate is a duplicate from this estimated Jaccard similarity (0 to 1) of shingles on."""
    verify: bool = True
    """Whether candidates must pass `min_similarity`; without, every content candidate is a duplicate."""
    structure_max_distance: int = 3
    """A page within this many bits (0 to 12) of a canonical's structure word is a candidate as well,
    never more: structure alone drops nothing.  Unused without `verify`."""
    same_template_distance: int = 9
    """Pages within this many bits (0 to 64) of structure are shown as one template in reports."""
    max_structure_candidates: int = 64
    """The structure channel looks at this many canonicals at most, the newest (0 switches it off)."""
    max_candidates: int = 1000
    """At most this many canonicals (1 to 100,000) are looked at by content, the nearest; reaching it
    is counted and warned about."""
    candidates: str = "simhash"
    """What finds candidates by content: `simhash` words within `max_distance`, `minhash` sketches
    with an equal band, or `both`.  Bands find nothing without `verify`."""
    bands: int = 24
    """How many bands a sketch is cut into, for `minhash`; `bands` times `rows` is at most 256."""
    rows: int = 3
    """How many bins of the sketch a band has, for `minhash`.  24 bands of 3 find 99.7 % of the pages
    that share .60 of their shingles, 18 % of those that share .20 (`dedup.minhash.Banding`)."""
    structure: str = "tag_ngrams"
    """How tags become structure: `tag_ngrams` or `tag_decay`."""
    structure_decay: float = 0.45
    """Weight of a tag one level deeper (above 0, at most 1), for `tag_decay`."""
    shingle: int = 4
    """Tokens in a shingle of the sketch (1 to 16)."""
    scope: str = "spider"
    """Pages are compared within one `spider`, `host`, `domain` (public suffix) or all (`global`)."""
    unchanged: str = "keep"
    """What becomes of a page that a later run finds unchanged: `keep` or `drop`."""
    canonical_link: str = "record"
    """What a page's ``rel=canonical`` does: it is put on `record`, or it may `decide`, so that the
    page repeats the one seen at that URL whatever their texts are."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_type(field.name, getattr(self, field.name), field.default)
        _check_range(self, "max_distance", 0, 12)
        _check_range(self, "min_similarity", 0, 1)
        _check_range(self, "structure_max_distance", 0, 12)
        _check_range(self, "same_template_distance", 0, 64)
        _check_range(self, "max_structure_candidates", 0, 100_000)
        _check_range(self, "max_candidates", 1, 100_000)
        _check_range(self, "structure_decay", 0.001, 1)
        _check_range(self, "shingle", 1, 16)
        _check_choice(self, "structure", STRUCTURES)
        _check_choice(self, "scope", SCOPES)
        _check_choice(self, "unchanged", UNCHANGED)
        _check_choice(self, "canonical_link", CANONICAL_LINKS)
        _check_choice(self, "candidates", CANDIDATES)
        _check_range(self, "rows", 1, SKETCH_BINS)
        _check_range(self, "bands", 1, SKETCH_BINS // self.rows)
        if self.candidates != "simhash" and not self.verify:
            raise ConfigError(f"candidates ({self.candidates!r}) must be 'simhash' without verify")

    def recipe(self) -> dict[str, str]:
        """Return all that a fingerprint depends on, as text; an index holds one recipe only."""
        recipe = {
            "recipe": str(RECIPE_VERSION),
            "structure": self.structure,
            "shingle": str(self.shingle),
            "jieba_dictionary": dictionary_digest(),
            "jieba_frequencies": frequencies_digest(),
        }
        if self.structure == "tag_decay":
            recipe["structure_decay"] = repr(self.structure_decay)
        return recipe


def _check_type(name: str, value: object, default: object) -> None:
    wanted = type(default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (type(value) is wanted or (wanted is float and is_number)):
        raise ConfigError(f"{name} ({value!r}) must be of type {wanted.__name__}")


def _check_range(config: DedupConfig, name: str, low: float, high: float) -> None:
    value: Any = getattr(config, name)
    if not low <= value <= high:
        raise ConfigError(f"{name} ({value!r}) must be {low:g} to {high:g}")


def _check_choice(config: DedupConfig, name: str, choices: tuple[str, ...]) -> None:
    value = getattr(config, name)
    if value not in choices:
        raise ConfigError(f"{name} ({value!r}) must be one of {', '.join(choices)}")
