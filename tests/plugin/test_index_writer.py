"""Who asks a server: how many questions wait before requests do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from threading import Event
from typing import Any

import pytest

from dedup.plugin import crawl_index as index_writer
from dedup.plugin.crawl_index import IndexWriter
from dedup.plugin.outage import Answer, Ask

LONG = 60.0


def answers(asks: Sequence[Ask[Any]]) -> list[Answer[Any]]:
    index: Any = None
    return [Answer(ask(index)) for ask in asks]


class Asking:
    """Notes what was asked; the first question is not answered before `go_on`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._goes_on = Event()
        self._writer = IndexWriter(answers)
        self._writer.put(lambda _: self._goes_on.wait(), lambda _: None)

    def put(self, *names: str) -> None:
        for name in names:
            self._writer.put(partial(self._ask, name), lambda _: None)

    def _ask(self, name: str, _: Any) -> None:
        self.asked.append(name)

    def go_on(self) -> None:
        self._goes_on.set()

    async def end(self) -> list[str]:
        done = asyncio.Event()
        self._writer.put(lambda _: None, lambda _: done.set())
        await done.wait()
        self._writer.close()
        return self.asked


@pytest.mark.parametrize(("hold", "waits"), [(LONG, True), (0.05, False)])
def test_who_is_held_back_goes_on_when_few_questions_are_open_or_after_a_while(
    monkeypatch: pytest.MonkeyPatch, hold: float, *, waits: bool
) -> None:
    monkeypatch.setattr(index_writer, "MOST_WAITING", 2)
    monkeypatch.setattr(index_writer, "LONGEST_HOLD", hold)

    async def run() -> None:
        asking = Asking()
        writer = asking._writer
        asking.put("a")
        assert not writer.is_behind
        asking.put("b", "c")
        assert writer.is_behind
        held = [asyncio.create_task(writer.wait_for_room()) for _ in range(3)]
        await asyncio.sleep(0.2)
        assert [task.done() for task in held] == [not waits] * 3
        asking.go_on()
        await asyncio.wait_for(asyncio.gather(*held), LONG / 2)
        await asking.end()
        assert not writer.is_behind

    asyncio.run(run())
