"""What is known of sites, in Parquet: a row for each host.

Columns: *host*; *pages*, how many of its pages were counted; *hashes*, the shingles that were sampled on
them, and their numbers, 4 bytes each (little endian), different and in order; *counts*, 2 bytes for each
of these: on how many of the pages it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dedup.files.feeds.parquet import parquet_module, read_errors
from dedup.rule.frozen import FrozenSites, HostCounts, name_of
from dedup.values.errors import DedupError

# What a job says of itself, beside the folder.
JOB = "job.json"
COLUMNS = ("host", "pages", "hashes", "counts")
_ROWS = 64


def read_sites(path: Path, recipe: Mapping[str, str] | None = None) -> FrozenSites:
    """Return what the file *path* says of sites, or all files of a folder that `dedup spark` wrote.

    Raises `DedupError` for what is no such file, and where the job that wrote the folder had another
    *recipe*: the same words have other hashes then.
    """
    if recipe is not None:
        _compare_recipes(path, recipe)
    parquet = parquet_module()
    hosts: dict[str, HostCounts] = {}
    for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        try:
            for batch in parquet.ParquetFile(file).iter_batches(_ROWS, columns=list(COLUMNS)):
                hosts.update((row["host"], counts_of(row)) for row in batch.to_pylist())
        except read_errors(TypeError, KeyError) as error:
            raise DedupError(f"{file} is no context of sites that can be read: {error}") from error
    if not hosts and path.is_dir() and not (path / "_SUCCESS").exists():
        raise DedupError(f"{path} has no context of sites: no file of Parquet is in it")
    return FrozenSites(hosts, name_of(hosts))


def _compare_recipes(path: Path, recipe: Mapping[str, str]) -> None:
    try:
        there = json.loads((path.parent / JOB).read_bytes())["recipe"]
        names = sorted(there.keys() | recipe.keys())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # the folder was taken out of that of its job
    for name in names:
        was, now = there.get(name, "nothing"), recipe.get(name, "nothing")
        if was != now:
            raise DedupError(
                f"{path} was counted with {name}={was}, now {name}={now}: give the recipe of the job"
            )


def batch_of(hosts: Mapping[str, HostCounts]) -> Any:
    """Return the rows of *hosts*, in order, as an Arrow batch."""
    import pyarrow

    names = sorted(hosts)
    known = [hosts[name] for name in names]
    columns = [
        pyarrow.array(names, pyarrow.string()),
        pyarrow.array([one.pages for one in known], pyarrow.int64()),
        pyarrow.array([one.hashes.astype("<u4").tobytes() for one in known], pyarrow.binary()),
        pyarrow.array([one.counts.astype("<u2").tobytes() for one in known], pyarrow.binary()),
    ]
    return pyarrow.RecordBatch.from_arrays(columns, list(COLUMNS))


def counts_of(row: Mapping[str, Any]) -> HostCounts:
    """Return what a row says; raises ValueError where it is damaged."""
    hashes = np.frombuffer(row["hashes"], "<u4")
    counts = np.frombuffer(row["counts"], "<u2")
    if len(hashes) != len(counts) or row["pages"] < 0 or (hashes[1:] <= hashes[:-1]).any():
        raise ValueError(f"the row of {row['host']} is damaged")
    return HostCounts(row["pages"], hashes, counts)
