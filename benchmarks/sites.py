"""What judging costs, with what is known of many sites: processor time and memory for each page.

    python -m benchmarks.sites                       # 100,000 pages of 50 hosts

A page has the frame of its site and 60 to 300 words of its own; one in five repeats an earlier page of
its site with a few words changed, and one in twenty lists the beginnings of earlier ones.  As in a crawl
a page that is kept is pending at first, and confirmed a moment later.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from random import Random

import click
from rich.progress import track

from dedup import Detector, Page, SQLiteIndex

WORDS = [f"{a}{b}{c}" for a in "bcdfghjklm" for b in ("a", "en", "il", "or", "u") for c in range(200)]


def page_of(random: Random, host: int, number: int, earlier: list[list[str]]) -> Page:
    """Return a page of the site *host*; *earlier* are the own words of those before it."""
    frame = Random(host).choices(WORDS, k=150)
    kind = random.random()
    if earlier and kind < 0.2:
        own = list(random.choice(earlier))
        own[random.randrange(len(own))] = random.choice(WORDS)
    elif len(earlier) > 5 and kind < 0.25:
        own = [word for words in random.sample(earlier, 5) for word in words[:40]]
    else:
        own = random.choices(WORDS, k=random.randrange(60, 300))
        earlier.append(own)
    cells = "".join(f"<li><a href='/{n}'>{word}</a></li>" for n, word in enumerate(frame[:60]))
    html = f"<body><ul>{cells}</ul><p>{' '.join(frame[60:])}</p><div><p>{' '.join(own)}</p></div>"
    return Page.from_html(html, url=f"http://site{host}.example/{number}")


@click.command()
@click.option("--pages", default=100_000, show_default=True, help="How many pages.")
@click.option("--hosts", default=50, show_default=True, help="Of how many hosts.")
def main(pages: int, hosts: int) -> None:
    """Judge pages of many sites, and print what that took."""
    random, earlier = Random(7), [list[list[str]]() for _ in range(hosts)]
    spent, in_index, kept = 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder, SQLiteIndex(Path(folder) / "pages.db") as index:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with Detector(index, spider="sites") as detector:
            for number in track(range(pages), "judging"):
                host = random.randrange(hosts)
                page = page_of(random, host, number, earlier[host])
                begun = time.process_time()
                sighting = detector.sighting(page)
                made = time.process_time()
                verdict = detector.submit(sighting, wait_for={detector.run.id})
                if verdict.kept and verdict.row:
                    index.ledger.confirm(verdict.row)
                    kept += 1
                ended = time.process_time()
                spent += ended - begun
                in_index += ended - made
        megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**20
    click.echo(
        f"{pages:,} pages of {hosts} hosts, {kept:,} kept: {1000 * spent / pages:.3f} ms a page, "
        f"{1000 * in_index / pages:.3f} of these in the index, "
        f"{size / pages * 2**10:.2f} KB a page on disk, {megabytes:.0f} MB more in the end"
    )


if __name__ == "__main__":
    main()
