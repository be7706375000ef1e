# make study: the environment, then the quickstart study, then where its record is.
# make test:  the environment, then the tests (under 10 minutes on 2 cores).

SHELL := /bin/bash
BIN := $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV),$(CURDIR)/.venv)/bin
CORES ?= all
REPEAT ?= 1

.PHONY: study test test-all faults check bench environment environment-dev

study: environment
	$(BIN)/snakemake --cores $(CORES) --resources gpu=1
	@echo "The record is in results/quickstart/record/record.md"

test: environment-dev
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-all: environment-dev
	$(BIN)/python -m pytest

# Every fault that a run must survive, and a table of what became of it; REPEAT=20 repeats the concurrent ones.
faults: environment-dev
	$(BIN)/python -m pytest tests/faults --repeat $(REPEAT)

check: environment-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

bench: environment-dev
	@for program in benchmarks/*.py; do echo "== $$program"; $(BIN)/python $$program || exit 1; done

environment:
	@envs/install.sh

environment-dev:
	@envs/install.sh dev
