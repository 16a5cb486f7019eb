"""Trackers in Python, from PyPI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.dynamic.place import Place, call, revisions, threads
from benchmarks.dynamic.running import running


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


@contextmanager
def roundup(place: Place, issues: int) -> Iterator[str]:
    """Issues with messages, each message and each person a page."""
    bin_, home = place.python("roundup", name="roundup"), place.folder / "tracker"
    values = f"tracker_web=http://127.0.0.1:{place.port}/,mail_domain=example.org"
    for command in (("install", "classic", "anydbm", values), ("initialise", "admin")):
        call([bin_ / "roundup-admin", "-i", home, *command])
    (home / "detectors/nosyreaction.py").unlink()  # it sends mails
    call([bin_ / "python", place.fill("roundup.py.in"), home], given=threads("en", issues, 6))
    # Its own server does not run for root.
    serve = [str(bin_ / "python"), str(place.fill("roundup_server.py.in")), str(home), str(place.port)]
    with running(serve, place.port, place.folder):
        yield "/issue"
