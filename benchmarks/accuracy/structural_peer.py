"""The structural score of PyPI's html-similarity, from an environment of its own.

It was written for a parsel of 2019, which does not work with a current cssselect.  So `environment` makes a
virtual environment of versions that fit together, and `structural_worker.py` runs in it.
"""

from __future__ import annotations

import json
import subprocess
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from dedup.reading.charset import encoding_of

NAME = "html-similarity"
# cssselect 1.2 is the newest with the private names that this parsel imports.
REQUIREMENTS = ("html-similarity==0.3.3", "parsel==1.6.0", "cssselect==1.2.0")
WORKER = Path(__file__).with_name("structural_worker.py")


class PeerError(Exception):
    """A peer that cannot be made to run; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The score (0 to 1) of a pair, meaningless where there was an *error*, and its seconds."""

    score: float
    seconds: float
    error: str


def environment(
    cache: Path,
    name: str = NAME,
    requirements: Sequence[str] = REQUIREMENTS,
    module: str = "html_similarity",
) -> Path:
    """Return the interpreter of an environment with *requirements* in *cache*, made if need be.

    Raises `PeerError` with the last line of the error if *module* cannot be imported there.
    """
    folder = cache / name
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            venv.create(folder, with_pip=True)
        if not _imports(python, module):
            _run([str(python), "-m", "pip", "install", "--quiet", *requirements])
            _run([str(python), "-c", f"import {module}"])
    except subprocess.CalledProcessError as error:
        raise PeerError(_last_line(error.stderr or "") or str(error)) from error
    except OSError as error:
        raise PeerError(str(error)) from error
    return python


def structural_answers(
    python: Path, pairs: Sequence[tuple[Path, Path]], done: Callable[[], None]
) -> list[Answer]:
    """Return what the library says about each of *pairs*; *done* hears of each."""
    answers = []
    with subprocess.Popen(
        [str(python), str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        # Written beside: with both pipes full, worker and writer would wait for each other.
        writer = Thread(target=_ask, args=(worker, pairs), daemon=True)
        writer.start()
        for line in worker.stdout:
            answers.append(Answer(*json.loads(line)))
            done()
        writer.join()
    if len(answers) != len(pairs):
        raise PeerError(f"the worker ended after {len(answers)} of {len(pairs)} pairs")
    return answers


def _ask(worker: subprocess.Popen[str], pairs: Sequence[tuple[Path, Path]]) -> None:
    assert worker.stdin is not None
    try:
        with worker.stdin as questions:
            for pair in pairs:
                documents = [(str(path), encoding_of(path.read_bytes())) for path in pair]
                questions.write(json.dumps(documents) + "\n")
    except BrokenPipeError:  # the worker died, which its missing answers show
        return


def _imports(python: Path, module: str) -> bool:
    command = [str(python), "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
