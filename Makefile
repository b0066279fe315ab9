# Each target makes .venv if there is none, and installs the project and its tools into it again when pyproject.toml changes.
PYTHON ?= python3
INSTALL ?= --editable .[test]
BIN := .venv/bin

.PHONY: demo test test-fast test-processes lint docs bench

demo: .venv/installed
	$(BIN)/bp-opt examples/llama_3_8b.bpir --pass=distribute-inference --pass=plan-inference
	$(BIN)/bp-opt examples/llama_3_8b.bpir --pass=distribute-inference --pass=plan-inference | \
	  $(BIN)/bp-report - --by=total --bind B=1 c=8192 t=8

test: .venv/installed
	$(BIN)/python -m pytest -n auto --dist worksteal

# A quarter of a minute: a few tests of each file.
test-fast: .venv/installed
	$(BIN)/python -m pytest -n auto --dist worksteal --few 3

# The file tests again, every command of them as a process of its own, as a user would run it.
test-processes: .venv/installed
	$(BIN)/lit -q -Dprocesses=1 lit_tests

# Ratios against peers, which are optional: what is missing is said.
bench: .venv/installed
	-$(BIN)/python -m pip install --quiet 'xdsl>=0.75,<1' 'bartiq>=0.17,<1'
	$(BIN)/python benchmarks/run.py

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/mypy

# The site, in build/site; needs no network to be read. Material advertises its successor unless the variable says not to.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

.venv/docs: .venv/installed
	$(BIN)/python -m pip install --quiet $(INSTALL:.[test]=.[docs])
	touch $@

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(INSTALL)
	touch $@
