# Two commands do everything on a fresh machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# None of these may come from the surroundings: only from .venv.
unexport PYTHONPATH VIRTUAL_ENV

.PHONY: demo test lint format bench selftest clean

demo: $(VENV)/installed
	$(BIN)/framesift demo

test: lint
	$(BIN)/pytest

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed
	$(BIN)/python benchmarks/selection.py

selftest: $(VENV)/installed-dev
	$(BIN)/framesift bench selftest

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[offline]'
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
