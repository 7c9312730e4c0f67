# Everything below needs python3 (3.10 or newer, with venv), g++ (11 or newer), make and bash. CMake and ninja come
# from pip into .venv, where the package is installed editable: edits of Python count at once, and whatever is
# compiled or copied there is built again when its sources change.

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.SILENT:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-soak test-peer lint peer peer-environment bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
TOOLS := $(VENV)/.tools-installed
PACKAGE := $(VENV)/.package-installed
RELEASE := build/release
PEER := build/peer
PEER_FAILURE := build/peer-not-fetched
PEER_ENVIRONMENT := build/peer-environment
PEER_ENVIRONMENT_FAILURE := build/peer-environment-not-made
# PyTorch for the CPU alone is told by its version. Another one is some gigabytes: make PEER_TORCH=torch peer-environment
PEER_TORCH ?= torch==2.13.0+cpu

# More arguments for pytest, as in: make test PYTEST="-k scripts -x"
PYTEST ?=

NATIVE_SOURCES := CMakeLists.txt pyproject.toml $(shell find interposer scripts tests/native benchmarks/native -type f 2>/dev/null)
CXX_FILES = $(shell find interposer tests/native benchmarks/native -name '*.cpp' -o -name '*.h')
SHELL_SCRIPTS := .ci/run scripts/check_prerequisites $(wildcard scripts/atb/*.sh)

help:  ## Show this list
	sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(PACKAGE)  ## Make .venv, build the libraries and install the package into it

demo: $(PACKAGE)  ## Dump from a small model on the CPU, changing the rules while it runs
	$(BIN)/atbprobe-rules demo

test: $(PACKAGE) peer  ## Run the tests (PYTEST="-k word" passes arguments on)
	$(BIN)/python -m pytest -m "not soak" --numprocesses auto --maxprocesses 8 --dist worksteal $(PYTEST)

test-soak: $(PACKAGE) peer  ## Run the long tests, and hypothesis with many more examples
	ATBPROBE_TEST_PROFILE=long $(BIN)/python -m pytest --timeout 1800 $(PYTEST)

test-peer: $(PACKAGE) peer peer-environment  ## Run the tests that have the published package run, too
	$(BIN)/python -m pytest -m "peer or peer_command_line" $(PYTEST)

lint: $(PACKAGE)  ## Check style, types, the direction of imports, C++ and shell
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo >$(RELEASE)/lint-imports.log || { cat $(RELEASE)/lint-imports.log; exit 1; }
	$(if $(CXX_FILES),$(BIN)/clang-format --dry-run -Werror $(CXX_FILES))
	$(BIN)/python $(BIN)/run-clang-tidy.py -quiet -p $(RELEASE) -clang-tidy-binary $(BIN)/clang-tidy \
	    "^$(CURDIR)/(interposer|tests/native|benchmarks/native)/" >$(RELEASE)/clang-tidy.log 2>&1 \
	    || { grep -vE '^$$|^\[|warnings? (generated|treated)|^Suppressed' $(RELEASE)/clang-tidy.log; exit 1; }
	if command -v shellcheck >/dev/null; then \
	    shellcheck --external-sources $(SHELL_SCRIPTS); \
	else \
	    echo "shellcheck: not run, package missing" >&2; \
	    [ "$${CI:-}" != true ]; \
	fi
	echo "lint: fine"

bench: $(PACKAGE) peer peer-environment  ## Measure side by side with the published package
	$(BIN)/python -m benchmarks

clean:  ## Remove everything that was built, and .venv
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What tests and benchmarks run beside ours. Without it they still run, and say what is missing and why: next time it
# is tried again. Its libraries are the same for every Python, whichever one its wheel is named after.
peer: $(PEER)  ## Fetch the published package into build/peer, for tests and benchmarks

$(PEER): pyproject.toml | $(TOOLS)
	rm -rf $@ $(PEER_FAILURE)
	mkdir -p $(@D)
	if $(PIP) install --group peer --no-deps --target $@ --no-compile --only-binary :all: --python-version 3.11 \
	    --retries 1 2>$@.log; then \
	    touch $@; \
	else \
	    tail -n 1 $@.log >$(PEER_FAILURE); \
	    echo "peer: not fetched: $$(cat $(PEER_FAILURE))" >&2; \
	fi

# Its command line, too, wants PyTorch and more: some 1.5 GB, which nothing else here needs. It is made once.
peer-environment: $(PEER_ENVIRONMENT)/.installed  ## Install the published package with what it needs into a .venv of its own

$(PEER_ENVIRONMENT)/.installed: | $(TOOLS)
	rm -rf $(@D) $(PEER_ENVIRONMENT_FAILURE)
	echo "peer: installing its command line into $(@D)"
	$(PYTHON) -m venv --without-pip $(@D)
	if $(PIP) --python $(@D)/bin/python install --group peer '$(PEER_TORCH)' --only-binary :all: \
	    --retries 1 2>$(@D).log; then \
	    touch $@; \
	else \
	    tail -n 1 $(@D).log >$(PEER_ENVIRONMENT_FAILURE); \
	    rm -rf $(@D); \
	    echo "peer: not installed: $$(cat $(PEER_ENVIRONMENT_FAILURE))" >&2; \
	fi

$(TOOLS): pyproject.toml
	scripts/check_prerequisites $(PYTHON)
	[ -x $(BIN)/python ] || { echo "setup: making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	echo "setup: installing tools into $(VENV)"
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --group dev
	touch $@

$(PACKAGE): $(TOOLS) $(NATIVE_SOURCES)
	echo "setup: building and installing atbprobe-rules"
	$(PIP) install --no-build-isolation --editable . \
	    -Cbuild-dir=$(RELEASE) \
	    -Ccmake.define.ATBPROBE_WARNINGS_AS_ERRORS=ON \
	    -Ccmake.define.ATBPROBE_BUILD_TESTS=ON
	touch $@
