"""A terminal for the commands in ``console`` blocks, in a folder that looks like a clone."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, Self

from sybil import Example

from tests.support.crawling import ROOT, environment, wait_until

_SERVED = (
    "exec 3< <(scrapy example --serve 2> /dev/null); read -r <&3; {}; code=$?; kill $!; (exit $code)"
)
# What makes or changes an environment, and what is left of it where there is one already.
STAND_INS = {
    "git clone https://github.com/scrapy-dedup/scrapy-dedup": "true",
    "cd scrapy-dedup": "true",
    "make crawl": "scrapy example",
    "make test": "true",
    "source .venv/bin/activate": "true",
    "scrapy dedup try https://example.com/": _SERVED.format("scrapy dedup try http://127.0.0.1:8765/"),
    "pip install ./scrapy-dedup": "true",
    "(cd scrapy-dedup && scrapy example --serve) &": "scrapy example --serve &",
    # The reader has no project: the settings of this one would not be theirs.
    "scrapy runspider museum.py": "rm scrapy.cfg; scrapy runspider museum.py",
    'pip install ".[fast]"': "true",
    "pip install rjieba": "true",
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
    """Runs commands one by one, each of which must end with 0; one that ends in ``&`` goes on.

    ``.venv`` is the environment of the tests, so that what `make` has installed is found.
    """

    def __init__(self, folder: Path) -> None:
        shutil.copy(ROOT / "scrapy.cfg", folder)
        (folder / ".venv").symlink_to(sys.prefix)
        own = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "100",
            "TERM": "dumb",
        }
        self._bash: Any = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment() | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
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
