"""As a stranger does it: the wheel, a new environment, a new project, one line in its settings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from crawler.example import COPIES, PAGES, served
from tests.crawling import ROOT, environment
from tests.guards import unguarded

pytestmark = pytest.mark.slow

# What pip says when it reaches no registry.
UNREACHABLE = ("No matching distribution found", "Could not find a version", "connection broken")


@dataclass(frozen=True)
class Project:
    """A project of Scrapy's in an environment that has our wheel."""

    python: Path
    folder: Path

    def run(self, *command: str) -> str:
        """Run a command of the environment in the project; return what it printed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            env=foreign_environment(),
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def scrapy(self, *arguments: str) -> str:
        return self.run(str(self.python), "-m", "scrapy", *arguments)

    def crawl(self, spider: str, url: str, **settings: str) -> list[dict[str, Any]]:
        """Crawl without the pauses that a new project makes; return the feed."""
        settings = {"DOWNLOAD_DELAY": "0", "CONCURRENT_REQUESTS_PER_DOMAIN": "8", **settings}
        options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        self.scrapy("crawl", spider, "-a", f"url={url}", "-O", "feed.jsonl", *options)
        return [json.loads(line) for line in (self.folder / "feed.jsonl").read_text().splitlines()]


def foreign_environment() -> dict[str, str]:
    return {name: value for name, value in environment().items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("dedup", "crawler", "settings", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(target), str(source)]
    done = subprocess.run(
        command, env=unguarded(), capture_output=True, text=True, timeout=300, check=False
    )
    if any(text in done.stdout + done.stderr for text in UNREACHABLE):
        pytest.skip("no package registry answers, and the wheel cannot be built")
    assert done.returncode == 0, done.stdout + done.stderr
    return next(target.glob("scrapy_dedup-*.whl"))


@pytest.fixture(scope="module")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("stranger")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv/bin/python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    # Away from here: the metadata of this checkout would pass for an installation.
    subprocess.run(
        [*install, "--no-deps", "--no-index", str(wheel)],
        cwd=folder,
        env=foreign_environment(),
        check=True,
        timeout=300,
    )
    # The dependencies are those of this environment; a path file in there is not read again.
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    made = Project(python, folder)
    made.scrapy("startproject", "museum")
    made = Project(python, folder / "museum")
    with (made.folder / "museum/settings.py").open("a") as settings:
        settings.write('ADDONS = {"dedup.plugin.Addon": 500}\n')
    shutil.copy(ROOT / "tests/strangers.py", made.folder / "museum/spiders")
    return made


def test_the_package_comes_from_the_wheel_and_nothing_else_of_ours_does(project: Project) -> None:
    home = project.run(str(project.python), "-c", "import dedup; print(dedup.__file__)")
    assert Path(home.strip()).is_relative_to(project.python.parent.parent)
    look = (
        "from importlib.util import find_spec; print(*map(find_spec, ('crawler', 'settings', 'tests')))"
    )
    assert project.run(str(project.python), "-c", look).split() == ["None"] * 3


def test_one_line_in_the_settings_deduplicates_a_site(project: Project) -> None:
    with served() as site:
        items = project.crawl("plain", site)
    kept = [urlsplit(str(item["url"])) for item in items]
    paths = [f"{url.path}?{url.query}" if url.query else url.path for url in kept]
    assert [len([path for path in paths if path in group]) for group in COPIES] == [1] * len(COPIES)
    copies = {path for group in COPIES for path in group}
    pages = {f"/{page.relative_to(PAGES).as_posix()}" for page in PAGES.rglob("*.html")}
    assert sorted(set(paths) - copies) == sorted(pages - copies)
    assert all(set(item) == {"title", "url", "html"} for item in items)
    assert (project.folder / ".scrapy/dedup.db").exists()

    report = project.scrapy("dedup", "report")
    assert "\n9 pages dropped in 8 clusters\n" in report  # the first request is not filtered
    assert project.run(str(project.python.with_name("dedup")), "report") == report
