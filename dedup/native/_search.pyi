from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

SOURCES: str

_Block = tuple[NDArray[np.uint64], NDArray[np.int64], int, int]

def near_in_chunks(rows: Iterable[tuple[bytes]], simhash: int, most: int) -> bytes: ...
def similarity(a: bytes, b: bytes) -> float: ...
def similarities(a: bytes, many: list[bytes]) -> list[float]: ...
def pair_similarities(
    sketches: NDArray[np.uint8], a: NDArray[np.int64], b: NDArray[np.int64], out: NDArray[np.float64]
) -> None: ...
def shared_hashes(
    hashes: NDArray[np.uint32],
    starts: NDArray[np.int64],
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    limits: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None: ...
def lost_hashes(page: bytes, kept: bytes, most: int) -> tuple[int, int]: ...

class Blocks:
    def __init__(self, blocks: list[_Block]) -> None: ...
    def near(self, tail: NDArray[np.uint64], size: int, simhash: int, most: int) -> bytes: ...
