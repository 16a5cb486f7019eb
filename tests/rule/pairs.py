"""Pairs of fingerprints that lie on the edges of the rule, and the rule once more, plain and slow."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from dedup import DedupConfig, Fingerprint, Reason
from dedup.model.fingerprint import BINS

BASE = Fingerprint(
    content_simhash=0x9E3779B97F4A7C15,
    structure_simhash=0xC2B2AE3D27D4EB4F,
    sketch=bytes(1 + place % 255 for place in range(BINS)),
    body_digest=b"b" * 16,
    token_digest=b"t" * 16,
    tokens=300,
    words=300,
    shingles=297,
)
# So many of 256 bins are equal: they make the similarities that the bounds are taken from.
EQUAL_BINS = (0, 1, 60, 159, 160, 180, 200, 255, 256)


def near(page: Fingerprint, *, content: int = 0, structure: int = 0, equal: int = BINS) -> Fingerprint:
    """Return a page with other bytes and tokens, so many bits away, and with so many equal bins."""
    sketch = bytes(value if n < equal else value % 255 + 1 for n, value in enumerate(page.sketch))
    content = page.content_simhash ^ ((1 << content) - 1) << 3
    structure = page.structure_simhash ^ ((1 << structure) - 1) << 5
    page = replace(page, content_simhash=content, structure_simhash=structure, sketch=sketch)
    return replace(page, body_digest=b"c" * 16, token_digest=b"u" * 16)


@st.composite
def others(draw: st.DrawFn) -> Fingerprint:
    """Return a page near `BASE`."""
    bits = st.sampled_from((0, 3, 7, 8, 9, 10, 11, 12, 13, 30))
    page = near(BASE, content=draw(bits), structure=draw(bits), equal=draw(st.sampled_from(EQUAL_BINS)))
    changes: dict[str, Any] = {
        "content_simhash": st.just(0),
        "structure_simhash": st.just(0),
        "sketch": st.just(bytes(BINS)),
        "body_digest": st.sampled_from((b"", BASE.body_digest)),
        "token_digest": st.just(BASE.token_digest),
        "tokens": st.integers(2, 5),
    }
    names = draw(st.sets(st.sampled_from(sorted(changes)), max_size=3))
    page = replace(page, **{name: draw(changes[name]) for name in sorted(names)})
    return replace(page, words=page.tokens, shingles=max(page.tokens - 3, 0))


def bases() -> st.SearchStrategy[Fingerprint]:
    return st.sampled_from((BASE, BASE, replace(BASE, content_simhash=0)))


def configs() -> st.SearchStrategy[DedupConfig]:
    """Return configurations whose bounds are met exactly by some of the pairs."""
    distances, words = st.sampled_from((0, 3, 8, 10, 12)), st.sampled_from((0, 10, 40, 300))
    return st.builds(DedupConfig, max_distance=distances, max_lost_words=words)


def expected(
    kept: Fingerprint, page: Fingerprint, config: DedupConfig
) -> tuple[Reason, int | None, int | None, float]:
    """Return reason, both distances and similarity by the rule as it is told, of pages of no site."""
    content = _distance(kept.content_simhash, page.content_simhash)
    structure = _distance(kept.structure_simhash, page.structure_simhash)
    if not page.body_digest:
        return Reason.NOT_JUDGED, content, structure, 0.0
    if page.body_digest == kept.body_digest:
        return Reason.EXACT_DUPLICATE, content, structure, 1.0
    if page.tokens > 3 and page.token_digest == kept.token_digest:
        return Reason.NEAR_DUPLICATE, content, structure, 1.0
    bins = list(zip(kept.sketch, page.sketch, strict=True))
    equal, filled = sum(x == y != 0 for x, y in bins), sum(x + y > 0 for x, y in bins)
    alike = max(0.0, (equal / max(filled, 1) - 1 / 255) / (1 - 1 / 255))
    of_page, of_kept = max(page.tokens - 3, 0), max(kept.tokens - 3, 0)
    lost = max(0.0, of_page - alike * (of_page + of_kept) / (1 + alike))
    share = min(100, 2.5 * config.max_lost_words, 0.1 * page.tokens)
    allowed = min(page.tokens / 3, max(config.max_lost_words, share))
    loses_little = alike >= 0.62 and max(lost, of_page - of_kept, 1) <= allowed
    is_near = structure is not None and structure <= 8
    is_candidate = content is not None and (content <= config.max_distance or is_near)
    passes = is_candidate and loses_little
    return Reason.NEAR_DUPLICATE if passes else Reason.NEW, content, structure, alike


def _distance(a: int, b: int) -> int | None:
    return f"{a ^ b:b}".count("1") if a and b else None
