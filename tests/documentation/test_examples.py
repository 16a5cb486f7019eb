"""Everything that the README and `docs/` show is done as it is written; the reference is complete."""

import doctest
import os
import re
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from threading import Timer
from typing import Any, Self

import pytest
from scrapy.settings import Settings
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

import dedup
from crawler.commands.example import PORT
from dedup import plugin
from dedup.plugin.addon import read_settings
from dedup.settings import PREFIX, setting_names
from tests.support.crawling import ROOT, environment, wait_until

_SERVED = "exec 3< <(scrapy example --serve 2>/dev/null); read -r _ url _ <&3; {}; end=$?; kill $!; (exit $end)"
# What makes or changes an environment, and what is left of it where there is one already.
STAND_INS = {
    **dict.fromkeys(("cd scrapy-dedup", "make test", "source .venv/bin/activate"), "true"),
    **dict.fromkeys((f"pip install {it}" for it in ('".[fast]"', "rjieba", "./scrapy-dedup")), "true"),
    "git clone https://github.com/scrapy-dedup/scrapy-dedup": "true",
    "make crawl": "scrapy example",
    "scrapy dedup try https://example.com/": _SERVED.format("scrapy dedup try $url"),
    "(cd scrapy-dedup && scrapy example --serve) &": "scrapy example --serve &",
    # The reader has no project: the settings of this one would not be theirs.
    "scrapy runspider museum.py": "rm scrapy.cfg; scrapy runspider museum.py",
}
_END = "the command has ended with"
_LONGEST = 300.0


@dataclass(frozen=True, slots=True)
class Command:
    """A command with the output that the documentation shows of it, empty for none."""

    line: str
    output: str


def commands(block: str) -> Iterator[Command]:
    """Yield the commands of a ``console`` block: a prompt, the command, what it prints.

    A line that ends in a backslash is continued by the next one.

    >>> list(commands("$ ls\\nfile\\n$ cd \\\\\\n  folder\\n"))
    [Command(line='ls', output='file\\n'), Command(line='cd    folder', output='')]
    """
    for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield Command(line, output)


def shows(wanted: str, printed: str) -> bool:
    """Whether *printed* is what the documentation shows.

    A line of ``...`` stands for any lines or none, three dots within a line for any text.

    >>> shows("1 page\\n...\\nbye", "1 page\\n2 pages\\nbye\\n"), shows("1 p...", "1 page\\nbye")
    (True, False)
    """
    lines = (
        r"(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
        for line in _plain(wanted).splitlines()
    )
    return re.fullmatch("".join(lines), _plain(printed)) is not None


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+$", "", text.strip("\n"), flags=re.MULTILINE) + "\n"


class Shell:
    """Runs commands one by one, each of which must end with 0; one that ends in ``&`` goes on."""

    def __init__(self, folder: Path, port: int) -> None:
        self._port = port
        shutil.copy(ROOT / "scrapy.cfg", folder)
        (folder / ".venv").symlink_to(sys.prefix)
        own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        own |= {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "COLUMNS": "100", "TERM": "dumb"}
        pipes: Any = {"stdin": PIPE, "stdout": PIPE, "stderr": STDOUT, "text": True}
        self._bash: Any = Popen(["bash"], cwd=folder, env=environment() | own, **pipes)
        self._alarm = Timer(_LONGEST, self._bash.kill)

    def __enter__(self) -> Self:
        self._alarm.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._alarm.cancel()
        self._bash.communicate("kill $(jobs -p) 2> /dev/null\n")

    def evaluate(self, example: Example) -> str | None:
        """Run the commands of a block; return what went wrong, None for nothing."""
        for command in commands(str(example.parsed)):
            line = STAND_INS.get(command.line, command.line)
            line = line.replace("scrapy example", f"scrapy example --port {self._port}")
            if line.endswith("&"):
                self._begin(line, command.output)
                continue
            code, printed = self._run(line)
            if code != "0":
                return f"$ {command.line}\nended with {code} and printed\n{printed}"
            if command.output.strip() and not shows(command.output, printed):
                return f"$ {command.line}\nprinted\n{printed}\nand not\n{command.output}"
        return None

    def write(self, example: Example) -> None:
        """Write the file that the reader is told to write, a path and a text."""
        path, text = example.parsed
        file = Path(self._run("pwd")[1].strip(), path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def _run(self, line: str) -> tuple[str, str]:
        """Return the exit code of a command and what it printed."""
        self._bash.stdin.write(f"{{ {line}\n}} < /dev/null\nprintf '\\n{_END} %s\\n' $?\n")
        self._bash.stdin.flush()
        printed = ""
        for text in self._bash.stdout:
            if text.startswith(_END):
                return text.removeprefix(_END).strip(), printed.removesuffix("\n")
            printed += text
        return "no code: it hangs, or has ended the shell", printed

    def _begin(self, line: str, wanted: str) -> None:
        """Begin what goes on, and wait until it has printed what is *wanted* or, without, a line."""
        log = Path(self._run("mktemp")[1].strip())
        self._run(f"{line.removesuffix('&')} > {log} 2>&1 &")

        def has_begun() -> bool:
            printed = log.read_text()
            return shows(wanted, printed) if wanted.strip() else "\n" in printed

        wait_until(has_begun)


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Where the links of the README lead, which is also read elsewhere.
BLOB = "https://github.com/scrapy-dedup/scrapy-dedup/blob/main/"
_FILE = re.compile(r"^<!-- file: (\S+) -->\n+^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"^```(console|python)$", re.MULTILINE)


def name(document: Path) -> str:
    return document.relative_to(ROOT / "docs").as_posix() if document.parent != ROOT else document.name


def documents_to_run() -> list[Any]:
    languages = {document: _RUN.findall(document.read_text("utf-8")) for document in DOCUMENTS}
    marks = {one: [pytest.mark.slow] * ("console" in found) for one, found in languages.items()}
    return [pytest.param(one, id=name(one), marks=marks[one]) for one in DOCUMENTS if languages[one]]


def files(document: Document) -> list[tuple[int, str, str]]:
    """Return where the reader is told to write a file: a comment ``file: PATH``, then a block."""
    return [(found.start(), found[1], found[2]) for found in _FILE.finditer(document.text)]


@pytest.mark.parametrize("document", documents_to_run())
def test_a_document_holds(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another port than it says: that one may be taken, also by another document."""
    (folder := tmp_path / "reader").mkdir()
    monkeypatch.chdir(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    copy = tmp_path / document.name
    copy.write_text(document.read_text("utf-8").replace(str(PORT), str(port)), "utf-8")
    with Shell(folder, port) as shell:
        parsers = (
            lambda text: [Region(at, at + 1, parsed, shell.write) for at, *parsed in files(text)],
            CodeBlockParser("console", shell.evaluate),
            PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS),
        )
        parsed = Sybil(parsers).parse(copy)
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


REFERENCE = ROOT / "docs/reference"


def test_every_verdict_is_described() -> None:
    table = (REFERENCE / "stats.md").read_text("utf-8").split("| verdict |")[1]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert named == [reason.value for reason in dedup.Reason]


def test_every_public_name_is_in_the_python_reference() -> None:
    text = (REFERENCE / "python.md").read_text("utf-8")
    assert set(dedup.__all__) <= set(re.findall(r":: dedup\.(\w+)$", text, re.MULTILINE))
    assert all(hasattr(dedup, name) for name in dedup.__all__)
    assert sorted(re.findall(r":: dedup\.plugin\.(\w+)$", text, re.MULTILINE)) == sorted(plugin.__all__)
