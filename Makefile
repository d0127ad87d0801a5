# One-word tasks. `make` lists them.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup test quick coverage lint types snapshots docs bench wheel

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## make .venv with all that tests and linters need, and the pre-commit hooks
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[test]' pre-commit
	$(BIN)/pre-commit install

test: ## README's test command: the quick tier
	$(BIN)/python -m pytest

everything: ## all tests but the long ones
	$(BIN)/python -m pytest --tier all

quick: ## the tests that are not slow
	$(BIN)/python -m pytest -m 'not slow'

coverage: ## all tests, with the lines and branches that none of them reaches (build/coverage/index.html)
	$(BIN)/python -m pytest --tier all --cov --cov-report=term:skip-covered --cov-report=html:build/coverage

lint: ## ruff, import contracts, prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.tools.prose

types: ## mypy, strict
	$(BIN)/mypy

snapshots: ## renew the pictures of the screens; look at each before you commit it
	$(BIN)/python -m pytest tests/tui tests/pictures --snapshot-update

docs: ## make the reference pages again, and try every link and command in the papers
	$(BIN)/python docs/make.py
	$(BIN)/python -m pytest tests/papers

bench: ## the program's own speed, against its budgets
	$(BIN)/python -m tests.benchmarks --wait

wheel: ## build the wheel and run it in an environment of its own
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet dist/*.whl
	cd build && wheel/bin/tuilab --version && wheel/bin/tuilab presets > /dev/null
