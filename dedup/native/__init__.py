"""The compiled module: pages to fingerprints, and the search for near ones."""

import sys
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

_BUILD = "install the package again: pip install . (in a clone: make)"


def digest_of_source() -> str:
    """Return the digest of the source, whatever its line ends are."""
    text = Path(__file__).with_name("_pages.pyx").read_text("utf-8")
    return blake2b(text.encode(), digest_size=16).hexdigest()


def check(built_of: str) -> None:
    """Raise `ImportError` unless the module can be used, and was *built_of* the source that is here."""
    if sys.byteorder != "little":
        raise ImportError("dedup needs a machine that stores the lowest byte of a number first")
    if digest_of_source() != built_of:
        raise ImportError(f"dedup.native._pages was built of other sources; {_BUILD}")


def require(module: str) -> None:
    """Raise `ImportError` if *module* was not built for this Python."""
    if find_spec(module) is None:
        raise ImportError(f"{module} is not built for Python {sys.version.split()[0]}; {_BUILD}")


if __name__ == "dedup.native":  # not where it is built
    require("dedup.native._pages")
