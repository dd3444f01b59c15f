.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv is quicker, but does not read pip's settings: where it cannot install, pip does
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r $(1) || $(PIP) --require-hashes -r $(1)
TOOLS := $(VENV)/tools
LOCK = $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --generate-hashes

unexport PYTHONDONTWRITEBYTECODE  # else each of the many processes of the tests compiles the package again

.PHONY: help setup demo test lint types layers pytest docs bench soak lock audit clean

help:  ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## build .venv from the lock file

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'
	@echo "building $(VENV) (a minute or two, once)"
	@$(PYTHON) -m venv $(VENV)
	@awk '/^uv==/ {on = 1} on; on && !/\\$$/ {exit}' requirements-tools.lock >$(VENV)/uv.lock
	@$(PIP) --require-hashes -r $(VENV)/uv.lock
	@$(call INSTALL,requirements.lock)
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

demo: setup  ## find the best mix of compression codecs on this machine
	@$(BIN)/bestmix demo --output demo

test: lint types layers pytest  ## lint, types, layers and the whole test suite

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

layers: setup
	@$(BIN)/lint-imports

pytest: setup
	@$(BIN)/pytest -n 3

docs: $(VENV)/.docs  ## run the gallery and build the site in docs/_build/html; warnings are errors
	@$(BIN)/python docs/build_gallery.py
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env docs docs/_build/html
	@echo "open docs/_build/html/index.html"

$(VENV)/.docs: requirements-docs.lock $(STAMP)
	@$(call INSTALL,requirements-docs.lock)
	@touch $@

bench: $(VENV)/.docs  ## measure speed, as ratios in one run; prints tables, writes bench/results
	@$(BIN)/python -m bench

soak: setup  ## experiments under load and faults: kills, power cuts, a million trials; writes soak/results
	@$(BIN)/python -m soak

lock: $(TOOLS)/.installed  ## pin every dependency anew, with hashes
	@$(LOCK) --all-extras --group dev pyproject.toml -o requirements.lock
	@$(LOCK) --all-extras --group dev --group docs --constraint requirements.lock pyproject.toml -o requirements-docs.lock
	@$(LOCK) $(addprefix --extra ,fast service postgres frames plots) --group build --constraint requirements.lock pyproject.toml -o deploy/requirements.lock
	@$(LOCK) --group tools pyproject.toml -o requirements-tools.lock

audit: setup $(TOOLS)/.installed  ## known vulnerabilities of the dependencies, and their licences
	@$(BIN)/python deploy/dependencies.py $(TOOLS)/bin/pip-audit

$(TOOLS)/.installed: requirements-tools.lock
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-tools.lock
	@touch $@

clean:  ## remove .venv, caches and results
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo bench/results soak/results docs/_build docs/_generated
	find src tests bench soak -name __pycache__ -type d -prune -exec rm -rf {} +
