"""Check that a tag is the version and that the changelog has it; print its section.

``python .github/release.py v1.2.0``
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEADING = re.compile(r"^## (?P<version>\S+) \((?P<date>[^)]*)\)[ \t]*$", re.MULTILINE)
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class NotReadyError(Exception):
    """The tree is not that of a release."""


def notes_of(tag: str, source: str, changelog: str) -> str:
    """Return the section of *tag* in *changelog*, where *source* is what `dedup/__init__.py` says.

    Raises `NotReadyError` if the tag is not the version, or the section is missing, empty, without a
    date, or not the newest.
    """
    versions = VERSION.findall(source)
    if [tag] != [f"v{version}" for version in versions]:
        raise NotReadyError(f"the tag {tag} must be v and the version ({', '.join(versions) or 'none'})")
    sections = [*HEADING.finditer(changelog)]
    if not sections or sections[0]["version"] != tag[1:]:
        raise NotReadyError(f"the newest section of CHANGELOG.md must be ## {tag[1:]}")
    newest = sections[0]
    if not DATE.fullmatch(newest["date"]):
        raise NotReadyError(f"{newest[0]}: the date must be that of the release (YYYY-MM-DD)")
    end = sections[1].start() if sections[1:] else len(changelog)
    notes = changelog[newest.end() : end].strip()
    if not notes:
        raise NotReadyError(f"{newest[0]}: the section is empty")
    return notes


def main(arguments: list[str]) -> str | None:
    """Print the section, or return what is wrong."""
    try:
        (tag,) = arguments
        read = [(ROOT / path).read_text("utf-8") for path in ("dedup/__init__.py", "CHANGELOG.md")]
        print(notes_of(tag, *read))
    except NotReadyError as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
