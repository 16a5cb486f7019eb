"""What a job was asked for and how far it is: a small file of JSON in its output folder."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from dedup.archives.storage import PART, Storage
from dedup.files.contexts import JOB
from dedup.values.errors import DedupError

FILE = JOB
FORMAT = "scrapy-dedup archives"
# What a job writes into its folder; nothing else is ever deleted there.
WORK = "work"
OWN = ("verdicts", "kept", "context", WORK)


@dataclass(slots=True)
class State:
    """A job: digests of its *settings* and its *input*, its *recipe* and what of it is *done*.

    *files* are those of the input by their numbers, *seed* is the seed of the recipe's hasher.
    """

    settings: str
    input: str
    recipe: Mapping[str, str]
    seed: int
    files: Sequence[str]
    started: float = field(default_factory=time.time)
    done: list[str] = field(default_factory=list)
    is_finished: bool = False
    format: str = FORMAT

    @property
    def text(self) -> str:
        """The file."""
        return json.dumps(asdict(self), indent=1) + "\n"


def resumed(storage: Storage, folder: str, new: State, *, overwrite: bool) -> State:
    """Return the state of the job in *folder*: *new*, or that of the same job, which was interrupted.

    Raises `DedupError` where there is anything else; with *overwrite* an old job is deleted.
    """
    names = storage.names(folder) if storage.exists(folder) else []
    if set(names) <= {FILE + PART}:
        return new
    place = f"{folder}/{FILE}"
    if FILE not in names and FILE + PART in names:
        storage.recover(place)
    elif FILE not in names:
        raise DedupError(f"{folder} is there already and is no output of `dedup spark`; name another")
    old = _state(storage.read(place), place)
    if overwrite:
        storage.write(place, new.text)  # else the old one would say that what is deleted was done
        for name in OWN:
            storage.delete(f"{folder}/{name}")
        return new
    if old.is_finished:
        raise DedupError(f"{folder} has a finished job already; --overwrite does it again")
    for what, was, now in (
        ("settings", old.settings, new.settings),
        ("input", old.input, new.input),
    ):
        if was != now:
            raise DedupError(
                f"the {what} of the interrupted job in {folder} was another; --overwrite begins anew"
            )
    return old


def _state(text: str, place: str) -> State:
    try:
        values = json.loads(text)
        if values.get("format") != FORMAT:
            raise ValueError("it is of another format")
        return State(**values)
    except (ValueError, TypeError, AttributeError) as error:
        raise DedupError(f"{place} is damaged ({error}); --overwrite cannot tell whose it is") from error
