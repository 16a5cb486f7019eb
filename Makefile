# make crawl   makes the environment, installs the project, serves the example site and crawls it
# make test    runs the tests in the same environment, in under five minutes on two cores
# make slow    runs the tests that take longer: browsers, kills, the examples of the documentation
# make pure    runs the tests of the library and the plugin without the compiled code
# make cover   runs all tests and lists the lines that none of them reaches
# make docs    builds the documentation in build/docs; a warning is an error
# make oldest  runs the tests of the plugin on the oldest Scrapy, in a second environment
# make lint    runs the linters; make types runs the type checker
# make check   runs lint, types, docs, test, slow, pure and oldest
# make audit   looks for known vulnerabilities in the installed packages; needs a network
VENV ?= .venv
OLDEST_VENV ?= $(VENV)-oldest
OLDEST_SCRAPY = scrapy==2.13.*
PYTHON ?= python3
BIN = $(VENV)/bin
# Tests spend more time waiting for crawls than computing.
WORKERS ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
INSTALL = -m pip install --quiet --editable ".[fast]" --group dev
# What the compiled code is made of, and what it must agree with.
COMPILED := setup.py dedup/native/sources.py $(addprefix dedup/,$(shell $(PYTHON) -c \
	"from dedup.native.sources import SOURCES; print(*set().union(*SOURCES.values()))"))

.PHONY: crawl test slow pure cover docs oldest lint types check audit

crawl: $(VENV)/installed
	$(BIN)/scrapy example

test: $(VENV)/installed
	$(PYTEST) -m "not slow"

slow: $(VENV)/installed
	$(PYTEST) -m slow

pure: $(VENV)/installed
	DEDUP_PURE=1 $(PYTEST) -m "not slow" tests/dedup tests/plugin

cover: $(VENV)/installed
	$(PYTEST) --cov --cov-report=term-missing

docs: $(VENV)/installed
	$(BIN)/python -m sphinx --builder html --fail-on-warning --quiet docs build/docs

oldest: $(OLDEST_VENV)/installed
	$(OLDEST_VENV)/bin/python -m pytest -n $(WORKERS) tests/plugin

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/mypy

check: lint types docs test slow pure oldest

audit: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group audit
	$(BIN)/python .ci/audit.py

$(VENV)/installed: pyproject.toml $(COMPILED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python $(INSTALL)
	touch $@

$(OLDEST_VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(OLDEST_VENV)
	$(OLDEST_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST_VENV)/bin/python $(INSTALL) "$(OLDEST_SCRAPY)"
	touch $@
