# make crawl    makes the environment, installs the project, serves the example site and crawls it
# make test     runs the tests in the same environment: each time the same ones, in about three minutes on two cores
# make slow     runs the tests that take longer: planted faults, browsers, kills, the examples of the documentation
# make nightly  runs these with more seeds, and all crawls once more with an index on a server
# make search   looks for what breaks a law: many examples, others in each run; SEED=1 makes the same ones again
# make bench    runs the tests of the benchmarks
# make gates    runs the benchmarks that the promises rest on, and names what fell; DATA=FOLDER has the labelled pages
# make cover    runs all tests and lists the lines that none of them reaches
# make docs     builds the documentation in build/docs; a warning is an error
# make oldest   runs the tests of what asks Scrapy on the oldest one
# make lint     runs the linters; make types runs the type checker
# make tests    runs those of test and slow in one go, which takes less time than both
# make check    runs lint, types, docs, tests, oldest and bench
# make audit    looks for known vulnerabilities in the installed packages; needs a network
# make workflows  runs the linters of the workflows; needs a network
VENV ?= .venv
# The oldest Scrapy, with a Twisted that it can use; they stand before the newest ones on the path.
OLDEST = $(abspath $(VENV))/oldest
PYTHON ?= python3
BIN = $(VENV)/bin
# What is never imported need not be compiled: a third of the size.
INSTALL = -m pip install --disable-pip-version-check --no-compile
# Tests spend as much time waiting for crawls as computing.
WORKERS ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
SEED ?= $(shell $(PYTHON) -c "import random; print(random.randrange(10**9))")
HISTORIES ?= 500
# Some containers set it: each of the many processes would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE
# What of the plugin asks Scrapy for anything that changes from release to release.
WITH_SCRAPY = $(addprefix tests/plugin/test_,feeds.py middlewares.py pages.py pipeline.py requests.py \
	stats.py tracking.py) \
	$(addprefix tests/plugin/test_url_rules.py::test_,copies_are_not_fetched_and_all_is_listed \
	a_redirect_target_is_never_lost a_paused_job_asks_for_what_its_first_part_withheld \
	rules_speak_of_no_other_requests_than_those_of_links) \
	$(addprefix tests/plugin/test_probes.py::test_,copies_are_dropped_whatever_moves_on_them \
	nothing_is_asked_twice_in_vain a_site_that_refuses_is_asked_no_more a_failed_request_is_as_if_not_made \
	what_a_stopped_crawl_could_not_check_is_told_and_kept_by_the_next) \
	$(addprefix tests/crawls/test_,recrawl.py runs.py::test_who_delivers_nothing_records_nothing \
	runs.py::test_a_copy_is_kept_when_storage_fails_for_the_page_that_it_repeats)
# What the compiled code is made of.
COMPILED := setup.py dedup/native/__init__.py $(wildcard dedup/native/*.pyx)

.PHONY: crawl test slow tests nightly search bench gates cover docs oldest lint types check audit workflows

crawl: $(VENV)/installed
	$(BIN)/scrapy example

# Nearly all files of tests live for a second: in memory, where it has room for 2 GB.
test tests oldest: export PYTEST_DEBUG_TEMPROOT ?= $(shell df -k /dev/shm 2> /dev/null | awk '$$4 > 2e6 { print $$6 }' | tail -n 1)

test: $(VENV)/test
	$(PYTEST) -m "not slow" --ignore tests/benchmarks

slow: $(VENV)/dev
	$(PYTEST) -m "slow and not nightly" --ignore tests/benchmarks

tests: $(VENV)/dev
	$(PYTEST) -m "not (slow and nightly)" --ignore tests/benchmarks

nightly: $(VENV)/dev
	$(PYTEST) -m slow --ignore tests/benchmarks

search: SEED := $(SEED)
search: $(VENV)/test
	@echo "The same examples again: make search SEED=$(SEED)"
	$(PYTEST) -m hypothesis --hypothesis-profile search --hypothesis-seed $(SEED) --ignore tests/benchmarks
	$(BIN)/python -m tests.oracle --histories $(HISTORIES) --seed $(SEED)

bench: $(VENV)/dev
	$(PYTEST) tests/benchmarks

gates: $(VENV)/dev
	$(BIN)/python -m benchmarks.gates $(if $(DATA),--data $(DATA))

cover: $(VENV)/dev
	$(PYTEST) --cov --cov-report=term-missing

docs: $(VENV)/dev
	$(BIN)/python -m sphinx --builder html --fail-on-warning --quiet docs build/docs

oldest: export PYTHONPATH = $(OLDEST)
oldest: $(OLDEST)/installed
	$(BIN)/python -m scrapy version
	$(PYTEST) -m "not slow" $(WITH_SCRAPY)

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

check: lint types docs tests oldest bench

audit: $(VENV)/dev
	$(BIN)/python $(INSTALL) --quiet --group audit
	$(BIN)/python -m pip_audit --skip-editable --progress-spinner off

workflows: $(VENV)/dev
	$(BIN)/python $(INSTALL) --quiet --group workflows
	$(BIN)/actionlint
	$(BIN)/zizmor --offline --no-progress .

# What a crawl needs, then what tests need, then everything.
$(VENV)/installed: pyproject.toml $(COMPILED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python $(INSTALL) --editable ".[fast]"
	touch $@

$(VENV)/test: $(VENV)/installed
	$(BIN)/python $(INSTALL) --quiet --group test
	touch $@

$(VENV)/dev: $(VENV)/installed
	$(BIN)/python $(INSTALL) --quiet --group dev
	touch $(VENV)/test $@

$(OLDEST)/installed: $(VENV)/test
	$(BIN)/python $(INSTALL) --quiet --no-deps --target $(OLDEST) "scrapy==2.13.*" "twisted==25.5.*"
	touch $@
