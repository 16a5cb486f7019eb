"""No command shows the password of an index on a server, wherever its address is given."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dedup.cli import main

PASSWORD = "t1deW4ter"
ADDRESSES = (
    f"postgresql://u:{PASSWORD}@127.0.0.1:1/db",
    f"postgres://u:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://127.0.0.1:1/db?user=u&password={PASSWORD}",
    f"postgresql://u:a@{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://u:{PASSWORD}/db",
    f"postgresql://u:a {PASSWORD}@127.0.0.1:1/db",
    f"POSTGRESQL://u:{PASSWORD}@127.0.0.1:1/db",
)
PLACES = ((), ("--index",), ("--output",), ("--since",), ("-s",))


@pytest.mark.parametrize("command", [*main.commands, ""])
def test_none_shows_a_password(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = [command] if command else []
    # What crawls only sees it in one place.
    places = PLACES[:2] if command == "try" else PLACES
    for address in ADDRESSES:
        for before in places:
            for after in ((), (address,)):
                given = [*named, *before, address, *after]
                done = CliRunner().invoke(main, given)
                assert PASSWORD not in done.output, given
                assert PASSWORD not in repr(done.exception), given
