"""What a tag must agree with before it is released."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

from dedup import __version__
from tests.crawling import ROOT

SCRIPT = ROOT / ".github" / "release.py"
SOURCE = '__all__ = []\n__version__ = "1.2.0"\n'
CHANGELOG = """# Changelog

All changes.

## 1.2.0 (2026-02-03)

- New.

  More of it.

## 1.1.0 (2026-01-01)

- Old.
"""


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notes_are_the_section_of_the_tag(release: ModuleType) -> None:
    assert release.notes_of("v1.2.0", SOURCE, CHANGELOG) == "- New.\n\n  More of it."
    first = CHANGELOG[: CHANGELOG.index("## 1.1.0")]
    assert release.notes_of("v1.2.0", SOURCE, first) == "- New.\n\n  More of it."


@pytest.mark.parametrize(
    ("tag", "source", "changelog", "says"),
    [
        ("1.2.0", SOURCE, CHANGELOG, "must be v and the version"),
        ("v1.1.0", SOURCE, CHANGELOG, "must be v and the version"),
        ("v1.2.0", "", CHANGELOG, "must be v and the version (none)"),
        ("v1.2.0", SOURCE, "# Changelog", "must be ## 1.2.0"),
        ("v1.2.0", SOURCE, CHANGELOG.replace("1.2.0", "1.3.0"), "must be ## 1.2.0"),
        ("v1.2.0", SOURCE, CHANGELOG.replace("2026-02-03", "unreleased"), "the date"),
        ("v1.2.0", SOURCE, CHANGELOG.replace("- New.\n\n  More of it.", ""), "is empty"),
    ],
)
def test_what_is_not_ready_is_named(
    release: ModuleType, tag: str, source: str, changelog: str, says: str
) -> None:
    with pytest.raises(release.NotReadyError) as found:
        release.notes_of(tag, source, changelog)
    assert says in str(found.value)


def test_this_version_will_have_notes(release: ModuleType) -> None:
    source, changelog = (ROOT / "dedup" / "__init__.py", ROOT / "CHANGELOG.md")
    dated = changelog.read_text("utf-8").replace("(unreleased)", "(2026-01-01)", 1)
    assert release.notes_of(f"v{__version__}", source.read_text("utf-8"), dated)


def test_a_wrong_tag_ends_the_script_with_an_error() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "v0.0.0"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "the tag v0.0.0 must be" in done.stderr
