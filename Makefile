# Each target makes .venv if there is none, and installs the project and its tools into it again when pyproject.toml changes.
PYTHON ?= python3
INSTALL ?= --editable .[test]
BIN := .venv/bin

.PHONY: demo test lint

demo: .venv/installed
	$(BIN)/bp-opt examples/gpt3_175b.bpir --pass=distribute-inference --pass=plan-inference
	$(BIN)/bp-opt examples/gpt3_175b.bpir --pass=distribute-inference --pass=plan-inference | \
	  $(BIN)/bp-report - --bind B=1 c=2048 t=8

test: .venv/installed
	$(BIN)/python -m pytest

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/mypy

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(INSTALL)
	touch $@
