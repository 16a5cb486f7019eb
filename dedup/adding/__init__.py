"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input.

`dedup.adding.work` makes fingerprints in other processes, `dedup.adding.adding` asks the index and
keeps the journal by which an interrupted work goes on, `dedup.adding.output` writes what is kept.
"""

from __future__ import annotations

from dedup.adding.adding import Adding, Choices, Event, Tally
from dedup.adding.output import check_output, write_output

__all__ = ["Adding", "Choices", "Event", "Tally", "check_output", "write_output"]
