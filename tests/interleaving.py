"""Others who come at the worst moment: just before what was looked at is acted upon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dedup.index import Index


@contextmanager
def before_writing(index: Index, act: Callable[[], object], number: int = 1) -> Iterator[None]:
    """Let others *act* before *index* begins to write for the *number*th time.

    What it has looked at until then may be out of date.  In its transaction nobody can act.
    """
    transaction, depth, begun = index.store.transaction, 0, 0

    @contextmanager
    def watched(*, writing: bool, **how: Any) -> Iterator[None]:
        nonlocal depth, begun
        if writing and not depth:
            begun += 1
            if begun == number:
                act()
        depth += 1
        try:
            with transaction(writing=writing, **how):
                yield
        finally:
            depth -= 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index.store, "transaction", watched)
        yield
    assert begun >= number, "nothing was written"
