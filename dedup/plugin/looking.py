"""Recognizes commands of Scrapy that only show pages and store no items: nothing is recorded then."""

from __future__ import annotations

import sys
from typing import Any

from scrapy.commands import check, fetch, parse, shell

# `view` is a `fetch`.
_LOOKING = (check.Command, fetch.Command, parse.Command, shell.Command)


def only_looks() -> bool:
    """Return whether this code runs inside a command that only shows pages.

    A crawler does not know the command that made it, and a project may override every setting that
    such a command sets; but until it ends, the command is on the stack.
    """
    frame: Any = sys._getframe()
    while frame:
        if frame.f_code.co_name == "run" and isinstance(frame.f_locals.get("self"), _LOOKING):
            return True
        frame = frame.f_back
    return False
