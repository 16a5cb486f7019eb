"""Where a program is installed and filled, and with what."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.dynamic.texts import articles, sayings

FILLS = Path(__file__).parent / "fills"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program is put for one crawl: an empty folder, a port, and the folder of environments."""

    folder: Path
    port: int
    cache: Path

    def fill(self, name: str) -> Path:
        """Copy one of the files of `FILLS` here, its ``{{port}}`` and ``{{folder}}`` filled in."""
        text = (FILLS / name).read_text("utf-8")
        path = self.folder / name
        path.write_text(text.replace("{{port}}", str(self.port)).replace("{{folder}}", str(self.folder)))
        return path

    def python(self, *requirements: str, name: str) -> Path:
        """Return the folder of commands of an environment that has these *requirements*."""
        place = self.cache / name
        if not (place / "ready").exists():
            call([sys.executable, "-m", "venv", place])
            pip = (place / "bin/pip", "install", "-q", "--disable-pip-version-check")
            call([*pip, *requirements])
            (place / "ready").touch()
        return place / "bin"


def threads(language: str, count: int, most: int) -> list[dict[str, object]]:
    """Return *count* articles, each with none to *most* sayings as answers."""
    random, said = Random(7), iter(sayings(language, count * most // 2))
    return [
        {"title": text.title, "body": text.paragraphs, "answers": _taken(said, random.randrange(most))}
        for text in articles(language, count)
    ]


def _taken(said: Iterator[str], count: int) -> list[str]:
    return [text for text, _ in zip(said, range(count), strict=False)]


def call(
    command: Sequence[object],
    *,
    given: object = None,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run *command* with *given* as JSON on its input; what it says goes to standard error."""
    subprocess.run(
        list(map(str, command)),
        input=json.dumps(given).encode(),
        cwd=folder,
        env={**os.environ, **(variables or {})},
        check=True,
        stdout=sys.stderr,
    )


@dataclass(frozen=True, slots=True)
class Revised:
    """The versions of a page, the oldest first: each but the last says something that no other says."""

    title: str
    versions: tuple[str, ...]


def revisions(language: str, count: int) -> list[Revised]:
    """Return *count* articles, each with one to three versions."""
    found, said = [], iter(sayings(language, count))
    for number, text in enumerate(articles(language, count)):
        drafts = [f"{text.whole}\n\n{other}" for other in _taken(said, number % 3)]
        found.append(Revised(text.title, (*drafts, text.whole)))
    return found


def install(packages: Sequence[str]) -> None:
    """Install the Debian *packages* that are not there yet."""
    states = {
        name: subprocess.run(["dpkg", "-s", name], check=False, capture_output=True).returncode
        for name in packages
    }
    if missing := [name for name, state in states.items() if state]:
        command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
        call(command, variables={"DEBIAN_FRONTEND": "noninteractive"})
