"""Runs where html-similarity does: two documents a line in, score, seconds and error a line out.

A document is the path of a file and its encoding.  difflib's autojunk is off, as it takes the most
frequent tags of a long page for junk.
"""

import difflib
import functools
import json
import sys
import time

import html_similarity


def main() -> None:
    difflib.SequenceMatcher = functools.partial(difflib.SequenceMatcher, autojunk=False)  # type: ignore[assignment,misc]
    answers, sys.stdout = sys.stdout, sys.stderr  # the library prints what it cannot parse
    for line in sys.stdin:
        texts = [_text(path, encoding) for path, encoding in json.loads(line)]
        begin = time.perf_counter()
        try:
            score, error = html_similarity.structural_similarity(*texts), ""
        except Exception as failure:  # whatever a stranger's code raises is a result of its own
            score, error = 0.0, repr(failure)
        print(json.dumps([score, time.perf_counter() - begin, error]), file=answers, flush=True)


def _text(path: str, encoding: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode(encoding, "replace")


if __name__ == "__main__":
    main()
