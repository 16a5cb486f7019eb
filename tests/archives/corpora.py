"""Small corpora with everything that is hard: chains, floods, mirrors, frames, words of other pages."""

from __future__ import annotations

import json
import random
from pathlib import Path

from dedup import DedupConfig
from dedup.archives import FILES, RECORD_BITS, Row, batched, prints_of_files, rows_of
from dedup.files.finding import find_feeds
from dedup.files.work import WorkerSettings
from dedup.reading.fields import FieldRule

CONFIG = DedupConfig(by_bands=True)
RULE = FieldRule()
Pages = list[tuple[str, str]]


def corpus(seed: int, pages: int = 60, hosts: int = 2, words: int = 130) -> Pages:
    """Return pages that repeat, extend, mix and shorten earlier ones, within the frames of their sites."""
    chance = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(3000)]
    frames = [chance.choices(vocabulary, k=40) for _ in range(hosts)]
    texts: list[list[str]] = []
    made: Pages = []
    for number in range(pages):
        host = chance.randrange(hosts)
        text = _next_text(chance, texts, vocabulary, words)
        texts.append(text)
        body = text if chance.random() < 0.3 else frames[host] + text
        tag = chance.choice(("p", "p", "div"))
        made.append((f"http://h{host}/{number}", f"<html><{tag}>{' '.join(body)}</{tag}></html>"))
    return made


def _next_text(
    chance: random.Random, texts: list[list[str]], vocabulary: list[str], words: int
) -> list[str]:
    kind = chance.randrange(8) if texts else 0
    if kind < 2:
        return chance.choices(vocabulary, k=chance.choice((0, 2, 5, words, 2 * words)))
    base = list(chance.choice(texts))
    if kind == 2 or not base:
        return base
    if kind == 3:  # parts of two
        other = chance.choice(texts)
        return base + other[: len(other) // 2]
    changed = chance.choice((1, 3, 8, 20, 40))
    if kind == 4:
        return base + chance.choices(vocabulary, k=changed)
    for _ in range(min(changed, len(base))):
        base[chance.randrange(len(base))] = chance.choice(vocabulary)
    return base if kind < 7 else base[: max(1, len(base) - changed)]


def write(path: Path, pages: Pages) -> Path:
    lines = (json.dumps({"url": url, "html": html}) for url, html in pages)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def settings(config: DedupConfig = CONFIG, rule: FieldRule = RULE) -> WorkerSettings:
    return WorkerSettings(rule=rule, config=config)


def file_row(path: Path, form: str, number: int = 0, content: bytes | None = None) -> Row:
    return {"number": number, "path": str(path), "form": form, "content": content}


def printed(path: Path, config: DedupConfig = CONFIG, rule: FieldRule = RULE) -> list[Row]:
    feeds = find_feeds([path], rule).feeds
    rows = [file_row(feed.path, feed.form, number) for number, feed in enumerate(feeds)]
    return list(rows_of(prints_of_files(batched(rows, FILES), settings(config, rule))))


def record(number: int) -> int:
    return number & (1 << RECORD_BITS) - 1
