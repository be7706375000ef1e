# make study: the environment, then the quickstart study, then where its record is.
# make test:  the environment, then the tests (under 10 minutes on 2 cores).
# make rules: the table of rule checks of the trainer armies (POSITIONS=200000: more of them per board).
# make faults: every fault that a run must survive, and what became of it (REPEAT=20: the concurrent ones again).
# make test-uncompiled: the tests of armies' engine as plain Python, without numba's compiler.

SHELL := /bin/bash
BIN := $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV),$(CURDIR)/.venv)/bin
CORES ?= all
POSITIONS ?= 20000
REPEAT ?= 1

.PHONY: study test test-all test-uncompiled rules faults check bench environment environment-dev

study: environment
	$(BIN)/snakemake --cores $(CORES) --resources gpu=1
	@echo "The record is in results/quickstart/record/record.md"

test: environment-dev
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-all: environment-dev
	$(BIN)/python -m pytest

test-uncompiled: environment-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/armies -m "not slow"

rules: environment-dev
	$(BIN)/python tests/armies/rule_table.py --positions $(POSITIONS)

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
