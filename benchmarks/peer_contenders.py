"""The contenders of `benchmarks.peers`: each folds pages, compares them, and asks and adds them one by one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.accuracy.peers import PEERS
from benchmarks.accuracy.structural_peer import environment
from dedup import Detector, Page, SQLiteIndex, compare, fingerprint

OURS = "scrapy-dedup"
FAISS = "faiss, IndexBinaryFlat"
TEXT_DEDUP = ("text-dedup SimHash", "text-dedup MinHash")
TEXT_DEDUP_DISTANCE = 3
WORKER = Path(__file__).with_name("peer_text_dedup.py")


@dataclass(frozen=True, slots=True)
class Document:
    """A page on disk and its text."""

    path: str
    text: str


class Contender(Protocol):
    """Folds a document, compares two signatures (higher is more alike), and asks and adds one."""

    threshold: float | None

    def prepared(self, document: Document) -> Any:
        """Return what `sign` is given; this is not timed."""

    def sign(self, given: Any) -> Any: ...

    def likeness(self, a: Any, b: Any) -> float: ...

    def repeats(self, number: int, given: Any) -> bool:
        """Return whether a page like it was added before; if not, add it."""


class Ours:
    threshold: float | None = 1.0

    def __init__(self, folder: Path) -> None:
        self._detector = Detector(SQLiteIndex(folder / "pages.db"))

    def prepared(self, document: Document) -> Page:
        page = Page.from_html(Path(document.path).read_bytes(), url=f"file://{document.path}")
        assert page.text is not None  # read before the clock runs, as for all others
        return page

    def sign(self, given: Page) -> Any:
        return fingerprint(given)

    def likeness(self, a: Any, b: Any) -> float:
        return float(compare(a, b).is_duplicate)

    def repeats(self, number: int, given: Page) -> bool:  # noqa: ARG002
        return not self._detector.check(given).kept


class Simhashes:
    """faiss on the simhashes of this project."""

    threshold: float | None = -10

    def __init__(self, _folder: Path) -> None:
        import faiss

        faiss.omp_set_num_threads(1)  # others wait for work by using the processor
        self._index = faiss.IndexBinaryFlat(64)

    prepared = Ours.prepared

    def sign(self, given: Page) -> Any:
        return np.frombuffer(fingerprint(given).content_simhash.to_bytes(8, "little"), np.uint8)[None]

    def likeness(self, a: Any, b: Any) -> float:
        return -float(np.bitwise_count(a ^ b).sum())

    def repeats(self, number: int, given: Page) -> bool:  # noqa: ARG002
        simhash = self.sign(given)
        if self._index.range_search(simhash, 11)[0][1]:  # less than 11
            return True
        self._index.add(simhash)
        return False


class Reused:
    """A peer of `benchmarks.accuracy`, with the index that comes with it, if one does."""

    def __init__(self, name: str) -> None:
        self._peer = PEERS[name]
        self.threshold = self._peer.threshold
        self._index = INDEXES.get(name, lambda: None)()

    def prepared(self, document: Document) -> str:
        return document.text

    def sign(self, given: str) -> Any:
        return self._peer.sign(given)

    def likeness(self, a: Any, b: Any) -> float:
        return self._peer.likeness(a, b)

    def repeats(self, number: int, given: str) -> bool:
        signature = self.sign(given)
        return self._index is not None and self._index(str(number), signature)


def _simhash_index() -> Callable[[str, int], bool]:
    from simhash import Simhash, SimhashIndex

    index = SimhashIndex([], k=2)

    def repeats(name: str, value: int) -> bool:
        if index.get_near_dups(Simhash(value)):
            return True
        index.add(name, Simhash(value))
        return False

    return repeats


def _datasketch_index() -> Callable[[str, Any], bool]:
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=0.9, num_perm=128)

    def repeats(name: str, signature: Any) -> bool:
        if index.query(signature):
            return True
        index.insert(name, signature)
        return False

    return repeats


def _rensa_index() -> Callable[[str, Any], bool]:
    from rensa import RMinHashDeduplicator

    index = RMinHashDeduplicator(threshold=0.8, num_perm=128, use_lsh=True, num_bands=16)
    return lambda name, signature: not index.add(name, signature)


INDEXES: dict[str, Callable[[], Any]] = {
    "1e0ng simhash": _simhash_index,
    "datasketch MinHash": _datasketch_index,
    "rensa R-MinHash": _rensa_index,
}
# Each with the packages that it needs beside ours.
CONTENDERS: dict[str, str] = {
    OURS: "",
    **{name: peer.module for name, peer in PEERS.items()},
    FAISS: "faiss",
}


def contender_of(name: str, folder: Path) -> Contender:
    """Return the contender *name*, a key of `CONTENDERS`; it may keep files in *folder*."""
    if name == OURS:
        return Ours(folder)
    return Simhashes(folder) if name == FAISS else Reused(name)


def text_dedup_python(cache: Path) -> Path:
    """Return the Python of an environment with text-dedup, made in *cache*; raises `PeerError`."""
    return environment(cache, "text-dedup", ["text-dedup"], "text_dedup.minhash")


def write_texts(path: Path, texts: Sequence[str]) -> None:
    """Write *texts* to *path*, as `text_dedup_signatures` and the commands of text-dedup read them."""
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")


def text_dedup_signatures(
    python: Path, texts: Path
) -> tuple[list[float], list[int | None], list[set[Any] | None]]:
    """Return what text-dedup makes of *texts*: the seconds of its two methods, simhashes, and bands.

    Two texts with a band in common are copies; None stands for a text that it makes nothing of.
    Raises `CalledProcessError`.
    """
    done = subprocess.run([python, WORKER, texts], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    simhashes = [None if digits is None else int(digits, 16) for digits in told["simhashes"]]
    bands = [None if found is None else set(enumerate(found)) for found in told["bands"]]
    return told["seconds"], simhashes, bands


def reason_of(error: Exception) -> str:
    """Return the last line of what a process has said, or else of *error*."""
    return (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
