# Each target makes .venv if there is none, and installs the project and its tools into it again when pyproject.toml changes.
# The comment after `##` is what `make help` prints.
PYTHON ?= python3
INSTALL ?= --editable .[test]
BIN := .venv/bin

# The tests start the tools hundreds of times: their modules are compiled once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-fast test-campaigns test-long test-processes lint docs bench

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

demo: .venv/installed ## plan Llama-3-8B on t ranks, and what it comes to on 8
	$(BIN)/bp-opt examples/llama_3_8b.bpir --pass=distribute-inference --pass=plan-inference
	$(BIN)/bp-opt examples/llama_3_8b.bpir --pass=distribute-inference --pass=plan-inference | \
	  $(BIN)/bp-report - --by=total --bind B=1 c=8192 t=8

# Of campaigns (each corruption of each module, random questions by the hundred) a part, evenly spread.
test: .venv/installed ## run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal

# A quarter of a minute: a few tests of each file.
test-fast: .venv/installed ## run a few tests of each file, in a quarter of a minute
	$(BIN)/python -m pytest -n auto --dist worksteal --few 2

# The part of the campaigns that `make test` leaves out; .ci/run runs it as well.
test-campaigns: .venv/installed ## run the rest of the campaigns, in minutes
	$(BIN)/python -m pytest -n auto --dist worksteal --tier campaigns

# Some need npm or Chromium, and say so where they are skipped.
test-long: .venv/installed ## the tests that take minutes: playground, editor, the longest page
	$(BIN)/python -m pytest -p no:xdist --long -m long

# The file tests again, every command of them as a process of its own, as a user would run it.
test-processes: .venv/installed ## run each command of the file tests as a process of its own
	$(BIN)/lit -q -Dprocesses=1 lit_tests

# Ratios against peers, which are optional: what is missing is said.
bench: .venv/installed ## print ratios against peers, where they are installed
	-$(BIN)/python -m pip install --quiet 'xdsl>=0.75,<1' 'bartiq>=0.17,<1'
	$(BIN)/python benchmarks/run.py

lint: .venv/installed ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

# The site, in build/site; needs no network to be read. Material advertises its successor unless the variable says not to.
docs: .venv/docs ## the site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@if command -v npm >/dev/null && $(BIN)/python playground/build.py build/site/playground; then :; \
	  else echo "the playground is left out of the site: it is built where npm is installed, and can install"; fi

.venv/docs: .venv/installed
	$(BIN)/python -m pip install --quiet $(INSTALL:.[test]=.[docs])
	touch $@

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(INSTALL)
	touch $@
