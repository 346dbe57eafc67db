# Everything runs inside .venv, which `make setup` builds from pinned, hashed requirements.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
FILE ?=
KILL ?=

.PHONY: help setup demo demo-model test chaos model check format bench clean

help: ## what can be done here
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: .venv/installed ## create .venv and install all that the project needs

.venv/installed: requirements/dev.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (about a minute) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup ## review a contract with live progress (FILE=path for your own, KILL=1 to see a crash)
	@$(BIN)/python scripts/demo.py $(if $(KILL),--kill,) $(if $(FILE),"$(FILE)",)

demo-model: setup ## the same by a small language model on this machine (compiles its server: minutes)
	@CMAKE_BUILD_PARALLEL_LEVEL=$${CMAKE_BUILD_PARALLEL_LEVEL:-1} \
		$(BIN)/python scripts/demo_model.py $(if $(FILE),"$(FILE)",)

test: setup ## run every test, the real services included
	@$(BIN)/python $(if $(ARGS),-m pytest $(ARGS),scripts/run_tests.py)

chaos: setup ## kill the engine at random for a quarter of an hour (CHAOS_TIMES=, CHAOS_SEED=)
	@CHAOS_TIMES=$${CHAOS_TIMES:-20} CHAOS_SEED=$${CHAOS_SEED:-$$RANDOM} \
		$(BIN)/python -m pytest tests/chaos --timeout=3600 $(ARGS)

model: setup ## compare each store with the model in 10,000 histories (STAGEPOST_EXAMPLES=20, MODEL_SEED=)
	@seed=$${MODEL_SEED:-$$RANDOM}; echo "MODEL_SEED=$$seed make model replays these histories"; \
		STAGEPOST_EXAMPLES=$${STAGEPOST_EXAMPLES:-20} STAGEPOST_SEED=random \
		$(BIN)/python -m pytest tests/stores/test_store_model.py --hypothesis-seed=$$seed $(ARGS)

check: setup ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup ## rewrite the code in the house format
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: setup ## measure against peers and bare limits (docs/performance.md)
	@$(BIN)/python -m bench $(ARGS)

clean: ## remove what the other targets made
	@find src tests bench scripts -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .venv .venv-bench .venv-model build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
