"""What was said last of a pair holds, and nothing else is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.model.errors import ConfigError
from dedup.model.marks import COPY, DIFFERENT, Exceptions, Marks, Said

PAIRS = [(f"http://a/{n}", f"http://a/{n % 3}") for n in range(3, 9)]
SAID = st.lists(st.tuples(st.sampled_from(PAIRS), st.sampled_from([DIFFERENT, COPY, ""])))


@given(SAID)
def test_what_was_said_last_holds_and_nothing_else(said: list[tuple[tuple[str, str], str]]) -> None:
    stranger = ("copy", "http://z/2", "http://z/1", "a note")
    marks = Marks(("says", "page", "other", "note"), (stranger,))
    for (page, other), says in said:
        marks = marks.with_mark({"page": page, "other": other, "says": says})
    assert marks.rows[0] == stranger
    last = {pair: says for pair, says in dict(said).items() if says}
    assert {(row[1], row[2]): row[0] for row in marks.rows[1:]} == last
    exceptions = Exceptions.of(Said(page, other, says) for says, page, other, _ in marks.rows)
    assert Exceptions.of(exceptions.said()) == exceptions


def test_a_pair_is_one_whichever_page_was_kept_and_however_its_urls_are_written() -> None:
    marks = Marks(("page", "other", "says"), (("http://a/?y=2&x=1", "http://A/2", "copy"),))
    now = marks.with_mark({"page": "http://a/2", "other": "http://a/?x=1&y=2", "says": DIFFERENT})
    assert now.rows == (("http://a/2", "http://a/?x=1&y=2", DIFFERENT),)
    with pytest.raises(ConfigError, match="must be one of"):
        marks.with_mark({"page": "http://a/1", "other": "http://a/2", "says": "perhaps"})
