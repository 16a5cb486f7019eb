import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.model.address import address_of, scheme_of, shown_place
from dedup.model.errors import ConfigError

PASSWORD = "t1de!water"


@pytest.mark.parametrize(
    ("given", "name", "schema"),
    [
        ("postgresql://h/db?options=-c%20geqo%3Doff&password=a%20b+c", "postgresql://h/db", "dedup"),
        ("postgresql://me@h/db", "postgresql://me@h/db", "dedup"),
        (f"postgres://me:{PASSWORD}@h:5/db?sslmode=require", "postgresql://me@h:5/db", "dedup"),
        (f"postgresql://h/db?password={PASSWORD}&schema=news", "postgresql://h/db?schema=news", "news"),
        ("postgresql:/me@h/db", "postgresql://me@h/db", "dedup"),
        ("postgresql://a,b:7/db?host=/tmp/x", "postgresql://a,b:7/db?host=/tmp/x", "dedup"),
        ("postgresql:///db", "postgresql:///db", "dedup"),
        (f"postgresql://h/db?user=u;password={PASSWORD}", "postgresql://h/db", "dedup"),
    ],
)
def test_an_address_is_shown_without_its_password(given: str, name: str, schema: str) -> None:
    address = address_of(given)
    assert (address.name, address.schema) == (name, schema)
    assert shown_place(given) == name
    assert PASSWORD not in repr(address)
    assert "schema" not in address.conninfo
    if "schema" not in given:  # the server is told all, as it was said
        assert address.conninfo.partition("?")[2] == given.partition("?")[2]


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://me:p@{PASSWORD}@h/db",
        f"postgresql://me:{PASSWORD}/db",
        f"postgresql://me:p/{PASSWORD}@h/db",
        f"postgresql://h/db&password={PASSWORD}",
        f"postgresql://h/db#{PASSWORD}",
    ],
)
def test_an_address_in_which_a_password_may_be_taken_for_something_else_is_refused(given: str) -> None:
    with pytest.raises(ConfigError) as refused:
        address_of(given)
    assert PASSWORD not in str(refused.value)


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=6))
def test_no_error_shows_any_part_of_an_address_that_cannot_be_read(password: str) -> None:
    try:
        told = address_of(f"postgresql://crawler:{password}Zq9@host/db").name
    except ConfigError as refused:
        told = str(refused)
    assert "Zq9" not in told


@pytest.mark.parametrize("place", ["pages.db", "C:/crawls/pages.db", "C:\\pages.db", "a:b.db", "./x:/y"])
def test_paths_are_no_addresses(place: str) -> None:
    assert scheme_of(place) == ""
