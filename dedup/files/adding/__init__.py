"""Pages of files into an index: fingerprints on all cores, verdicts in the order of the input.

`work` makes sightings in other processes, `adding` asks the index about them, `journal` is how an
interrupted pass goes on, `output` writes what was kept.
"""

from __future__ import annotations

from dedup.files.adding.adding import Added, Adding, AddOptions, Event
from dedup.files.adding.output import check_output, write_output

__all__ = ["AddOptions", "Added", "Adding", "Event", "check_output", "write_output"]
