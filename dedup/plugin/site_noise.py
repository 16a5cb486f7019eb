"""What the index of a crawl knows of the noise of sites, and is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dedup.index.notes import SiteNoise, gaps_of, noise_of, notes_by_host, put_noise
from dedup.index.rows import Note, StoredPage
from dedup.plugin.crawl_index import CrawlIndex
from dedup.plugin.outage import OpenIndex
from dedup.reading.noise import Evidence, Gap, Noise
from dedup.reading.page import Page, pack


class NoiseNotes:
    """The notes in *index* on sites, of one *scope*."""

    def __init__(self, index: CrawlIndex) -> None:
        self._index = index
        self._scope = ""
        # What a server knew before the crawl; a file is asked when it is needed.
        self._known: Mapping[str, Note] | None = None

    def open(self, opened: OpenIndex, scope: str) -> None:
        """Begin, with the notes of a *scope*."""
        self._scope = scope
        if self._index.is_remote:
            self._known = notes_by_host(opened.index.store, scope)

    def load(self, host: str, then: Callable[[Mapping[Gap, Evidence] | None], None]) -> None:
        """Call *then* with what is known of the noise of *host*."""
        if self._known is not None:  # no page waits for it
            then(gaps_of([self._known[host]] if host in self._known else []))
        elif self._index.detector:
            self._index.do(lambda at: noise_of(at.index.store, self._scope, host), then)

    def save(self, host: str, noise: Noise) -> None:
        """Store what is known of the noise of *host*."""
        if self._index.detector:
            gaps = noise.aged()
            self._index.do(
                lambda at: put_noise(at.index.store, SiteNoise(self._scope, host, at.run.id, gaps))
            )

    def wait_for_audit(self, host: str, rows: Sequence[int]) -> None:
        """Note which *rows* of *host* wait for an audit."""
        if self._index.detector:
            self._index.do(lambda at: at.index.runs.note_unaudited(at.run, host, at.numbers.rows(rows)))

    def reprint(self, pages: Mapping[int, Page]) -> None:
        """Give rows the fingerprints of what is left of their *pages*."""
        if detector := self._index.detector:
            prints = {row: detector.fingerprint(page) for row, page in pages.items()}

            def reprinted(at: OpenIndex) -> None:
                index, here = at.index, {name: row for name in pages for row in at.numbers.rows([name])}
                with index.store.transaction(writing=True):
                    index.ledger.reprint({row: prints[name] for name, row in here.items()})
                    stored = {row for row, _ in index.store.select(StoredPage, row=list(here.values()))}
                    for name, row in here.items():
                        if row in stored:
                            index.store.put(StoredPage(row, pack(pages[name])))

            self._index.do(reprinted)
