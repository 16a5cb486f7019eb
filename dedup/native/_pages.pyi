from collections.abc import Callable, Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

_Array = NDArray[Any]
_Bits = Mapping[str, int]
_Describe = Callable[[int], list[tuple[int, tuple[int, ...]]]]
_Segment = Callable[[str], Iterable[str]]
_Step = Callable[..., str]

def __getattr__(name: str) -> int: ...  # members of enumerations
def take_characters(describe: _Describe, prepare: Callable[[str], str]) -> None: ...
def take_tags(tags: _Bits, roles: _Bits, words_in: Callable[[str, str], str]) -> None: ...

class Walk:
    text: str
    main: str | None
    aside: str
    fallbacks: str
    title: str
    canonical: str
    language: str
    tags: list[str]
    depths: list[int]
    links: list[str]
    alternates: list[tuple[str, str]]
    told: list[str]
    places: list[str]
    asides: list[bool]
    said: str
    def __init__(self, root: Any, *, step: _Step | None = None, has_controls: bool = True) -> None: ...

def rough_words(text: str) -> float: ...
def lines(text: str) -> str: ...
def spaced(text: str) -> bytes: ...
def tokens(text: str, segment: _Segment) -> list[str]: ...
def kind_of(token: str) -> int: ...
def structure(tags: tuple[str, ...], depths: tuple[int, ...], weights: _Array, run: int) -> int: ...

class Content:
    def __init__(self, segment: _Segment, roots: Callable[[_Array], _Array], **sizes: int) -> None: ...
    def __call__(
        self, text: str, title: _Array, own: _Array
    ) -> tuple[int, bytes, int, int, int, int, bytes, bytes, bytes]: ...

def similarity(a: bytes, b: bytes) -> float: ...
def lost_hashes(page: bytes, kept: bytes, most: int) -> tuple[int, int]: ...

class Blocks:
    def __init__(self, blocks: list[tuple[_Array, _Array, int, int]]) -> None: ...
    def near(self, tail: _Array, size: int, simhash: int, most: int) -> bytes: ...
