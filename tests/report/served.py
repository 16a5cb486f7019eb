"""``dedup report --serve`` as its user starts it."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

CODE = "from dedup.cli import main; main()"


class Answer(NamedTuple):
    status: int
    text: str
    headers: dict[str, str]


@contextmanager
def served(path: Path, *options: str) -> Iterator[tuple[str, Callable[..., Answer]]]:
    """Run the server, and give its address and a function that asks it."""
    command = [sys.executable, "-u", "-c", CODE, "report", str(path), "--serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            assert found

            def ask(path: str = "/", verb: str = "GET", body: Any = None, **headers: str) -> Answer:
                with closing(HTTPConnection("127.0.0.1", int(found[1]), timeout=60)) as connection:
                    connection.request(verb, path, body, headers={**headers})
                    answer = connection.getresponse()
                    names = {name.lower(): value for name, value in answer.getheaders()}
                    return Answer(answer.status, answer.read().decode(), names)

            yield found[0], ask
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
