"""Measure what rules for URLs save on real web programs: `python -m benchmarks.rules`.

Truth is a full crawl without rules.  To be saved are the requests whose page repeats, token for token, one
that was kept and that a form of rules maps to it.  A unique page is lost if its text is on no page of the
crawl and none of its URLs was fetched, and unlisted if these are not among those withheld either.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.rules import dud
from benchmarks.rules.programs import PROGRAMS, ROOT, free_port, look_in, start_of
from benchmarks.rules.savings import Savings
from dedup import SQLiteIndex
from dedup.index.url_rules import UrlRules
from dedup.urls.edits import reading_of
from dedup.urls.evidence import State
from dedup.urls.learner import RuleRecord
from dedup.urls.parts import patterns_for

MOST_PAGES = 6_000


@dataclass(frozen=True)
class Crawled:
    """What a crawl came to: its requests, the text of each URL that it fetched, and what it withheld."""

    requests: int
    texts: dict[str, bytes]
    held: frozenset[str]
    kept: frozenset[bytes]
    result: dict[str, Any]


def crawled(folder: Path, url: str, peers: str, settings: dict[str, Any]) -> Crawled:
    """Crawl *url* into the index of *folder*."""
    index, result = folder / "pages.db", folder / "result.json"
    job = {
        "url": url,
        "result": str(result),
        "settings": {
            "ADDONS": {"dedup.plugin.Addon": 500},
            "DEDUP_INDEX": str(index),
            "DEDUP_RULES": "off",
            "LOG_LEVEL": "INFO",
            "LOG_FILE": str(folder / "log.txt"),
            "TELNETCONSOLE_ENABLED": False,
            "CLOSESPIDER_PAGECOUNT": MOST_PAGES,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
            "ROBOTSTXT_OBEY": False,
            "DOWNLOAD_DELAY": 0,
            # Some of them link to ever more views of a page; the nearest come first, in each crawl.
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            **settings,
        },
    }
    path = f"{ROOT}:{peers}" if peers else str(ROOT)
    command = [sys.executable, "-m", "benchmarks.rules.crawl"]
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run(command, input=json.dumps(job).encode(), env=environment, check=True)
    found = json.loads(result.read_text())
    log = (folder / "log.txt").read_text()
    assert "could not be asked" not in log, log[log.index("could not be asked") :][:2000]
    assert "No rules for URLs are learned" not in log
    with SQLiteIndex(index) as opened:
        run = max(run.id for run in opened.runs())
        rows = list(opened.rows(run))
        held = frozenset(
            one.url for one in UrlRules(opened.store).withheld_requests(run) if not one.was_made
        )
    texts = {row.sighting.url: row.sighting.fingerprint.token_digest for row in rows}
    kept = frozenset(row.sighting.fingerprint.token_digest for row in rows if row.verdict.kept)
    return Crawled(found["stats"]["downloader/request_count"], texts, held, kept, found)


def missed(run: Crawled) -> int:
    """Return how many requests of *run* repeat, token for token, a page that came before by a form."""
    seen: dict[tuple[Any, ...], str] = {}
    repeats = 0
    for url, text in run.texts.items():
        if (read := reading_of(url)) is None:
            continue
        keys: list[tuple[Any, ...]] = [(text, None, read.parts)]
        lefts = [(edit, edit.applied(read.parts)) for edit in read.edits]
        keys += [(text, edit, left) for edit, left in lefts]
        # Only what a form takes something out of is ever withheld: for the bare page or for one like it.
        asked = keys[1:] + [(text, None, left) for _, left in lefts]
        repeats += any(key in seen for key in asked)
        for key in keys:
            seen.setdefault(key, url)
    return repeats


def lost(truth: Crawled, run: Crawled) -> tuple[int, int]:
    """Return how many unique pages are not in *run*, and how many of these are not listed either."""
    urls: defaultdict[bytes, set[str]] = defaultdict(set)
    for url, text in truth.texts.items():
        urls[text].add(url)
    # A page that was fetched and shows another text by now, such as its age, is not lost.
    shown = set(run.texts.values())
    missing = [text for text in truth.kept - shown if run.texts.keys().isdisjoint(urls[text])]
    return len(missing), sum(not urls[text] & run.held for text in missing)


def wrong_rules(truth: Crawled, records: list[RuleRecord]) -> list[str]:
    """Return the rules that act though two pages kept in the truth are one by them."""
    wrong = []
    for record in records:
        seen: dict[Any, bytes] = {}
        for url, text in truth.texts.items():
            read = reading_of(url)
            if read is None or read.parts.host != record.rule.host or text not in truth.kept:
                continue
            key = record.rule.edit.applied(read.parts)
            if record.rule.pattern in patterns_for(key) and seen.setdefault(key, text) != text:
                wrong.append(f"{record.rule.words} ({record.rule.pattern})")
                break
    return wrong


def measured(name: str, peers: str, depth: int = 5) -> dict[str, Any]:
    """Measure one program."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        with start_of(name)(folder, port := free_port()) as start:
            url = f"http://127.0.0.1:{port}{start}"
            return _measured(name, folder, url, peers, depth)


def _measured(name: str, folder: Path, url: str, peers: str, depth: int) -> dict[str, Any]:
    def crawl(which: str, **settings: Any) -> Crawled:
        (folder / which).mkdir(exist_ok=True)
        done = crawled(folder / which, url, peers, {"DEPTH_LIMIT": depth, **settings})
        requests = f"{done.requests:,} requests, {len(done.held):,} withheld"
        print(
            f"{name:<10}{which:<10}{requests}, {done.result['seconds']:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        return done

    truth = crawl("none")
    learning, first, second = (crawl("rules", DEDUP_RULES=rules) for rules in ("learn", "use", "use"))
    with SQLiteIndex(folder / "rules/pages.db") as index:
        active = [one for one in UrlRules(index.store).records() if one.state is State.ACTIVE]
    savings = Savings(truth.texts, truth.kept)
    result: dict[str, Any] = {
        "program": name,
        "requests": truth.requests,
        "to be saved": {
            "exact copies": savings.exact_copies,
            "by a form": savings.by_a_form,
            "of a kept page": savings.of_a_kept_page,
            "by a right rule": savings.by_a_right_rule,
        },
        "learning": _line(truth, learning),
        "first use": _line(truth, first),
        "second use": _line(truth, second),
        "active": sorted({f"{one.rule.edit.words} ({one.rule.pattern})" for one in active}),
        "wrong rules": wrong_rules(truth, active),
        "us a request": round(1e6 * second.result["decided"] / max(1, second.result["decisions"]), 1),
        "us a page": round(1e6 * first.result["learned"] / max(1, len(first.texts)), 1),
        "share of CPU": [
            round(one.result["rules"] / one.result["cpu"], 4) for one in (learning, first, second)
        ],
    }
    if peers:
        result["skip"] = _line(truth, crawl("skip", DEDUP_SKIP="links", DEDUP_SOURCE="response"))
        result |= _peers(folder, crawl, truth, active)
    return result


def _peers(folder: Path, crawl: Any, truth: Crawled, active: list[RuleRecord]) -> dict[str, Any]:
    fingerprinter = {"REQUEST_FINGERPRINTER_CLASS": "duplicate_url_discarder.Fingerprinter"}
    entries, _ = dud.exported(one.rule for one in active)
    rules = folder / "dud.json"
    rules.write_text(json.dumps(entries))
    maybe = {
        "AVOID_DUP_CONTENT_ENABLED": True,
        "DOWNLOADER_MIDDLEWARES": {"maybedont.scrapy_middleware.AvoidDupContentMiddleware": 80},
    }
    return {
        "dud": _line(truth, crawl("dud", **fingerprinter)),
        "dud, our export": _line(
            truth, crawl("dudours", DUD_LOAD_RULE_PATHS=[str(rules)], **fingerprinter)
        ),
        "MaybeDont": _line(truth, crawl("maybe", **maybe)),
    }


def _line(truth: Crawled, run: Crawled) -> dict[str, int]:
    missing, unlisted = lost(truth, run)
    return {
        "requests": run.requests,
        "saved": truth.requests - run.requests,
        "withheld": len(run.held),
        "not withheld": missed(run),
        "lost": missing,
        "unlisted": unlisted,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "programs", nargs="*", default=list(PROGRAMS), help=f"of {', '.join(PROGRAMS)}, drawn-SEED"
    )
    parser.add_argument("--bin", type=Path, action="append", default=[], help="where commands are")
    parser.add_argument("--peers", default="", help="where MaybeDont and duplicate-url-discarder are")
    parser.add_argument("--depth", type=int, default=5, help="how many links deep is crawled (5)")
    arguments = parser.parse_args()
    look_in(arguments.bin)
    for name in arguments.programs:
        try:
            print(json.dumps(measured(name, arguments.peers, arguments.depth)), flush=True)
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
