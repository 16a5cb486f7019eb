"""The compiled parts: the same answers as the Python code, sooner.

They are built when the package is installed with a C compiler at hand, and everything works without
them.  A part is not used where it might be wrong: by the environment variable ``DEDUP_PURE``, with a
release of lxml or libxml2 that nobody has tried, where it was made of other Cython or C than what is
installed (an editable installation is compiled once and edited often), or where it does not give what
Python gives for one page.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

PURE = "DEDUP_PURE"
# Releases whose trees were walked, the first and the one behind the last.
LXML = ((5, 0), (7, 0))
LIBXML2 = ((2, 10), (2, 16))

MODULES = ("_pages", "_search")

_given_up: dict[str, str] = {}


def pages() -> Any:
    """Return the module `_pages`, None where it is not to be used."""
    return None if "_pages" in _given_up else _module("_pages")


def search() -> Any:
    """Return the module `_search`, None where it is not to be used."""
    return None if "_search" in _given_up else _module("_search")


def give_up(name: str, why: str) -> None:
    """Use the module *name* no more in this process, because of *why*, and say so once."""
    if name not in _given_up:
        _given_up[name] = why
        logger.warning("The compiled part %s is not used: %s; Python does its work, slower", name, why)


def status() -> str:
    """Return which code runs: ``compiled``, or ``pure Python`` and why."""
    reasons = {reason for name in MODULES if (reason := why_not(name))}
    return f"pure Python: {'; '.join(sorted(reasons))}" if reasons else "compiled"


def why_not(name: str) -> str:
    """Return why the module *name* is not used, "" if it is."""
    return "" if _module(name) and name not in _given_up else _given_up.get(name) or _reason(name)


@cache
def _module(name: str) -> Any:
    return None if _reason(name) else import_module(f"dedup.native.{name}")


@cache
def _reason(name: str) -> str:
    """Return why the module *name* cannot be used, "" if it can; no tree is touched before that."""
    if os.environ.get(PURE, "0") not in {"", "0"}:
        return f"{PURE} is set"
    if sys.byteorder != "little":
        return "this machine stores numbers the other way round"
    if name == "_pages" and (reason := _strange_parser()):
        return reason
    try:
        module = import_module(f"dedup.native.{name}")
        is_of_these = digest_of(name) == module.SOURCES
    except ModuleNotFoundError:
        return "it was not built"
    except Exception as error:  # whatever a build for another release of lxml or Python raises
        return f"it cannot be loaded ({type(error).__name__}: {error})"
    return "" if is_of_these else "it was built from other sources; install the package again"


def _strange_parser() -> str:
    from lxml import etree

    for what, version, (first, behind) in (
        ("lxml", etree.LXML_VERSION, LXML),
        ("libxml2", etree.LIBXML_VERSION, LIBXML2),
    ):
        if not first <= version[:2] < behind:
            return f"it was not tried with {what} {'.'.join(map(str, version))}"
    return ""


def digest_of(module: str) -> str:
    """Return the digest of the sources of *module*, whatever their line ends are."""
    found = blake2b(digest_size=16)
    for name in (f"{module}.pyx", "fold.h"):
        found.update((Path(__file__).parent / name).read_text("utf-8").encode() + b"\0")
    return found.hexdigest()
