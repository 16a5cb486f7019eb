"""Everything that the README and `docs/` show is done as it is written; the reference is complete."""

import doctest
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from scrapy.settings import Settings
from sybil import Document, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

import dedup
from dedup import plugin
from dedup.plugin.addon import read_settings
from dedup.settings import PREFIX, setting_names
from tests.documentation.shell import STAND_INS, Shell
from tests.support.crawling import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Where the links of the README lead, which is also read elsewhere.
BLOB = "https://github.com/scrapy-dedup/scrapy-dedup/blob/main/"
_FILE = re.compile(r"^<!-- file: (\S+) -->\n+^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"^```(console|python)$", re.MULTILINE)


def name(document: Path) -> str:
    return document.relative_to(ROOT / "docs").as_posix() if document.parent != ROOT else document.name


def documents_to_run() -> list[Any]:
    found = []
    for document in DOCUMENTS:
        languages = set(_RUN.findall(document.read_text("utf-8")))
        if languages:
            marks = [pytest.mark.slow] if "console" in languages else []
            found.append(pytest.param(document, id=name(document), marks=marks))
    return found


def files(document: Document) -> list[tuple[int, str, str]]:
    """Return where the reader is told to write a file: a comment ``file: PATH``, then a block."""
    return [(found.start(), found[1], found[2]) for found in _FILE.finditer(document.text)]


@pytest.mark.parametrize("document", documents_to_run())
def test_a_document_holds(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with FileLock(Path(tempfile.gettempdir()) / "scrapy-dedup-documents.lock"), Shell(tmp_path) as shell:
        parsers = (
            lambda text: [Region(at, at + 1, parsed, shell.write) for at, *parsed in files(text)],
            CodeBlockParser("console", shell.evaluate),
            PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS),
        )
        parsed = Sybil(parsers).parse(document)
        for example in parsed.examples():
            example.evaluate()
    shown = {key: value for key, value in parsed.namespace.items() if key.startswith(PREFIX)}
    read_settings(Settings(shown))


def test_make_does_what_stands_in_for_it() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile.split("\ncrawl:")[1].split("\n\n")[0]
    assert recipe.splitlines()[1:] == [f"\t$(BIN)/{STAND_INS['make crawl']}"]
    for target in (line.removeprefix("make ") for line in STAND_INS if line.startswith("make ")):
        assert f"\n{target}:" in makefile


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_setting_that_is_named_exists(document: Path) -> None:
    named = set(re.findall(rf"(?<!_){PREFIX}[A-Z]+(?:_[A-Z]+)*", document.read_text("utf-8")))
    assert named <= set(setting_names())


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_link_into_the_repository_leads_somewhere_and_every_test_is_there(document: Path) -> None:
    text = document.read_text("utf-8")
    for path in re.findall(r"`(?:tests/)?((?:\w+/)?test_\w+\.py)`", text):
        assert (ROOT / "tests" / path).exists(), path
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    for address in targets:
        target = address.removeprefix(BLOB)
        if target != address:
            assert (ROOT / target.split("#")[0]).exists(), target
        elif not target.startswith(("http:", "https:", "#")):
            assert (document.parent / target.split("#")[0]).exists(), target


# The reference is complete

REFERENCE = ROOT / "docs/reference"


def test_every_verdict_is_described() -> None:
    table = (REFERENCE / "stats.md").read_text("utf-8").split("| verdict |")[1]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert named == [reason.value for reason in dedup.Reason]


def test_every_public_name_is_in_the_python_reference() -> None:
    text = (REFERENCE / "python.md").read_text("utf-8")
    assert set(dedup.__all__) <= set(re.findall(r":: dedup\.(\w+)$", text, re.MULTILINE))
    assert all(hasattr(dedup, name) for name in dedup.__all__)
    named = re.findall(r":: dedup\.plugin\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(plugin.__all__)
