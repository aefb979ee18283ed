# make demo    run the accounting router, with no key and no server
# make test    run the tests, two at a time; WORKERS=0 runs them one by one in one process
# make check   lint, types, architecture, tests
# make crash   kill runs at a thousand moments and see that none ends otherwise, in about five minutes
# make bench   Plait beside LangGraph by hand, in about five minutes; make bench-quick in one
# make cancels a thousand cancels at random moments leave nothing behind, in some minutes
# make schema  write the JSON Schema of the YAML form anew
# make aimock  a second model server for tests/wire, where there is Node 20; without it those tests are skipped
# make clean   back to a fresh clone
#
# All of it runs in .venv, which the first target makes with $(PYTHON). A stamp there marks each finished
# install, so that a second run installs nothing and needs no network.

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# A .venv no longer fits when its folder was moved or copied, when its Python is gone, and when another
# Python was asked for by name.
wanted := $(if $(filter file,$(origin PYTHON)),$(BIN)/python,$(PYTHON))
fits := $(shell [ "`cat $(MADE) 2>&1`" = "`pwd -P`" ] && $(BIN)/python -c '' 2>&1 \
	&& [ "`$(BIN)/python -V 2>&1`" = "`'$(wanted)' -V 2>&1`" ] && echo yes)
ifneq ($(fits),yes)
.PHONY: $(MADE)
endif

.PHONY: help demo test check lint types architecture crash bench bench-quick cancels schema aimock clean
.NOTPARALLEL:

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(VENV)/.base
	@$(BIN)/python -m plait.examples.accounting_router --demo

test: $(VENV)/.test aimock
	@$(BIN)/python -P -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: lint types architecture test

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# mypy reads the package through links in a folder named plait; its messages name the real files.
types: $(VENV)/.dev
	@rm -rf build/typecheck && mkdir -p build/typecheck/plait
	@for part in *.py */__init__.py py.typed; do \
		ln -s "../../../$${part%/__init__.py}" build/typecheck/plait/; \
	done
	@$(BIN)/python -m mypy > build/typecheck/report; code=$$?; \
	sed 's|build/typecheck/plait/||g' build/typecheck/report; exit $$code

architecture: $(VENV)/.test
	@$(BIN)/python -P -m pytest -q tests/test_architecture.py

# Every second boundary, which makes more than a thousand; ARGS="--every 1 --seeds 3" for a long night.
crash: $(VENV)/.test
	@$(BIN)/python -P -m plait.tests.crash $(ARGS)

bench: $(VENV)/.base
	@$(BIN)/python -P -m plait.benchmarks $(ARGS)

bench-quick: $(VENV)/.base
	@$(BIN)/python -P -m plait.benchmarks --quick $(ARGS)

cancels: $(VENV)/.test
	@CANCELS=1000 $(BIN)/python -P -m pytest -q tests/live/test_cancels.py $(ARGS)

schema: $(VENV)/.base
	@$(BIN)/python -P -m plait.workflow_schema

AIMOCK := build/aimock
aimock: $(AIMOCK)/.made

$(AIMOCK)/.made: tests/wire/aimock/package.json tests/wire/aimock/package-lock.json
	@mkdir -p $(AIMOCK) && cp $^ $(AIMOCK)
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
		cd $(AIMOCK) && npm ci --ignore-scripts --no-audit --no-fund --silent && touch .made; \
	else echo "No Node: the tests against aimock will be skipped"; fi

clean:
	rm -rf $(VENV) build dist ./*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Plait needs Python 3.11 or newer, and '$(PYTHON)' is: $$('$(PYTHON)' -V 2>&1)"; \
		echo "Name a newer one, as in: make $(firstword $(MAKECMDGOALS) demo) PYTHON=python3.12"; \
		exit 1; } >&2
	@echo "Making $(VENV) with $$('$(PYTHON)' -V)"
	@'$(PYTHON)' -m venv --clear $(VENV)
	@pwd -P > $@

$(VENV)/.base: pyproject.toml $(MADE)
	@echo "Installing Plait"
	@$(INSTALL) -e '.[cli]'
	@touch $@

$(VENV)/.test: pyproject.toml $(MADE)
	@echo "Installing Plait and what its tests need"
	@$(INSTALL) -e '.[test]'
	@touch $(VENV)/.base $@

$(VENV)/.dev: pyproject.toml $(MADE)
	@echo "Installing Plait and what its checks need"
	@$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.base $(VENV)/.test $@
