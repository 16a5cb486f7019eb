from __future__ import annotations

import pytest

from dedup.urls import learning
from dedup.urls.learning import Clarity, Clearness
from dedup.values.verdict import Reason


def test_beyond_its_bound_no_copy_is_beyond_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MOST_COUNTED", 3)
    clearness = Clearness()

    def is_clear(host: str, copy_of: int | None) -> bool:
        return Clarity.CLEAR is clearness.of(f"http://{host}/", Reason.NEAR_DUPLICATE, 100, 1.0, copy_of)

    assert [is_clear("a", number) for number in range(5)] == [True] * 3 + [False] * 2
    assert is_clear("a", 2)
    assert is_clear("a", None)
    assert [is_clear(host, None) for host in ("b", "c", "d")] == [True, True, False]
