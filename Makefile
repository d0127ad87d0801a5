# One-word tasks. `make` lists them.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup test quick coverage lint types snapshots docs bench wheel

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## create .venv with the requirements of tests and linters, and the pre-commit hooks
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[test]' pre-commit
	$(BIN)/pre-commit install

test: ## the README's test command: the quick tier
	$(BIN)/python -m pytest

everything: ## all tests except the long ones
	$(BIN)/python -m pytest --tier all

quick: ## the tests that are not slow
	$(BIN)/python -m pytest -m 'not slow'

coverage: ## all tests, and a report of the lines and branches that none of them runs (build/coverage/index.html)
	$(BIN)/python -m pytest --tier all --cov --cov-report=term:skip-covered --cov-report=html:build/coverage

lint: ## ruff, import contracts, prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.tools.prose

types: ## mypy, strict
	$(BIN)/mypy

snapshots: ## update the stored screens and reports; look at each before you commit it
	$(BIN)/python -m pytest tests/tui tests/pictures tests/analysis tests/history tests/lab tests/model tests/report --snapshot-update

docs: ## regenerate the reference pages, and test every link and command in the docs
	$(BIN)/python docs/make.py
	$(BIN)/python -m pytest tests/papers

bench: ## measure tuilab's own speed against its limits
	$(BIN)/python -m tests.benchmarks --wait

wheel: ## build the wheel and run it in a new environment
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet dist/*.whl
	cd build && wheel/bin/tuilab --version && wheel/bin/tuilab presets > /dev/null
