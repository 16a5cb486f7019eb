"""What each compiled module was made of: of other sources it must not be used.

An editable installation is compiled once and edited often, so a module that was made of older sources
than those beside it would give other fingerprints than they say.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parent.parent

SOURCES = {
    "_pages": (
        "native/_pages.pyx",
        "native/fold.h",
        "algorithms/simhash.py",
        "algorithms/sketch.py",
        "algorithms/structure.py",
        "algorithms/terms.py",
        "algorithms/weights.py",
        "reading/compiled.py",
        "reading/dictionary.py",
        "reading/floods.py",
        "reading/tokens.py",
        "reading/walk.py",
        "recipes/compiled.py",
        "recipes/fingerprinter.py",
        "recipes/pairs.py",
        "recipes/sample.py",
        "values/hashes.py",
    ),
    "_search": (
        "native/_search.pyx",
        "native/fold.h",
        "index/blocks.py",
        "index/postings.py",
        "index/facts.py",
        "algorithms/sketch.py",
        "recipes/sample.py",
    ),
}
"""For each module its own source, and the Python modules that do the same."""


def digest_of(module: str) -> str:
    """Return the digest of the sources of *module*, whatever their line ends are."""
    found = blake2b(digest_size=16)
    for name in SOURCES[module]:
        found.update(name.encode() + b"\0" + (ROOT / name).read_text("utf-8").encode() + b"\0")
    return found.hexdigest()
