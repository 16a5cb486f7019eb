"""What is known of sites, in a file as `dedup spark` writes it."""

from __future__ import annotations

from pathlib import Path

import pyarrow
from pyarrow import parquet

from dedup.files.contexts import batch_of
from dedup.rule.frozen import FrozenSites


def write_sites(sites: FrozenSites, path: Path) -> None:
    """Write what is known of *sites* to the file *path*; equal ones make equal files."""
    with path.open("wb") as file:
        parquet.write_table(
            pyarrow.Table.from_batches([batch_of(sites.hosts)]), file, compression="zstd"
        )
