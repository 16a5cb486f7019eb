"""A terminal for the commands in ``console`` blocks, in a folder that looks like a clone."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Self

from sybil import Example

from tests.crawling import ROOT, TIMEOUT, environment

_SERVED = "exec 3< <(scrapy example --serve 2> /dev/null); read -r <&3; {}; code=$?; kill $!; exit $code"
# What makes or changes an environment, and what is left of it where there is one already.
STAND_INS = {
    "git clone https://github.com/scrapy-dedup/scrapy-dedup": "true",
    "cd scrapy-dedup": "true",
    "make crawl": "scrapy example",
    "make test": "true",
    "source .venv/bin/activate": "true",
    "scrapy dedup try https://example.com/": _SERVED.format("scrapy dedup try http://127.0.0.1:8765/"),
    # The reader has no project: the settings of this one would not be theirs.
    "scrapy runspider museum.py": _SERVED.format("rm scrapy.cfg; scrapy runspider museum.py"),
    'pip install "scrapy-dedup[fast]"': "true",
    'pip install "scrapy-dedup[report]"': "true",
}
_PROMPT = "$ "


@dataclass(frozen=True, slots=True)
class Command:
    """A command with the output that the documentation shows of it, empty for none."""

    line: str
    output: str


def commands(block: str) -> Iterator[Command]:
    """Yield the commands of a ``console`` block: a prompt, the command, what it prints.

    A line that ends in a backslash is continued by the next one.

    >>> [command.line for command in commands("$ ls\\nfile\\n$ cd \\\\\\n  folder\\n")]
    ['ls', 'cd    folder']
    """
    lines = iter(block.replace("\\\n", " ").splitlines())
    line, output = "", list[str]()
    for text in lines:
        if text.startswith(_PROMPT):
            if line:
                yield Command(line, "\n".join(output))
            line, output = text.removeprefix(_PROMPT), []
        else:
            output.append(text)
    if line:
        yield Command(line, "\n".join(output))


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


@dataclass(slots=True)
class Shell:
    """Runs commands one by one, each of which must end with 0; one that ends in ``&`` goes on
    until ``kill %N``, or else to the end.

    ``.venv`` is the environment of the tests, so that what `make` has installed is found.
    """

    folder: Path
    _background: list[subprocess.Popen[str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        shutil.copy(ROOT / "scrapy.cfg", self.folder)
        (self.folder / ".venv").symlink_to(sys.prefix)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._background:
            self._end(process)

    def evaluate(self, example: Example) -> str | None:
        """Run the commands of a block; return what went wrong, None for nothing."""
        for command in commands(str(example.parsed)):
            code, printed = self._run(command)
            if code:
                return f"$ {command.line}\nended with {code} and printed\n{printed}"
            if command.output.strip() and not shows(command.output, printed):
                return f"$ {command.line}\nprinted\n{printed}\nand not\n{command.output}"
        return None

    def write(self, example: Example) -> None:
        """Write the file that the reader is told to write, a path and a text."""
        path, text = example.parsed
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, "utf-8")

    def _run(self, command: Command) -> tuple[int, str]:
        """Return the exit code of a command and what it printed."""
        line = STAND_INS.get(command.line, command.line)
        words = shlex.split(line, comments=True)
        if words[0] == "cd":
            self.folder = (self.folder / words[1]).resolve()
            return 0, ""
        if words[0] == "kill":
            self._end(self._background.pop(int(words[1].removeprefix("%")) - 1))
            return 0, ""
        if words[-1] == "&":
            return 0, self._start(shlex.join(words[:-1]), command.output)
        process = self._process(line)
        printed, _ = process.communicate(timeout=TIMEOUT)
        return process.returncode, printed

    def _start(self, line: str, wanted: str) -> str:
        """Start what goes on until the document ends; return what it printed up to *wanted* or,
        without, its first line."""
        process = self._process(f"exec {line}")
        self._background.append(process)
        alarm = Timer(TIMEOUT, process.kill)
        alarm.start()
        assert process.stdout is not None
        printed = ""
        for text in process.stdout:
            printed += text
            if not wanted.strip() or shows(wanted, printed):
                break
        alarm.cancel()
        return printed

    def _end(self, process: subprocess.Popen[str]) -> None:
        process.terminate()
        process.communicate(timeout=TIMEOUT)

    def _process(self, line: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _environment(self) -> dict[str, str]:
        own = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "100",
            "TERM": "dumb",
        }
        return environment() | own


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+$", "", text.strip("\n"), flags=re.MULTILINE) + "\n"
