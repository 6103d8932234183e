# `make` lists the targets. Everything but `up`, `down` and `status` makes the virtualenv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# A virtualenv of its own, in which the core is compiled to C.
COMPILED := .venv-compiled
COMPILED_BIN := $(COMPILED)/bin
SOURCES := $(shell find worker schemas topics -type f ! -name '*.pyc')
STACK := $(PYTHON) deploy/local/stack.py
PYTEST_ARGS ?= -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help up down status demo test compiled test-compiled chaos soak lint format lock system programs compiler

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

up: ## Start Kafka and Redis for development; print the settings
	@$(STACK) up

down: ## Stop them; their data is kept
	@$(STACK) down

status: ## Say what runs, where, and where its log is
	@$(STACK) status

demo: programs $(READY) ## Start Kafka and Redis and show the worker at work; without them the same in one process
	@settings=$$($(STACK) up) || echo "Kafka and Redis did not start: the demo runs in one process" >&2; \
	env $$settings $(BIN)/headrace demo

test: system lint ## Lint, then run the whole test suite against real Kafka and Redis
	$(BIN)/python -m pytest $(PYTEST_ARGS)

compiled: $(COMPILED)/.ready ## Compile the core to C: a wheel in dist/compiled, and a virtualenv that has it

test-compiled: system compiled ## The same test suite with the core compiled
	HEADRACE_CORE=compiled $(COMPILED_BIN)/python -m pytest $(PYTEST_ARGS)

chaos: system $(READY) ## Exactly once while everything breaks: 20,000 calls, a million chunks
	$(BIN)/python -m bench.chaos --calls 20000 --chunks 65 --seconds 240

soak: system $(READY) ## Memory and Redis keys over much traffic
	$(BIN)/python -m bench.soak --seconds 600

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(READY) ## Let ruff put the code in order
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: ## Pin the newest dependencies that pyproject.toml allows (needs uv)
	uv pip compile pyproject.toml --extra test --extra lint --universal --python-version 3.11 --upgrade \
		--no-header --no-annotate --no-emit-index-url --no-emit-find-links --output-file requirements.lock

$(COMPILED)/.ready: requirements.lock pyproject.toml $(SOURCES) | compiler
	$(PYTHON) -m venv $(COMPILED)
	$(COMPILED_BIN)/pip install --quiet --requirement requirements.lock 'build>=1.2,<2'
	rm -rf dist/compiled
	HATCH_BUILD_HOOKS_ENABLE=1 $(COMPILED_BIN)/python -m build --outdir dist/compiled
	$(COMPILED_BIN)/pip install --quiet --no-deps --force-reinstall dist/compiled/*.whl
	@touch $@

# Installs Debian packages when it may, else says which are missing.
system:
	@PYTHON=$(PYTHON) deploy/local/system.sh

compiler:
	@PYTHON=$(PYTHON) deploy/local/system.sh compiler

# The same for the demo, which can do without.
programs:
	@PYTHON=$(PYTHON) deploy/local/system.sh || true

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@
