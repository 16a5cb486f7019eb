"""Tables of figures, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Row = Sequence[object]


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Row]
    note: str = ""

    def markdown(self) -> str:
        note = f"{self.note}\n\n" if self.note else ""
        return f"## {self.title}\n\n{note}" + "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the table without its title and its note."""
        return [_line(self.header), "|" + "---|" * len(self.header), *map(_line, self.rows)]


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def put(document: Path, mark: str, table: Table) -> None:
    """Put *table* between the markers of that name in *document*."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, _, rest = document.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    document.write_text("\n".join([before + begin, *table.lines(), end + after]), "utf-8")
