"""Deduplicate texts with datatrove's MinHash, in its environment: its defaults, but numbers stay as they are.

    python peer_datatrove.py TEXTS FOLDER TASKS

Each line of TEXTS is a JSON object with "text".  The four steps run in FOLDER, TASKS at a time.  Printed is
JSON: how many texts there were, and how many were dropped.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.text import TextNormConfig


def main(texts: str, folder: str, tasks: int) -> None:
    parts = Path(folder, "parts")
    parts.mkdir(parents=True)
    lines = Path(texts).read_text("utf-8").splitlines(keepends=True)
    for number in range(tasks):  # a task reads whole files
        (parts / f"{number}.jsonl").write_text("".join(lines[number::tasks]), "utf-8")
    config = MinhashConfig(norm_config=TextNormConfig(norm_numbers=False))
    places = {name: f"{folder}/{name}" for name in ("signatures", "buckets", "removed", "kept")}
    reader = JsonlReader(str(parts))
    steps = (
        ([reader, MinhashDedupSignature(places["signatures"], config)], tasks),
        (
            [MinhashDedupBuckets(places["signatures"], places["buckets"], config=config)],
            config.num_buckets,
        ),
        ([MinhashDedupCluster(places["buckets"], places["removed"], config=config)], 1),
        ([reader, MinhashDedupFilter(places["removed"]), JsonlWriter(places["kept"])], tasks),
    )
    for number, (pipeline, count) in enumerate(steps):
        logs = f"{folder}/logs{number}"
        LocalPipelineExecutor(pipeline, tasks=count, workers=tasks, logging_dir=logs).run()
    kept = 0
    for path in Path(places["kept"]).glob("*.gz"):
        with gzip.open(path) as written:
            kept += sum(1 for _ in written)
    print(json.dumps({"pages": len(lines), "dropped": len(lines) - kept}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
