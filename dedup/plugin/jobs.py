"""The name of the job in a ``JOBDIR``: a folder that was deleted and made again is another job."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path

from dedup.values.printable import printable

logger = logging.getLogger(__name__)

# The file in a JOBDIR whose text names the job.
TOKEN = "dedup.job"  # noqa: S105 - a name, no secret
_LONGEST = 100


def job_of(folder: str | None) -> str:
    """Return the name of the job in *folder*, "" for none; a new folder gets a new name."""
    if not folder:
        return ""
    path = Path(folder, TOKEN)
    try:
        if path.exists() and (name := path.read_text("utf-8", "replace").strip()):
            return name[:_LONGEST]
        path.parent.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        path.write_text(name + "\n", "utf-8")
    except OSError as error:
        logger.warning(
            "%s cannot be written (%s): a crawl that is resumed in this JOBDIR will be another run",
            printable(str(path)),
            error.strerror,
        )
        return ""
    return name
