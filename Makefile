# `make demo` and `make test` do all their own set-up; `make help` lists the rest.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The first of these on the machine; or: make demo PYTHON=/path/to/python3.11
PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3))
BIN := .venv/bin
READY := .venv/.ready

# Words after a command, for example: make demo ARGS="--once --prefill 4 --decode 8"
ARGS ?=

# $(call debian,PACKAGES,REASON): install Debian packages as root, else say which ones are missing.
define debian
	if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
		echo "· installing Debian's $(1) for $(2)" >&2; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $(1) >/dev/null; \
	else \
		echo "This machine lacks $(1), needed for $(2). Run: sudo apt-get install $(1)" >&2; exit 1; \
	fi
endef

.PHONY: help demo test test-engines audit lint bench soak pictures lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: $(READY) ## meter, price and show a replayed prefill/decode cluster (Ctrl-C ends it)
	@$(BIN)/tokentill demo $(ARGS)

test: lint browser ## everything that must hold: lint, types, house rules, tests
	@echo "· pytest" >&2
	@$(BIN)/pytest -n 2 --dist loadfile $(ARGS)

# Environments of their own, some GB, in ENGINES_DIR (default: ~/.cache/tokentill-engines).
test-engines: $(READY) ## real vLLM and SGLang on this CPU, metered, billed, reconciled; no part of make test
	@$(INDEX) $(BIN)/python tests/engines/set_up.py
	@$(BIN)/pytest -p no:xdist -o python_files='live_*.py' tests/engines $(ARGS)

audit: $(READY) ## known faults of the locked versions, by pip-audit; needs an advisory service
	@$(INDEX) $(BIN)/python tests/house/audit.py $(ARGS)

lint: $(READY) ## format, lint and types, without running anything
	@echo "· ruff, mypy" >&2
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

bench: $(READY) ## the benchmarks; prints one JSON object
	@$(BIN)/python bench/run.py $(ARGS)

soak: browser ## 200 kills of a sidecar, 500 clicks, half an hour of kills in the demo (ARGS="--minutes N"); exact
	@$(BIN)/python bench/soak.py $(ARGS)

pictures: browser ## take the pictures of the documentation: documents, and pages of a running demo
	@$(BIN)/python docs/pictures/documents.py
	@$(BIN)/python docs/pictures/take.py $(ARGS)

lock: $(READY) ## write requirements.lock anew from pyproject.toml, keeping the versions that still fit
	@$(UV) pip compile --quiet pyproject.toml --all-extras --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --no-annotate --output-file requirements.lock $(ARGS)

clean: ## remove what the other commands made (not your data)
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* dist build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment: versions and hashes from requirements.lock, then this checkout, editable.
# uv comes first, from its own lines of the lock, and installs the rest in parallel. It does not
# read pip's configuration, so a mirror that pip knows is handed to it. Byte code is made here, once:
# the demo starts ten processes at the same time.
INDEX = UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(BIN)/pip config get global.index-url 2>/dev/null || true)}}"
UV = $(INDEX) $(BIN)/uv
$(READY): requirements.lock pyproject.toml
	@[[ -n "$(PYTHON)" ]] && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "tokentill needs Python 3.11 or newer. On Debian 12: apt-get install python3 python3-venv" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { $(call debian,python3-venv,a virtual environment); }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		echo "· making .venv with $(PYTHON)" >&2; "$(PYTHON)" -m venv --clear .venv; }
	@echo "· installing what requirements.lock names" >&2
	@awk '/^[a-z0-9]/ {wanted = /^uv==/} wanted' requirements.lock > .venv/uv.lock
	@$(BIN)/pip install -qq --disable-pip-version-check --require-hashes -r .venv/uv.lock
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: browser
browser: $(READY)
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
		$(call debian,chromium fonts-noto-cjk,the dashboard's browser tests); }
