"""Run html-similarity in its environment: for each line with two documents, print score, seconds and error.

A document is the path of a file and its encoding.  difflib's autojunk is off, because it ignores the most
frequent tags of a long page.  XML declarations are removed, because lxml refuses text that declares an
encoding.
"""

import difflib
import functools
import io
import json
import re
import sys
import time

import html_similarity

_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def main() -> None:
    difflib.SequenceMatcher = functools.partial(difflib.SequenceMatcher, autojunk=False)  # type: ignore[assignment,misc]
    answers = sys.stdout
    for line in sys.stdin:
        texts = [_text(path, encoding) for path, encoding in json.loads(line)]
        sys.stdout = said = io.StringIO()  # the library prints what it cannot parse, and returns 0
        begin = time.perf_counter()
        try:
            score = html_similarity.structural_similarity(*texts)
            error = said.getvalue()
        except Exception as failure:  # whatever a stranger's code raises is a result of its own
            score, error = 0.0, repr(failure)
        print(json.dumps([score, time.perf_counter() - begin, error]), file=answers, flush=True)


def _text(path: str, encoding: str) -> str:
    with open(path, "rb") as file:
        return _DECLARATION.sub("", file.read().decode(encoding, "replace"))


if __name__ == "__main__":
    main()
