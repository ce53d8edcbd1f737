# Ringback: every target works on a fresh machine with Python >= 3.11 and a package registry.
# The environment (.venv) is made on first use and brought up to date when requirements.lock changes.

PYTHON_CANDIDATES := python3 python3.13 python3.12 python3.11
PROBE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in $(PYTHON_CANDIDATES); do if $$p -c '$(PROBE)' >/dev/null 2>&1; then echo $$p; break; fi; done)

BIN := .venv/bin
CHECKED := src tests scripts $(wildcard bench examples)
TYPED := src tests scripts $(wildcard bench)
PYTEST_WORKERS ?= 2
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help env run test check static bench format lock clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

env: ## Make or update the environment in .venv
	@test -n "$(PYTHON)" || { \
	  echo "Ringback needs Python 3.11 or newer with its venv module (looked for: $(PYTHON_CANDIDATES))." >&2; \
	  echo "Name one yourself: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) scripts/environment.py

run: env ## Start server and worker, do one real run, keep serving (ARGS=--once ends after the run)
	@$(BIN)/python scripts/quickstart.py $(ARGS)

test: static ## Everything: the checks without tests, then the whole test suite
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadfile $(ARGS)

check: static ## Format, lint, types, import contracts, sizes, domain tests
	$(BIN)/python -m pytest -q tests/architecture tests/domain

static: env
	$(BIN)/ruff format --check --quiet $(CHECKED)
	$(BIN)/ruff check --quiet $(CHECKED)
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports --no-logo

bench: env ## Measure, next to the peers; writes bench/RESULTS.md
	$(BIN)/python -m bench.run $(ARGS)

format: env ## Rewrite the sources in the project's format
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

lock: env ## Resolve pyproject.toml again into requirements.lock
	$(BIN)/python scripts/lock.py $(ARGS)

clean: ## Remove the environment and everything that the tools cached
	rm -rf .venv .venv.lock .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
