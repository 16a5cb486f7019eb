"""What can be chosen: thresholds, what is compared, and how fingerprints are made and compared."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Self

from dedup.recipes.recipe import DEFAULT, RECIPES
from dedup.values.errors import ConfigError, shown
from dedup.values.exceptions import NO_EXCEPTIONS, Exceptions
from dedup.values.limits import MAX_BYTES

TERMS = ("words", "character_ngrams")
WEIGHTS = ("sublinear_tf_idf",)
STRUCTURES = ("decayed_ngrams",)
HASHERS = ("murmur3",)
FILES = ("user_dictionary", "stop_words")
SCOPES = ("spider", "host", "domain", "global")
UNCHANGED = ("keep", "drop")
CANONICAL_LINKS = ("record", "decide")
CANDIDATES = ("simhash", "minhash", "both")
VERIFIERS = ("loss", "similarity", "distance")

# The largest Hamming distance within which simhashes are searched for.
MAX_DISTANCE = 12
# The bins of a page's sketch, which its bands are cut from.
SKETCH_BINS = 256

_RANGES: dict[str, tuple[float, float]] = {
    "max_distance": (0, MAX_DISTANCE),
    "min_similarity": (0, 1),
    "max_lost_words": (0, 100_000),
    "max_lost_share": (0, 1),
    "structure_max_distance": (0, MAX_DISTANCE),
    "same_template_distance": (0, 64),
    "max_structure_candidates": (0, 100_000),
    # Before the next one, which follows it where it is larger: an error names what the user has set.
    "rehearse": (0, 1_000_000),
    "store_first": (0, 1_000_000),
    "max_candidates": (1, 100_000),
    "bands": (1, SKETCH_BINS),
    "rows": (1, SKETCH_BINS),
    "shingle": (1, 16),
    "hash_seed": (0, 2**32 - 1),
    "max_bytes": (1000, 10**9),
}
_NAMES = {
    "scope": SCOPES,
    "unchanged": UNCHANGED,
    "canonical_link": CANONICAL_LINKS,
    "candidates": CANDIDATES,
    "verifier": VERIFIERS,
}
_NAMES_OR_PATHS = {"terms": TERMS, "weights": WEIGHTS, "structure": STRUCTURES, "hasher": HASHERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupConfig:
    """The choices of a deduplication; checked when made, `ConfigError` names value and rule.

    `docs/reference/recipes.md` explains the fields that are parameters of a recipe (`PARAMETERS`),
    `settings.md` the others.  Thresholds are inclusive.  It is data: files and functions that it names
    are looked for when they are used, or by `dedup.recipes.fingerprinter.require_recipe`.  `of` starts
    from a named recipe.
    """

    max_lost_words: int = 40
    scope: str = "spider"
    unchanged: str = "keep"
    store_pages: bool = False
    store_first: int = field(default=0, compare=False, repr=False)  # no verdict depends on it
    """Of so many pages, the first of an index in a file (0 to 1,000,000), it keeps them though
    `store_pages` is off, in 50 MB at most.  Where ``DEDUP_STORE_PAGES`` is not set these are 500."""
    rehearse: int = 0
    """Of so many pages, the first of an index (0 to 1,000,000), nothing is dropped: copies are recorded
    and reported, and delivered all the same.  A number in the setting ``DEDUP_DRY_RUN``."""
    exceptions: Exceptions = NO_EXCEPTIONS

    # From here on: the parameters of a recipe, `dedup.recipes.recipe.PARAMETERS`.

    terms: str = "words"
    user_dictionary: str = ""
    stop_words: str = ""
    weights: str = "sublinear_tf_idf"
    structure: str = "decayed_ngrams"
    hasher: str = "murmur3"
    hash_seed: int = 0
    tie: bool = False
    shingle: int = 4
    max_bytes: int = MAX_BYTES

    candidates: str = "simhash"
    bands: int = 24
    rows: int = 3
    min_similarity: float = 0.62
    max_lost_share: float = 0.1
    max_distance: int = 10
    canonical_link: str = "record"
    max_candidates: int = 1000
    structure_max_distance: int = 8
    max_structure_candidates: int = 64
    verifier: str = "loss"
    same_template_distance: int = 13

    def __post_init__(self) -> None:
        for one in fields(self):
            _check_type(one.name, getattr(self, one.name), one.default)
        for name, (low, high) in _RANGES.items():
            _check_range(name, getattr(self, name), low, high)
        for name, known in _NAMES.items():
            _check_member(name, getattr(self, name), known)
        for name, known in _NAMES_OR_PATHS.items():
            _check_name_or_path(name, getattr(self, name), known)
        if self.bands * self.rows > SKETCH_BINS:
            raise ConfigError(
                f"bands ({self.bands}) times rows ({self.rows}) must be at most {SKETCH_BINS}"
            )
        if self.candidates != "simhash" and self.verifier == "distance":
            raise ConfigError(
                f"candidates ({shown(self.candidates)}) must be 'simhash' for the verifier 'distance'"
            )
        if self.hash_seed and self.hasher not in HASHERS:
            raise ConfigError(f"hash_seed ({self.hash_seed}) must be 0 for a hasher of your own")

    @classmethod
    def of(cls, recipe: str = DEFAULT, **values: Any) -> Self:
        """Return the configuration of a named *recipe*, one of `dedup.recipes.recipe.RECIPES`.

        *values* go before those of the recipe.  Raises `ConfigError` for an unknown name.

        >>> DedupConfig.of("both", bands=32).candidates
        'both'
        """
        _check_member("recipe", recipe, tuple(RECIPES))
        return cls(**{**RECIPES[recipe], **values})


def _check_type(name: str, value: object, default: object) -> None:
    wanted = type(default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (type(value) is wanted or (wanted is float and is_number)):
        raise ConfigError(f"{name} ({shown(value)}) must be of type {wanted.__name__}")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} ({shown(value)}) must be {low:g} to {high:g}")


def _check_member(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name} ({shown(value)}) must be one of {', '.join(known)}")


def _check_name_or_path(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known and "." not in value:
        raise ConfigError(
            f"{name} ({shown(value)}) must be one of {', '.join(known)}, or the path of a function"
        )
