"""Whatever pages say, a terminal shows it and does nothing else: the commands run in a real one."""

import json
import os
import re
import sys
import unicodedata
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest

from dedup import DedupConfig, Detector, SQLiteIndex
from tests.support.commands import with_index
from tests.support.crawling import ROOT
from tests.support.pages import edited, page, text

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals here")]

COLUMNS, LINES = 100, 4000
ACTS = (
    "\x1b]0;pwned\x07\x1b]8;;http://evil/\x1b\\\x1b]52;c;cHduZWQ=\x07\x1b[2J\x1b[H\x1bc\x1b[?1049h"
    "\x9b31m\x9dpwned\x9c\u202e\u2066\u200b\x08\x08\x7f\r\n\x0b\x0c\u2028"
)
MARKUP = "[red]red[/red] [link=http://evil/]link[/link] [/] :smile: [bold"
EVIL = f"{ACTS}{MARKUP}"
URL = f"http://a.example/{EVIL}"
CONFIG = DedupConfig(store_pages=True)

# What the commands write themselves: styles, and a line that comes and goes.
_OUR_OWN = re.compile(r"\x1b\[[0-9;]*m|\r\x1b\[K|\r\n")
_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))

_RUNNER = """
import json, sys
from dedup.cli import main
for arguments in json.loads(open(sys.argv[1]).read()):
    try:
        main(arguments)
    except SystemExit:
        pass
"""


def evil_index(path: Path) -> Path:
    contents = {URL: text(1), f"{URL}2": edited(1), "http://b.example/3": f"{text(1)} {EVIL} {EVIL * 3}"}
    contents |= {f"http://b.example/{number}": text(2) for number in (4, 5)}
    with SQLiteIndex(path) as index:
        with Detector(index, CONFIG, spider=EVIL, action=EVIL) as detector:
            for url, content in contents.items():
                found = page(content, url)
                title, said = f"{EVIL}\x00{'x' * 10**6}", f"{content} {EVIL} \ud800"
                tags, depths = (*found.tags, EVIL), (*found.depths, 1)
                detector.check(replace(found, title=title, text=said, tags=tags, depths=depths))
            detector.close(EVIL)
        index.ledger.forget(url="http://b.example/4")
    return path


def on_a_terminal(folder: Path, commands: list[list[str]]) -> str:
    """Return all that the commands write to a terminal, as it is."""
    jobs = folder / "commands.json"
    jobs.write_text(json.dumps(commands))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    kept |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    how: Any = {"cwd": str(ROOT), "dimensions": (50, COLUMNS), "timeout": 300, "encoding": "utf-8"}
    child = pexpect.spawn(sys.executable, ["-c", _RUNNER, str(jobs)], env=kept, **how)
    parts: list[str] = []
    with suppress(pexpect.EOF):  # `read` takes minutes for some megabytes
        while True:
            parts.append(child.read_nonblocking(1 << 16))
    child.close()
    written = "".join(parts)
    assert child.exitstatus == 0, written
    return written


def test_a_terminal_shows_what_a_page_says_and_does_nothing_else(tmp_path: Path) -> None:
    index = evil_index(tmp_path / "pages.db")
    commands = [
        *(["explain", url] for url in ("http://b.example/3", "http://b.example/5", URL)),
        ["explain", "http://b.example/3", "http://b.example/5"],
        ["explain", f"{text(1)} {URL}"],
        *(["restore", "--list", name] for name in ("dropped", "orphans", "withheld")),
        *(["rules"], ["report"], ["check"]),
    ]
    written = on_a_terminal(tmp_path, [with_index(command, index) for command in commands])
    rest = _OUR_OWN.sub("\n", written).replace("\n", "")
    assert not {character for character in rest if unicodedata.category(character) in _ACTING}
    assert not re.search(r"\x1b[^\[]|\x1b\[[0-9;?]*[^0-9;?mKAlh]", written)
    screen = pyte.Screen(COLUMNS, LINES)
    pyte.Stream(screen).feed(written)
    shown = "".join(line.rstrip() for line in screen.display)
    assert (screen.title, screen.icon_name) == ("", "")
    assert "\\x1b]0;pwned\\x07" in shown  # what was written, escaped
    assert "[link=http://evil/]link[/link]" in shown
    assert "Traceback" not in shown
