"""What crawls do, once more, with the index on a server: one test of each kind."""

from __future__ import annotations

from tests.plugin.on_postgres import (
    IN_SHORT,
    cases,
    on_a_server,  # noqa: F401 - a fixture
)

globals().update(cases(in_short=True))


def test_all_of_them_are_there() -> None:
    assert {name.partition("__")[0] for name in cases(in_short=True)} == set(IN_SHORT)
