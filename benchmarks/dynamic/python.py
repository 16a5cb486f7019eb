"""Programs in Python, from PyPI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.dynamic.place import Place, call, revisions, threads
from benchmarks.dynamic.running import running
from benchmarks.dynamic.texts import sayings


@contextmanager
def _served(place: Place, bin_: Path, name: str, given: object, path: str) -> Iterator[str]:
    """Serve the project whose settings, addresses and filling are the files of *name*."""
    for part in ("settings", "urls", "fill"):
        place.fill(f"{name}_{part}.py.in").rename(place.folder / f"site_{part}.py")
    environment = {"PYTHONPATH": str(place.folder), "DJANGO_SETTINGS_MODULE": "site_settings"}
    (place.folder / "poems.json").write_text("[]")
    call([bin_ / "django-admin", "migrate", "-v0"], folder=place.folder, variables=environment)
    call([bin_ / "python", "site_fill.py"], given=given, folder=place.folder, variables=environment)
    serve = ["runserver", "--noreload", "--insecure", f"127.0.0.1:{place.port}"]
    with running([str(bin_ / "django-admin"), *serve], place.port, place.folder, **environment):
        yield path


def _put_template(place: Place, name: str, path: str) -> None:
    """Put a template, named by its program as well, in the folder *path* of the project."""
    folder = place.folder / path
    folder.mkdir(exist_ok=True)
    place.fill(name).rename(folder / name.partition("_")[2])


@contextmanager
def machina(place: Place, topics: int) -> Iterator[str]:
    """A forum with pages of answers, a clock and who is online."""
    bin_ = place.python("django-machina==1.3.1", "django<5", name="machina")
    for name, path in (("login", ""), ("board_base", ""), ("topic_detail", "forum_conversation")):
        _put_template(place, f"machina_{name}.html", path)
    with _served(place, bin_, "machina", threads("en", topics, 24), "/") as begin:
        yield begin


@contextmanager
def mezzanine(place: Place, posts: int) -> Iterator[str]:
    """A site of a town in Chinese: sizes of letters, print views, counters, a clock, a poem of the day."""
    bin_ = place.python("mezzanine==6.1.1", "setuptools<80", name="mezzanine")
    for name, path in (
        ("blog_post_detail", "blog"),
        ("footer_scripts", "includes"),
        ("richtextpage", "pages"),
    ):
        _put_template(place, f"mezzanine_{name}.html", path)
    said = threads("zh", posts + 12, 6)
    given = {"posts": said[12:], "pages": said[:12], "poems": sayings("zh", 400)[-40:]}
    with _served(place, bin_, "mezzanine", given, "/blog/") as begin:
        yield begin


@contextmanager
def trac(place: Place, tickets: int) -> Iterator[str]:
    """Tickets with comments to answer, and wiki pages with versions."""
    bin_, home = place.python("trac==1.6", "setuptools<80", name="trac"), place.folder / "trac"
    call([bin_ / "trac-admin", home, "initenv", "Programmers", "sqlite:db/trac.db"])
    call([bin_ / "trac-admin", home, "permission", "add", "anonymous", "TICKET_APPEND"])
    pages = [(one.title, one.versions) for one in revisions("en", 2 * tickets)[1::2]]
    call(
        [bin_ / "python", place.fill("trac.py.in"), home],
        given={"tickets": threads("en", tickets, 6), "pages": pages},
    )
    command = [str(bin_ / "tracd"), "-s", "--hostname", "127.0.0.1", "-p", str(place.port), str(home)]
    with running(command, place.port, place.folder):
        yield "/wiki"
