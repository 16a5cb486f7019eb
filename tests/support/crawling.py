"""Real crawls for tests: each in a process of its own, because a reactor runs only once.

A crawl is a job, JSON: the class of the process, the spiders (dotted paths) with their arguments,
the settings, whether Scrapy's deprecation warnings are errors, the file that gets the stats.

``KNOBS`` among the settings, a map from the path of a constant to its value, turns constants: a crawl
then waits for less long, and nothing of it is left to chance.  It visits strings and bytes on 127.0.0.1.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from crawler.example import running
from tests.support.forking import forking

ROOT = Path(__file__).parent.parent.parent
TIMEOUT = 120.0

KNOBS = "KNOBS"
WAIT = "dedup.plugin.judge.WAIT"
EXPLORED = "dedup.plugin.middlewares.EXPLORED"
# With 1, a page is on the disk as soon as it is judged.
MOST_GATHERED = "dedup.plugin.settler.MOST_GATHERED"
PAUSE = "dedup.plugin.probes._PAUSE"  # with 0, an address is asked again at once


@dataclass(frozen=True)
class Crawl:
    """What a crawl left: its exit code, stats, items and log, and the stats of further spiders."""

    code: int
    stats: dict[str, Any]
    items: list[dict[str, Any]]
    log: str
    others: list[dict[str, Any]] = field(default_factory=list)

    def dedup(self) -> dict[str, Any]:
        """Return what dedup counted: its stats without their prefix, without times and sizes."""
        others = ("dedup/seconds", "dedup/index/", "dedup/candidates", "dedup/lookups")
        return {
            name.removeprefix("dedup/"): value
            for name, value in self.stats.items()
            if name.startswith("dedup/") and not name.startswith(others)
        }


class Running:
    """A crawl under way, to be waited for or signalled."""

    def __init__(self, folder: Path, job: Mapping[str, Any]) -> None:
        self._folder = folder
        self._log = folder / "log.txt"
        self._process = _forked(run_job, json.dumps(job), output=self._log, errors=self._log)

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until *text* stands in the log so many times."""
        wait_until(lambda: self._log.read_text("utf-8").count(text) >= times or not self.is_alive())
        log = self._log.read_text("utf-8")
        assert log.count(text) >= times, log

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def send(self, number: signal.Signals) -> None:
        if self._process.pid and self.is_alive():
            os.kill(self._process.pid, number)

    def finish(self) -> Crawl:
        """Wait for the end of the crawl and return what it left."""
        code = self.wait()
        result, feed = self._folder / "result.json", self._folder / "items.jsonl"
        stats = json.loads(result.read_text()) if result.exists() else [{}]
        items = [*map(json.loads, feed.read_text("utf-8").splitlines() if feed.exists() else [])]
        return Crawl(code, stats[0], items, self._log.read_text("utf-8"), stats[1:])

    def wait(self) -> int:
        return _ended(self._process, self._log)


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not is_true():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def index_of(folder: Path) -> str:
    """Return where the crawls of *folder* have their index; tests may have it somewhere else."""
    return str(folder / "pages.db")


def started(
    folder: Path,
    spider: str,
    settings: Mapping[str, Any] | None = None,
    arguments: Mapping[str, str] | None = None,
    *,
    others: Sequence[tuple[str, Mapping[str, str]]] = (),
    process: str = "CrawlerProcess",
    strict: bool = True,
) -> Running:
    """Start *spider* with the add-on, its index and feed in *folder*, and *others* in the same process."""
    result, feed = folder / "result.json", folder / "items.jsonl"
    for path in (result, feed):
        path.unlink(missing_ok=True)
    own: dict[str, Any] = {"ADDONS": {"dedup.plugin.Addon": 500}, "DEDUP_INDEX": index_of(folder)}
    own |= {"FEEDS": {str(feed): {"format": "jsonlines"}}, "TELNETCONSOLE_ENABLED": False}
    own["LOG_VERSIONS"] = []  # to find them takes a fifth of a short crawl
    job: dict[str, Any] = {"process": process, "strict": strict, "result": str(result)}
    job |= {"spiders": [(spider, arguments or {}), *others], "settings": own | dict(settings or {})}
    return Running(folder, job)


def crawl(folder: Path, spider: str, *given: Any, **choices: Any) -> Crawl:
    return started(folder, spider, *given, **choices).finish()


def scrapy(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    with TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        code = _ended(_forked(_execute, list(arguments), output=output, errors=errors, cwd=cwd), errors)
        texts = output.read_text("utf-8"), errors.read_text("utf-8")
        return subprocess.CompletedProcess(arguments, code, *texts)


def python(*arguments: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with *variables* in its environment."""
    environment, command = {**os.environ, **variables}, [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def environment() -> dict[str, str]:
    """Return the environment without what would choose another project or settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}


def run_job(text: str) -> int:
    """Crawl as the job *text* says, in this process; return its exit code."""
    from scrapy import signals
    from scrapy.exceptions import ScrapyDeprecationWarning
    from scrapy.utils.misc import load_object

    job = json.loads(text)
    if job["strict"]:
        warnings.simplefilter("error", ScrapyDeprecationWarning)
    turn(job["settings"])
    process = load_object(f"scrapy.crawler.{job['process']}")(job["settings"])
    crawlers = [process.create_crawler(load_object(spider)) for spider, _ in job["spiders"]]

    def save() -> None:
        Path(job["result"]).write_text(json.dumps([_stats(crawler) for crawler in crawlers]))

    for crawler, (_, arguments) in zip(crawlers, job["spiders"], strict=True):
        crawler.signals.connect(save, signals.engine_stopped, weak=False)
        process.crawl(crawler, **arguments)
    process.start()
    return int(process.bootstrap_failed)


def _stats(crawler: Any) -> dict[str, Any]:
    stats = crawler.stats.get_stats().items()
    return {name: value for name, value in stats if not hasattr(value, "year")}


def _execute(arguments: list[str]) -> int:
    from scrapy.cmdline import execute

    with pytest.raises(SystemExit) as end:
        execute(["scrapy", *arguments])
    return int(end.value.code or 0)


def _forked(
    function: Callable[[Any], int], argument: Any, *, output: Path, errors: Path, cwd: Path = ROOT
) -> BaseProcess:
    for path in (output, errors):
        path.write_bytes(b"")
    arguments = (function, argument, str(output), str(errors), str(cwd), environment())
    process = forking().Process(target=_run, args=arguments)
    process.start()
    return process


def _ended(process: BaseProcess, errors: Path) -> int:
    process.join(TIMEOUT)
    if process.exitcode is None:
        process.kill()
        raise AssertionError(f"it hangs:\n{errors.read_text('utf-8')}")
    return process.exitcode


def _run(
    function: Callable[[Any], int], argument: Any, output: str, errors: str, cwd: str, variables: Any
) -> None:
    """Call *function* in a process that was just forked, as if Python had been started for it."""
    gc.freeze()  # what was there before the fork is no garbage; nor does a crawl find, or change, that it is
    vars(gc).update(get_freeze_count=lambda: 0, freeze=lambda: None, unfreeze=lambda: None)
    for path, stream in ((output, sys.stdout), (errors, sys.stderr)):
        with open(path, "ab") as file:
            os.dup2(file.fileno(), stream.fileno())
    os.environ.clear()
    os.environ.update(variables)
    if hasattr(time, "tzset"):
        time.tzset()
    os.chdir(cwd)
    sys.path[0] = cwd
    code = function(argument)
    atexit._run_exitfuncs()
    gc.collect()  # what failed and was never asked about is told when it goes
    sys.exit(code)


def turn(settings: MutableMapping[str, Any]) -> None:
    """Take the knobs out of *settings*, and turn them for the rest of this process."""
    for path, value in settings.pop(KNOBS, {}).items():
        module, _, name = path.rpartition(".")
        found = import_module(module)
        assert hasattr(found, name), path
        setattr(found, name, value)


@contextmanager
def bounds(**values: float) -> Iterator[None]:
    """Give constants such as `MIN_SIMILARITY` other *values* in every module that has them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            found = [module for module in list(sys.modules.values()) if name in vars(module)]
            ours = [module for module in found if module.__name__.startswith(("dedup.", "tests."))]
            assert ours, name
            for module in ours:
                patch.setattr(module, name, value)
        yield


def document(title: str, content: str) -> str:
    return f"<html><head><title>{title}</title></head><body>{content}<a href='/'>home</a></body></html>"


# What is answered at a path: HTML, bytes of another kind, a status without a body, or that nothing is there.
Answer = str | bytes | int | None
NOTHING = 0  # the status of no answer at all: the connection is closed


@contextmanager
def serving(pages: Mapping[str, str | bytes]) -> Iterator[str]:
    """Serve *pages*, a map from path to HTML or to bytes of another kind, while the context lasts.

    HTML that begins with ``/`` is a path to redirect to.  The map may change.  Gives the URL.
    """
    with answering(pages.get) as url:
        yield url


@contextmanager
def answering(answer: Callable[[str], Answer]) -> Iterator[str]:
    """Serve what *answer* gives for a path; see `serving`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = answer(self.path)
            if page == NOTHING:
                return
            status = page if isinstance(page, int) else 404 if page is None else 200
            body = page.encode() if isinstance(page, str) else page if isinstance(page, bytes) else b""
            if page is None:
                body = b"nothing here"
            redirects = isinstance(page, str) and page.startswith("/")
            self.send_response(302 if redirects else status)
            if redirects:
                self.send_header("Location", str(page))
            kind = "application/octet-stream" if isinstance(page, bytes) else "text/html; charset=utf-8"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with running(Handler) as url:
        yield url
