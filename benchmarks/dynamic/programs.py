"""Web programs on 127.0.0.1, each installed, filled with real texts, and served."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.dynamic.texts import articles, sayings
from benchmarks.dynamic.truth import Content
from benchmarks.rules.programs import PHP, free_port, running

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


@dataclass(frozen=True, slots=True)
class Program:
    """A program: what it is, its Debian packages, how it is started, and where it shows its contents.

    *start* yields the path to begin at.  Links that match *deny* are not followed: forms for members.
    """

    kind: str
    packages: tuple[str, ...]
    start: Callable[[Place], AbstractContextManager[str]]
    content: Content
    deny: str = ""


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
    command: Sequence[object], *, given: object = None, folder: Path | None = None, **more: str
) -> None:
    """Run *command* with *given* as JSON on its input; what it says goes to standard error."""
    subprocess.run(
        list(map(str, command)),
        input=json.dumps(given).encode(),
        cwd=folder,
        env={**os.environ, **more},
        check=True,
        stdout=sys.stderr,
    )


@contextmanager
def _wordpress(place: Place, language: str, theme: str, posts: int) -> Iterator[str]:
    blog, base, mysql = place.folder / "blog", place.folder / "base", place.folder / "mysql"
    shutil.copytree("/usr/share/wordpress", blog, ignore_dangling_symlinks=True)
    (blog / "wp-content/mu-plugins").mkdir(exist_ok=True)
    shutil.copy(place.fill("widgets.php"), blog / "wp-content/mu-plugins/widgets.php")
    values = {
        "DB_NAME": "blog",
        "DB_USER": "root",
        "DB_PASSWORD": "",
        "DB_HOST": f"localhost:{mysql}",
        "WP_DEFAULT_THEME": theme,
        "WPLANG": "zh_CN" if language == "zh" else "",
        "DISABLE_WP_CRON": "1",
        "WP_HOME": f"http://127.0.0.1:{place.port}",
        "WP_SITEURL": f"http://127.0.0.1:{place.port}",
    }
    defined = "".join(f"define({name!r}, {value!r});\n" for name, value in values.items())
    load = "$table_prefix = 'wp_';\nrequire_once __DIR__ . '/wp-settings.php';\n"
    (blog / "wp-config.php").write_text(f"<?php\n{defined}{load}")
    install = ["mariadb-install-db", f"--datadir={base}", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    port = free_port()
    start = ["mariadbd", "--user=root", f"--datadir={base}", f"--port={port}", f"--socket={mysql}"]
    with running(start, port, place.folder):
        call(["mariadb", f"--socket={mysql}", "-e", "CREATE DATABASE blog CHARACTER SET utf8mb4"])
        job = {"language": language, "posts": threads(language, posts, 10)}
        call([*PHP, place.fill("wordpress.php"), blog], given=job)
        serve = [*PHP, "-S", f"127.0.0.1:{place.port}", "-t", str(blog)]
        with running(serve, place.port, place.folder):
            yield "/"


_OF_BLOG = ("wordpress", "php-cli", "php-mysql", "mariadb-server")

PROGRAMS: dict[str, Program] = {
    "wordpress": Program(
        "blog",
        (*_OF_BLOG, "wordpress-theme-twentytwentyone", "python3.11-doc", "fortunes"),
        lambda place: _wordpress(place, "en", "twentytwentyone", 60),
        Content(
            "body.single h1.entry-title, body.single .entry-content, body.page h1.entry-title, "
            "body.page .entry-content, #print h1, #print .text",
            ".comment-content",
            ".extras, .jp-relatedposts, .post-views",
        ),
        r"/wp-(admin|login|json)",
    ),
    "wordpress-zh": Program(
        "blog, Chinese",
        (
            *_OF_BLOG,
            "wordpress-l10n",
            "wordpress-theme-twentytwentythree",
            "debian-handbook",
            "fortunes-zh",
        ),
        lambda place: _wordpress(place, "zh", "twentytwentythree", 60),
        Content(
            "body.single h1.wp-block-post-title, body.single .entry-content, "
            "body.page h1.wp-block-post-title, body.page .entry-content, #print h1, #print .text",
            ".wp-block-comment-content",
            ".extras",
        ),
        r"/wp-(admin|login|json)",
    ),
}
