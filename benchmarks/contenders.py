"""The contenders of `benchmarks.peers`: each asks about pages one by one, and adds those that it keeps.

All but this project get the text that `Page` extracts from a document, so that only the methods are
compared, and split it into tokens by `dedup.reading.tokens`, which splits Chinese, unless they split texts
themselves.  Each has the threshold that its documentation names.
"""

from __future__ import annotations

import json
import subprocess
import venv
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dedup import Detector, Page, SQLiteIndex, fingerprint
from dedup.reading.tokens import tokens

OURS = "scrapy-dedup"
TEXT_DEDUP = ("text-dedup SimHash", "text-dedup MinHash")
TEXT_DEDUP_DISTANCE = 3
WORKER = Path(__file__).with_name("peer_text_dedup.py")
PERMUTATIONS = 128

Repeats = Callable[[Page], bool]
"""Returns whether a page repeats one that was kept before; if not, it is kept."""


class PeerError(Exception):
    """A peer that cannot be made to run; the message says why."""


def _ours(folder: Path) -> Repeats:
    detector = Detector(SQLiteIndex(folder / "pages.db"))
    return lambda page: not detector.check(page).kept


def _simhash(_: Path) -> Repeats:
    """1e0ng's index within a distance of 2, its default."""
    from simhash import Simhash, SimhashIndex

    index = SimhashIndex([], k=2)

    def repeats(page: Page) -> bool:
        try:
            found = Simhash(page.text)
        except OverflowError:
            # numpy 2 refuses to multiply bytes with Python integers above 255, not with its own.
            counts = Counter(Simhash("")._tokenize(page.text))
            found = Simhash({feature: np.int64(count) for feature, count in counts.items()})
        if index.get_near_dups(found):
            return True
        index.add(page.url, found)
        return False

    return repeats


def _datasketch(_: Path) -> Repeats:
    """MinHashLSH with the Jaccard similarity .9, its default."""
    from datasketch import LeanMinHash, MinHash, MinHashLSH

    index = MinHashLSH(threshold=0.9, num_perm=PERMUTATIONS)

    def repeats(page: Page) -> bool:
        signature = MinHash(num_perm=PERMUTATIONS)
        words = set(tokens(page.text))
        signature.update_batch([word.encode("utf-8", "surrogatepass") for word in words])
        if index.query(signature := LeanMinHash(signature)):
            return True
        index.insert(page.url, signature)
        return False

    return repeats


def _rensa(_: Path) -> Repeats:
    """R-MinHash with the Jaccard similarity .8, as in its README."""
    from rensa import RMinHash, RMinHashDeduplicator

    index = RMinHashDeduplicator(threshold=0.8, num_perm=PERMUTATIONS, use_lsh=True, num_bands=16)

    def repeats(page: Page) -> bool:
        signature = RMinHash(num_perm=PERMUTATIONS, seed=42)
        words = tokens(page.text)
        signature.update([word.encode("utf-8", "replace").decode() for word in words])
        return not index.add(page.url, signature)

    return repeats


def _faiss(_: Path) -> Repeats:
    """faiss on the simhashes of this project, within 10 bits, unverified."""
    import faiss

    faiss.omp_set_num_threads(1)  # others wait for work by using the processor
    index = faiss.IndexBinaryFlat(64)

    def repeats(page: Page) -> bool:
        simhash = fingerprint(page).content_simhash.to_bytes(8, "little")
        code = np.frombuffer(simhash, np.uint8)[None]
        if index.range_search(code, 11)[0][1]:  # less than 11
            return True
        index.add(code)
        return False

    return repeats


# Each with the package that it needs beside ours.
CONTENDERS: dict[str, tuple[str, Callable[[Path], Repeats]]] = {
    OURS: ("", _ours),
    "1e0ng simhash": ("simhash", _simhash),
    "datasketch MinHash": ("datasketch", _datasketch),
    "rensa R-MinHash": ("rensa", _rensa),
    "faiss, IndexBinaryFlat": ("faiss", _faiss),
}


def missing() -> dict[str, str]:
    """Return why contenders cannot be run here, by name."""
    return {
        name: f"{package} is not installed"
        for name, (package, _) in CONTENDERS.items()
        if package and not find_spec(package)
    }


def environment(cache: Path, name: str, requirements: Sequence[str], module: str) -> Path:
    """Return the Python of an environment with *requirements* in *cache*, made if need be.

    Raises `PeerError` with the last line of the error if *module* cannot be imported there.
    """
    python = cache / name / "bin" / "python"
    try:
        if not python.exists():
            venv.create(cache / name, with_pip=True)
        imports = [str(python), "-c", f"import {module}"]
        if subprocess.run(imports, capture_output=True, check=False).returncode:
            install = [str(python), "-m", "pip", "install", "--quiet", *requirements]
            for command in (install, imports):
                subprocess.run(command, check=True, capture_output=True, text=True)
    except (subprocess.CalledProcessError, OSError) as error:
        raise PeerError(reason_of(error)) from error
    return python


def text_dedup_python(cache: Path) -> Path:
    """Return the Python of an environment with text-dedup, made in *cache*; raises `PeerError`."""
    return environment(cache, "text-dedup", ["text-dedup"], "text_dedup.minhash")


def text_dedup_signatures(
    python: Path, texts: Sequence[str], folder: Path
) -> tuple[list[float], list[int | None], list[set[Any] | None]]:
    """Return what text-dedup makes of *texts*: the seconds of its two methods, simhashes, and bands.

    Two texts with a band in common are copies; None stands for a text that it makes nothing of.
    Raises `CalledProcessError`.
    """
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    done = subprocess.run([python, WORKER, path], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    simhashes = [None if digits is None else int(digits, 16) for digits in told["simhashes"]]
    bands = [None if found is None else set(enumerate(found)) for found in told["bands"]]
    return told["seconds"], simhashes, bands


def reason_of(error: Exception) -> str:
    """Return the last line of what a process has said, or else of *error*."""
    return (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
