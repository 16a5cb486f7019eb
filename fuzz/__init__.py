"""Fuzzing by atheris (libFuzzer): what takes hostile input gets millions of mutated inputs.

One module a target, `python -m fuzz.pages --seconds 600`.  A finding is an exception, a crash, or
an input that takes more than 10 seconds or 2 GB; libFuzzer prints it and writes it to a file.
`pip install --group fuzz` installs atheris.  The laws are also tested by hypothesis, in `tests/fuzz/`,
for some seconds each; `commands`, `damage` and `settings` are those tests, driven by coverage.
"""
