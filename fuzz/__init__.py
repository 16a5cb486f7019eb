"""Fuzzing with atheris (libFuzzer): code that takes hostile input gets millions of mutated inputs.

Each target is one module: `python -m fuzz.pages --seconds 600`.  A finding is an exception, a crash, or
an input that takes more than 10 seconds or 2 GB.  libFuzzer prints it and writes it to a file.
`pip install --group fuzz` installs atheris.  hypothesis also tests the laws, in `tests/fuzz/`, for some
seconds each.  `commands`, `damage` and `settings` run those tests, guided by coverage.
"""
