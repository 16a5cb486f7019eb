"""What a tag must agree with before it is released, and what the wheel must have."""

import re
import runpy
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain

import pytest

from dedup import __version__
from tests.support.crawling import ROOT, python
from tests.test_architecture import MODULES, imported

SCRIPT = ROOT / ".github" / "release.py"
RELEASE = runpy.run_path(str(SCRIPT))
SOURCE = '__all__ = []\n__version__ = "1.2.0"\n'
NEW, OLD = "## 1.2.0 (2026-02-03)\n\n- New.\n\n  More of it.\n", "## 1.1.0 (2026-01-01)\n\n- Old.\n"
CHANGELOG = f"# Changelog\n\nAll changes.\n\n{NEW}\n{OLD}"


def test_the_notes_are_the_section_of_the_tag() -> None:
    for changelog in (CHANGELOG, CHANGELOG[: CHANGELOG.index("## 1.1.0")]):
        assert RELEASE["notes_of"]("v1.2.0", SOURCE, changelog) == "- New.\n\n  More of it."


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
def test_what_is_not_ready_is_named(tag: str, source: str, changelog: str, says: str) -> None:
    with pytest.raises(RELEASE["NotReadyError"], match=re.escape(says)):
        RELEASE["notes_of"](tag, source, changelog)


def test_this_version_will_have_notes_and_a_wrong_tag_ends_with_an_error() -> None:
    source, changelog = (ROOT / "dedup" / "__init__.py", ROOT / "CHANGELOG.md")
    dated = changelog.read_text("utf-8").replace("(unreleased)", "(2026-01-01)", 1)
    assert RELEASE["notes_of"](f"v{__version__}", source.read_text("utf-8"), dated)
    done = python(str(SCRIPT), "v0.0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the tag v0.0 must be" in done.stderr


ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_wheel_has_all_that_is_no_python() -> None:
    patterns = ABOUT["tool"]["setuptools"]["package-data"]["dedup"]
    paths = [path.relative_to(ROOT / "dedup") for path in (ROOT / "dedup").rglob("*") if path.is_file()]
    others = [path for path in paths if path.suffix not in (".py", ".pyc", ".so", ".pyd")]
    assert others
    assert [path for path in others if not any(path.match(pattern) for pattern in patterns)] == []


def test_what_is_imported_is_declared() -> None:
    project = ABOUT["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared = {re.split(r"[\[<>=]", line)[0] for line in lines}
    # What Scrapy itself needs, and what is Jinja's.
    declared |= {"twisted", "zope-interface", "markupsafe", "parsel"}
    owners = packages_distributions()
    for path, name in imported(MODULES):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top != "dedup":
            names = {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners.get(top, [top])}
            assert names & declared, (path, name)
