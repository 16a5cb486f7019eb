"""Python imports this when it starts, in every process of the tests: nothing leaves this machine.

A look-up of a name, or a connection elsewhere, raises, and is noted in the file that the environment names.
"""

from __future__ import annotations

import os
import sys
import traceback
from ipaddress import ip_address
from typing import Any

TRIES = "DEDUP_TESTS_TRIES"
"""The environment variable with the path of the file of tries."""


class NotAllowed(AssertionError):
    """A test has tried what would make it depend on more than the repository."""


def refuse(what: str) -> None:
    """Note in the file of tries *what* was tried, and where, and raise."""
    if path := os.environ.get(TRIES):
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{what}\n{''.join(traceback.format_stack(limit=12))}\n")
    raise NotAllowed(what)


def is_here(host: Any) -> bool:
    """Return whether *host*, a name or an address, is this machine."""
    name = host.decode("latin-1") if isinstance(host, bytes) else str(host or "")
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _is_address(host: Any) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0]
        # To "look up" an address asks nobody; whoever connects to it is refused then.
        if not is_here(host) and not (event == "socket.getaddrinfo" and _is_address(host)):
            refuse(f"{event} of {host!r}")
    elif event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        if isinstance(address, tuple) and not is_here(address[0]):
            refuse(f"{event} to {address!r}")


def guard_network() -> None:
    """Refuse look-ups of names and connections elsewhere from now on, in this process."""
    sys.addaudithook(_audit)


if __name__ == "sitecustomize":
    guard_network()
