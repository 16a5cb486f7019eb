from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

SOURCES: str
TAG_BITS: dict[str, int]
PARTS: int
LETTER: int
SIGN: int
HAN: int
KANA: int
EXPANDS: int
STRANGE: int
IS_SPACE: int
IS_UNSPACED: int
IS_MARK: int
IS_LETTER: int
MOST_COUNTS: int

def set_characters(describe: Callable[[int], Iterable[tuple[int, int, Any]]]) -> None: ...
def set_tags(
    tags: Mapping[str, int], roles: Mapping[str, int], words_in: Callable[[str, str], str]
) -> None: ...
def set_logarithms(damped: Sequence[float]) -> None: ...
def read(
    root: Any,
) -> (
    tuple[
        str,
        str,
        str,
        str,
        tuple[str, ...],
        tuple[int, ...],
        tuple[tuple[str, str], ...],
        tuple[str, ...],
        int | None,
    ]
    | None
): ...
def placed(root: Any, step: Callable[[str, str, str], str]) -> list[tuple[str, str]] | None: ...
def may_have_long_tag(markup: bytes, long_tag: int) -> bool: ...
def structure(
    tags: tuple[str, ...], depths: tuple[int, ...], weights: NDArray[Any], run: int
) -> int | None: ...

class Content:
    def __init__(
        self,
        segment: Callable[[str], Iterable[str]],
        frequencies: Callable[[], tuple[Any, Any, Any, float]],
        *,
        shingle: int,
        bins: int,
        one_in: int,
        most_sampled: int,
        most_pairs: int,
    ) -> None: ...
    def __call__(self, text: str) -> tuple[int, bytes, bytes, int, int, int, bytes, bytes] | None: ...
