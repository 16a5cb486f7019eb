# make crawl   makes the environment, installs, serves the example site and crawls it
# make test    runs the tests in the same environment
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin

.PHONY: crawl test lint types check

crawl: $(VENV)/installed
	$(BIN)/scrapy example

test: $(VENV)/installed
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/mypy

check: lint types test

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[fast]" --group dev
	touch $@
