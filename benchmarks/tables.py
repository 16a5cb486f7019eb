"""Tables of figures, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Row = Sequence[object]


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Row]
    note: str = ""

    def markdown(self) -> str:
        lines = [f"## {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        return "\n".join([*lines, *self.lines()])

    def lines(self) -> list[str]:
        """Return the table without its title and its note."""
        return [_line(self.header), "|" + "---|" * len(self.header), *map(_line, self.rows)]


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
