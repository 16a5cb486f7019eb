"""This project and its peers on the same real pages, in one run, as a table.

    python -m benchmarks.peers DATA_FOLDER --write

DATA_FOLDER holds the labelled sets of `benchmarks.accuracy`.  Every contender runs in a process of its
own.  It gets the text that `Page` extracts from a document, splits it into tokens itself, and uses the
threshold that its documentation names.  Scrapy plugins crawl the example site twice, in environments of
their own.  ``--write`` puts the tables into docs/peers.md and between the markers of the README.
``--only-lost`` measures and writes nothing but what each contender would lose of whole sites,
``--only-ours`` nothing but the rows of this project in the other tables.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import Progress, track

from benchmarks.accuracy.evaluation import score_structural_peer
from benchmarks.accuracy.peers import PEERS, PeerScore, missing, peer_score, sampled
from benchmarks.accuracy.report import Table
from benchmarks.accuracy.sets import LabelledSet, Pair, Part, labelled_sets
from benchmarks.accuracy.structural_peer import NAME as HTML_SIMILARITY
from benchmarks.accuracy.structural_peer import PeerError, environment
from benchmarks.crawl import anonymous_mb
from benchmarks.judged.labels import SET as JUDGED
from benchmarks.judged.peers import lost_by_peers, lost_table
from benchmarks.peer_contenders import (
    CONTENDERS,
    FAISS,
    INDEXES,
    OURS,
    TEXT_DEDUP,
    TEXT_DEDUP_DISTANCE,
    Document,
    contender_of,
    reason_of,
    text_dedup_python,
    text_dedup_signatures,
    write_texts,
)
from crawler.example import served
from dedup import Page

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "peers.md"
README = ROOT / "README.md"
# Between marks of its own, because it may be measured alone.
LOST_MARKS = "lost"
# Those who compare no texts, so that nothing is known of words.
URL_ONLY = ("scrapy-deltafetch", "duplicate-url-discarder")
# The columns of that table which stand in the README.
SHORT = ("contender", "pages dropped", "words lost")

PARTS = ("edited_articles", "page_compare", "manual_versions/postgresql")
STREAM = PARTS[2]
PLUGINS = ("scrapy-deltafetch", "duplicate-url-discarder")
PLAIN = "no plugin"
SCRAPYS = ("scrapy", "scrapy==2.13.*")
RULES = '[{"args": ["sid"], "order": 1, "processor": "queryRemoval", "urlPattern": {"include": []}}]'
SETTINGS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "scrapy-deltafetch": {
        "SPIDER_MIDDLEWARES": {"scrapy_deltafetch.DeltaFetch": 100},
        "DELTAFETCH_ENABLED": True,
        "DELTAFETCH_DIR": "{folder}",
    },
    "duplicate-url-discarder": {
        "ADDONS": {"duplicate_url_discarder.Addon": 600},
        "DUD_LOAD_RULE_PATHS": ["{folder}/rules.json"],
    },
    OURS: {
        "ADDONS": {"dedup.plugin.Addon": 500},
        "DEDUP_INDEX": "{folder}/pages.db",
        "DEDUP_UNCHANGED": "drop",
    },
}

# What each can do and cannot, beside the figures; the second is where it is the better choice.
ABOUT: dict[str, tuple[str, str]] = {
    OURS: (
        "simhashes find, a sketch confirms; index on disk, many processes; Scrapy plugin",
        "",
    ),
    "1e0ng simhash": (
        "SimHash, and an index in memory with exact search within its distance",
        "small, pure Python except for numpy; its index takes any objects as names",
    ),
    "datasketch MinHash": (
        "MinHash, LSH in memory, Redis, Cassandra; also HNSW, LSH Ensemble, HyperLogLog",
        "sets of any kind, containment, shared storage on several machines",
    ),
    "rensa R-MinHash": (
        "MinHash and LSH in Rust, in memory",
        "the fastest",
    ),
    TEXT_DEDUP[0]: (
        "commands that read a whole data set and write it without copies; not page by page",
        "corpora on disk; also suffix arrays, Bloom filters, Spark",
    ),
    TEXT_DEDUP[1]: ("as above; an equal band decides, unverified", "as above"),
    "trafilatura Simhash": (
        "simhashes to compare, and a counter of repeated segments; no index, no threshold",
        "drops boilerplate inside pages; extracts the main text",
    ),
    FAISS: (
        "search in memory for simhashes made elsewhere (here by this project, within 10 bits, unverified)",
        "vectors of any kind, graphics cards, hundreds of millions in one process",
    ),
    HTML_SIMILARITY: (
        "compares the tags and classes of two pages; no index",
        "recognizes pages of one template, with a threshold chosen for the site",
    ),
    PLUGINS[0]: (
        "does not request pages again that gave items in an earlier crawl; knows URLs only",
        "saves the download too, if pages never change",
    ),
    PLUGINS[1]: (
        "normalizes URLs by rules, and requests each page once; knows URLs only",
        "saves the download too, if URLs show which pages are copies",
    ),
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a contender did: scores by part, seconds of processor time a page to fold it and to fold,
    ask and add it, megabytes that the stream took, and how many of its pages were dropped."""

    scores: Mapping[str, PeerScore]
    folding: float
    streaming: float | None = None
    megabytes: float | None = None
    dropped: int | None = None


@click.command(help=__doc__.splitlines()[0] if __doc__ else "")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--pairs", default=120, show_default=True, help="At most so many pairs of a set.")
@click.option("--pages", default=200, show_default=True, help="At most so many pages in the stream.")
@click.option(
    "--html-pairs", default=12, show_default=True, help="Pairs of each set for html-similarity."
)
@click.option("--cache", type=click.Path(path_type=Path), help="Keep unpacked sets and peers here.")
@click.option("--only-lost", is_flag=True, help="Only the table of what would be lost.")
@click.option("--only-ours", is_flag=True, help="Only our rows of the other tables.")
@click.option(
    "--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes for what would be lost."
)
@click.option("--write", is_flag=True, help="Write docs/peers.md and the tables of the README.")
@click.option(
    "--one", hidden=True, help="Run one contender in this process; used by the command itself."
)
def main(
    folder: Path,
    *,
    pairs: int,
    pages: int,
    html_pairs: int,
    cache: Path | None,
    only_lost: bool,
    only_ours: bool,
    jobs: int,
    write: bool,
    one: str,
) -> None:
    if one:
        print(json.dumps(contended(one, json.loads(folder.read_text("utf-8")))))
        return
    if only_lost:
        with tempfile.TemporaryDirectory() as scratch:
            tables = _lost(folder, cache or Path(scratch), jobs)
        for table in tables:
            click.echo(table.markdown())
            if write:
                DOCUMENT.write_text(with_section(DOCUMENT.read_text("utf-8"), table), "utf-8")
                write_readme(LOST_MARKS, _rows(short_table(table)))
        return
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        kept = cache or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        sets = labelled_sets(folder, kept, sorted({name.split("/")[0] for name in PARTS}))
        parts = [part for one_set in sets for part in one_set.parts() if part.name in PARTS]
        work = described(sets, parts, pairs, pages)
        job = Path(scratch, "job.json")
        job.write_text(json.dumps(work), "utf-8")
        if only_ours:
            _renew_ours(job, work, Path(scratch), write=write)
            return
        results, failures = run_all(job, work)
        run_text_dedup(work, cache=kept, scratch=Path(scratch), results=results, failures=failures)
        run_html_similarity(sets, parts, kept, count=html_pairs, results=results, failures=failures)
        lost = _lost(folder, kept, jobs)
        plugins = [
            row for name in (PLAIN, OURS, *PLUGINS) for row in plugin_rows(name, kept, Path(scratch))
        ]
        about = abilities(kept)  # after the plugins, whose environments have their versions
    tables = [*lost, quality(results, failures, work), scrapy_table(plugins), about]
    note = (
        f"Measured with Python {python_version()}, numpy {version('numpy')}, {pairs} pairs a set "
        f"({html_pairs} for {HTML_SIMILARITY}), {len(work['stream'])} pages in the stream, in {(time.perf_counter() - begin) / 60:.0f} minutes."
    )
    click.echo("\n\n".join([*(table.markdown() for table in tables), note]))
    if write:
        write_document(note, tables)
        for table in lost:
            write_readme(LOST_MARKS, _rows(short_table(table)))


def write_document(note: str, tables: Sequence[Table]) -> None:
    """Write the document anew; sections that were not measured stay."""
    _, mark, sections = DOCUMENT.read_text("utf-8").partition("\n## ")
    text = f"{HEAD}\n\n{note}\n{mark}{sections}"
    for table in tables:
        text = with_section(text, table)
    DOCUMENT.write_text(text, "utf-8")


def _renew_ours(job: Path, work: Mapping[str, Any], scratch: Path, *, write: bool) -> None:
    """Measure this project alone, print its rows and, to *write*, put them in place of those before."""
    found = run_all(job, work, [OURS])
    plugins = scrapy_table(plugin_rows(OURS, scratch, scratch))
    text = DOCUMENT.read_text("utf-8")
    for table in (quality(*found, work), plugins):
        click.echo(_rows(table))
        text = with_rows(text, table)
    if write:
        DOCUMENT.write_text(text, "utf-8")


def _lost(folder: Path, cache: Path, jobs: int) -> list[Table]:
    """Return the table of what would be lost, if the set for it is in *folder*."""
    if not (folder / JUDGED).is_dir():
        return []
    with tempfile.TemporaryDirectory() as scratch:
        return [lost_table(*lost_by_peers(folder, cache, Path(scratch), jobs))]


def _rows(table: Table) -> str:
    """Return *table* without its title and its note."""
    return replace(table, note="").markdown().split("\n\n", 1)[1]


def with_section(text: str, table: Table) -> str:
    """Return the document *text* with *table* in place of the section of that title, or at its end."""
    start = text.find(f"## {table.title}\n")
    if start < 0:
        return f"{text.rstrip()}\n\n{table.markdown()}\n"
    end = text.find("\n## ", start)
    return f"{text[:start]}{table.markdown()}\n{text[end:] if end >= 0 else ''}"


def with_rows(text: str, table: Table) -> str:
    """Return the document *text* with the rows of *table* in place of those that begin with the same cell.

    That is in the table with the same header.  Raises ValueError where there is none.
    """
    header, _, *rows = _rows(table).splitlines()
    start = text.index(header)
    end = start + len(text[start:].partition("\n\n")[0])
    new = {_first_cell(row): row for row in rows}
    lines = [new.get(_first_cell(line), line) for line in text[start:end].splitlines()]
    return text[:start] + "\n".join(lines) + text[end:]


def _first_cell(row: str) -> str:
    return row.split(" | ", 1)[0]


def described(
    sets: Sequence[LabelledSet], parts: Sequence[Part], count: int, pages: int
) -> dict[str, Any]:
    """Return the job of every contender: documents, pairs by part, and the stream, by numbers.

    Of each part at most *count* pairs are drawn; a pair ends with how many it stands for.
    """
    roots = {one.name: one.root for one in sets}
    drawn = {part.name: _drawn(part, count) for part in parts}
    paths = sorted(
        {
            (part.set_name, path)
            for part in parts
            for pair, _ in drawn[part.name]
            for path in (pair.a, pair.b)
        }
    )
    place = {path: number for number, path in enumerate(paths)}
    documents = []
    for name, path in track(paths, "reading", console=Console(stderr=True)):
        file = roots[name] / path
        documents.append({"path": str(file), "text": _clean(Page.from_html(file.read_bytes()).text)})
    pairs = {
        part.name: [
            (place[part.set_name, pair.a], place[part.set_name, pair.b], pair.label, weight)
            for pair, weight in drawn[part.name]
        ]
        for part in parts
    }
    stream = sorted({number for a, b, *_ in pairs[STREAM] for number in (a, b)})
    return {"documents": documents, "pairs": pairs, "stream": stream[:pages]}


def _drawn(part: Part, count: int) -> list[tuple[Pair, float]]:
    pairs = [pair for pair in part.pairs if pair.label is not None]
    numbers, weights = sampled([pair.label or 0 for pair in pairs], count)
    return [(pairs[number], weight) for number, weight in zip(numbers, weights.tolist(), strict=True)]


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def run_all(
    job: Path, work: Mapping[str, Any], names: Sequence[str] = tuple(CONTENDERS)
) -> tuple[dict[str, Found], dict[str, str]]:
    """Run each contender of this environment in a process of its own; returns results and errors."""
    results, failures = {}, {}
    for name in track(names, "contenders", console=Console(stderr=True)):
        if name in PEERS and (why := missing(name)):
            failures[name] = why
            continue
        command = [sys.executable, "-m", "benchmarks.peers", str(job), "--one", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode:
            failures[name] = done.stderr.strip().splitlines()[-1]
        else:
            results[name] = _found(name, json.loads(done.stdout.splitlines()[-1]), work["pairs"])
    return results, failures


def contended(name: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the contender *name* in this process."""
    documents = [Document(**document) for document in job["documents"]]
    with tempfile.TemporaryDirectory() as scratch:
        contender = contender_of(name, Path(scratch))
        contender.sign(contender.prepared(documents[0]))  # what is loaded on first use
        seconds, before = 0.0, anonymous_mb()
        dropped = 0
        for number in job["stream"]:
            given = contender.prepared(documents[number])
            begin = time.process_time()
            with suppress(ValueError, OverflowError):
                dropped += contender.repeats(number, given)
            seconds += time.process_time() - begin
        megabytes = anonymous_mb() - before
        needed = sorted(
            {number for pairs in job["pairs"].values() for a, b, *_ in pairs for number in (a, b)}
        )
        signatures, folding = {}, 0.0
        for number in needed:
            given = contender.prepared(documents[number])
            begin = time.process_time()
            signatures[number] = contender.sign(given)
            folding += time.process_time() - begin
        likeness = {
            part: [contender.likeness(signatures[a], signatures[b]) for a, b, *_ in pairs]
            for part, pairs in job["pairs"].items()
        }
    has_index = name not in PEERS or name in INDEXES
    return {
        "folding": folding / len(needed),
        "streaming": seconds / len(job["stream"]) if has_index else None,
        "megabytes": megabytes if has_index else None,
        "dropped": dropped if has_index else None,
        "threshold": contender.threshold,
        "likeness": likeness,
    }


def _found(name: str, told: Mapping[str, Any], pairs: Mapping[str, Any]) -> Found:
    scores = {
        part: _score(name, part, pairs[part], likeness, told["threshold"])
        for part, likeness in told["likeness"].items()
    }
    return Found(scores, told["folding"], told["streaming"], told["megabytes"], told["dropped"])


def _score(
    name: str,
    part: str,
    pairs: Sequence[Sequence[Any]],
    likeness: Sequence[float],
    threshold: float | None,
) -> PeerScore:
    _, _, known, weights = zip(*pairs, strict=True)
    return peer_score(
        name,
        part,
        np.array(known, np.int8),
        np.array(likeness, float),
        weights=np.array(weights, float),
        threshold=threshold,
        source="",
        page_seconds=0.0,
        pair_seconds=0.0,
    )


def run_text_dedup(
    job: Mapping[str, Any],
    *,
    cache: Path,
    scratch: Path,
    results: dict[str, Found],
    failures: dict[str, str],
) -> None:
    """Add what text-dedup makes of the same texts: its signatures, and its commands on the stream."""
    texts, stream = scratch / "texts.jsonl", scratch / "stream.jsonl"
    write_texts(texts, [document["text"] for document in job["documents"]])
    write_texts(stream, [job["documents"][number]["text"] for number in job["stream"]])
    try:
        python = text_dedup_python(cache)
        both, simhashes, bands = text_dedup_signatures(python, texts)
    except (PeerError, subprocess.CalledProcessError) as error:
        failures.update(dict.fromkeys(TEXT_DEDUP, reason_of(error)))
        return
    alike: dict[str, tuple[Callable[[int, int], float], float]] = {
        TEXT_DEDUP[0]: (
            lambda a, b: _or_never(simhashes[a], simhashes[b], _nearness),
            -TEXT_DEDUP_DISTANCE,
        ),
        TEXT_DEDUP[1]: (lambda a, b: _or_never(bands[a], bands[b], lambda x, y: float(bool(x & y))), 1),
    }
    for name, seconds in zip(TEXT_DEDUP, both, strict=True):
        likeness, threshold = alike[name]
        scores = {
            part: _score(name, part, pairs, [likeness(a, b) for a, b, *_ in pairs], threshold)
            for part, pairs in job["pairs"].items()
        }
        dropped = _dropped_by_command(python, name.rsplit(" ", 1)[-1].lower(), stream, scratch)
        results[name] = Found(scores, seconds / len(job["documents"]), dropped=dropped)


def _or_never(a: Any, b: Any, likeness: Callable[[Any, Any], float]) -> float:
    return float("-inf") if a is None or b is None else likeness(a, b)


def _nearness(a: int, b: int) -> float:
    return -float((a ^ b).bit_count())


def _dropped_by_command(python: Path, method: str, texts: Path, scratch: Path) -> int | None:
    command = [str(python), "-m", f"text_dedup.{method}", "--path", "json", "--data_files", str(texts)]
    command += ["--split", "train", "--column", "text", "--num_proc", "1", "--cache_dir", str(scratch)]
    command += ["--output", str(scratch / f"out-{method}")]
    wide = {**os.environ, "COLUMNS": "200"}  # or its log breaks the lines
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=scratch, env=wide)
    counts = dict(re.findall(r"(Before|After)\s*: (\d+)", done.stdout + done.stderr))
    return int(counts["Before"]) - int(counts["After"]) if len(counts) == 2 else None


def run_html_similarity(
    sets: Sequence[LabelledSet],
    parts: Sequence[Part],
    cache: Path,
    *,
    count: int,
    results: dict[str, Found],
    failures: dict[str, str],
) -> None:
    """Add what html-similarity says of a sample of the same pairs."""
    try:
        with Progress(console=Console(stderr=True)) as progress:
            found = score_structural_peer(sets, parts, cache, count=count, jobs=1, progress=progress)
    except PeerError as error:
        failures[HTML_SIMILARITY] = str(error)
        return
    pairs = sum(score.pairs for score in found)
    seconds = sum(score.pair_seconds * score.pairs for score in found) / pairs
    results[HTML_SIMILARITY] = Found({score.part: score for score in found}, seconds)


@dataclass(frozen=True, slots=True)
class PluginRow:
    """What two crawls of the example site gave with a plugin: items and responses, or the error."""

    name: str
    versions: str
    crawls: tuple[Any, Any]


def plugin_rows(name: str, cache: Path, scratch: Path) -> list[PluginRow]:
    """Crawl the example site twice with a plugin, on the newest Scrapy and, if it fails, an old one."""
    rows: list[PluginRow] = []
    for scrapy in SCRAPYS:
        try:
            is_here = name in (PLAIN, OURS)
            python = Path(sys.executable) if is_here else _plugin_environment(cache, name, scrapy)
        except PeerError as error:
            return [*rows, PluginRow(name, scrapy, (str(error), str(error)))]
        with tempfile.TemporaryDirectory(dir=scratch) as folder, served() as url:
            Path(folder, "rules.json").write_text(RULES)
            worker = Path(__file__).with_name("peer_crawl.py")
            command = [str(python), str(worker), url, json.dumps(SETTINGS[name]), folder]
            options: dict[str, Any] = {"env": {"PYTHONPATH": str(ROOT)}} if is_here else {}
            done = subprocess.run(command, capture_output=True, text=True, check=True, **options)
        first, second = map(json.loads, done.stdout.splitlines())
        rows.append(PluginRow(name, _versions_of(python, name, "scrapy"), (first, second)))
        if not isinstance(first, str):
            break
    return rows


def _plugin_environment(cache: Path, name: str, scrapy: str) -> Path:
    folder = name if scrapy == "scrapy" else f"{name}-{re.sub('[^0-9]', '', scrapy)}"
    return environment(cache, folder, [name, scrapy], name.replace("-", "_"))


def _versions_of(python: Path, *packages: str) -> str:
    """Return name and version of those *packages* that *python* has."""
    code = (
        "import sys; from importlib.metadata import distributions as d\n"
        "print(*{f'{n} {x.version}' for x in d() for n in sys.argv[1:] "
        "if x.name.lower().replace('_', '-') == n.lower()}, sep='|')"
    )
    done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True)
    return ", ".join(sorted(done.stdout.strip().split("|")))


def quality(results: Mapping[str, Found], failures: Mapping[str, str], job: Mapping[str, Any]) -> Table:
    rows = [
        (
            name,
            *(_f1(found.scores.get(part)) for part in PARTS),
            _wrong(found),
            _shown(found.folding * 1e3, ".2f"),
            _shown(found.streaming and found.streaming * 1e3, ".2f"),
            _shown(found.megabytes, ".1f"),
            _shown(found.dropped, ","),
        )
        for name, found in results.items()
    ]
    rows += [(name, why, *[""] * 7) for name, why in failures.items()]
    return Table(
        "On the same pages",
        (
            "contender",
            *(f"F1 {part}" for part in PARTS),
            "false positives",
            "ms: fingerprint",
            "ms: fingerprint, ask, add",
            "MB",
            f"dropped of {len(job['stream'])}",
        ),
        rows,
    )


def _f1(score: PeerScore | None) -> str:
    if score is None:
        return ""
    shown = f"{score.rule.f1:.3f}" if score.rule else ""
    best = f"{score.best[0]:.3f} in hindsight"
    return f"{shown} ({best})" if shown else f"({best})"


def _wrong(found: Found) -> str:
    rules = [score.rule for score in found.scores.values()]
    return "" if None in rules else f"{sum(rule.wrong for rule in rules if rule):,.0f}"


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def scrapy_table(rows: Sequence[PluginRow]) -> Table:
    return Table(
        "In Scrapy",
        ("plugin", "version", "first crawl: items (responses)", "second crawl"),
        [(row.name, row.versions, *_crawls(row)) for row in rows],
        note=(
            "The example site has 15 different pages. A plain spider crawls it twice. "
            "duplicate-url-discarder has a rule for the session ids of the site; without a rule it drops "
            'nothing. scrapy-dedup has `DEDUP_UNCHANGED = "drop"`; by default the second crawl would '
            "deliver the 15 unchanged pages again."
        ),
    )


def _crawls(row: PluginRow) -> tuple[str, str]:
    first, second = (
        "does not start" if isinstance(found, str) else f"{found[0]} ({found[1]})"
        for found in row.crawls
    )
    return first, "the same" if first == second and "start" in first else second


def abilities(cache: Path) -> Table:
    return Table(
        "What each is for",
        ("contender", "version", "what it does", "strengths"),
        [(name, _version(name, cache), *ABOUT[name]) for name in ABOUT],
    )


def _version(name: str, cache: Path) -> str:
    package = {FAISS: "faiss-cpu"}.get(
        name, PEERS[name].module if name in PEERS else name.split(" ", maxsplit=1)[0]
    )
    python = cache / package / "bin" / "python"
    found = _versions_of(python if python.exists() else Path(sys.executable), package)
    return found.rsplit(" ", 1)[-1]


def short_table(lost: Table) -> Table:
    """Return what a reader of the README decides by of the table of what would be *lost*."""
    chosen = [lost.header.index(name) for name in lost.header if name in SHORT or "wrong" in name]
    rows = [tuple(row[place] for place in chosen) for row in lost.rows]
    rows += [(name, *"-" * (len(chosen) - 2), "by URL only") for name in URL_ONLY]
    return Table("", tuple(lost.header[place] for place in chosen), rows)


def write_readme(marks: str, table: str) -> None:
    """Put *table* between the *marks* of the README."""
    begin, end = f"<!-- {marks} -->", f"<!-- /{marks} -->"
    before, _, rest = README.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    README.write_text(f"{before}{begin}\n{table}\n{end}{after}", "utf-8")


HEAD = """# Beside its peers

Printed by `python -m benchmarks.peers DATA_FOLDER --write` on labelled pairs of real pages.

- **F1** is that at the threshold which the documentation of each program names; in brackets the threshold is the best
  one for these very pairs: a bound, not a result. scrapy-dedup drops a page only if little would be lost with it, and a
  pair of label 1 that would lose more counts as missed here.
- A label of **page_compare** means "pages of one site", which only the similarity of tags shows.
- **Milliseconds** are processor time from text to verdict, without reading HTML (for html-similarity with it). **MB**
  is the memory for asking and adding the stream of pages; the index of this project is on disk."""


if __name__ == "__main__":
    main()
