"""Python imports this when it starts, in every process of the tests: nothing leaves this machine.

A look-up of a name, or a connection elsewhere, raises, and is noted in the file that the environment names.
"""

import os
import sys
import traceback
from ipaddress import ip_address
from typing import Any

TRIES = "DEDUP_TESTS_TRIES"
LOOK_UPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in LOOK_UPS:
        # To "look up" an address asks nobody; whoever connects to it is refused then.
        is_allowed = _is_here(arguments[0]) or (event == LOOK_UPS[0] and _address(arguments[0]))
    elif event in ("socket.connect", "socket.sendto"):
        is_allowed = not isinstance(arguments[1], tuple) or _is_here(arguments[1][0])
    else:
        return
    if not is_allowed:
        what = f"{event} of {arguments!r}"
        if path := os.environ.get(TRIES):
            with open(path, "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{what}\n{''.join(traceback.format_stack(limit=12))}\n")
        raise AssertionError(what)


def _is_here(host: Any) -> bool:
    name = host.decode("latin-1") if isinstance(host, bytes) else str(host or "")
    address = _address(name.partition("%")[0])
    return (
        name in ("", "localhost") or name.endswith(".localhost") or bool(address and address.is_loopback)
    )


def _address(host: Any) -> Any:
    try:
        return ip_address(host)
    except ValueError:
        return None


def guard_network() -> None:
    """Refuse look-ups of names and connections elsewhere from now on, in this process."""
    sys.addaudithook(_audit)


if __name__ == "sitecustomize":
    guard_network()
