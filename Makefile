# Every target sets up what it needs, from nothing: `make demo` and `make test` are
# all that a new checkout needs. Environments are rebuilt when their pins change.

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint docs wheel zoo versions bench constraints clean
.DELETE_ON_ERROR:

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	if $$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	2>/dev/null; then echo $$name; break; fi; done)
BIN := .venv/bin
# Both cores, a worker each; its threads would only wait for the other's. What a test
# imports is compiled once, wherever the machine forbids it.
SHARED := -n auto --maxprocesses 4 --dist worksteal
ALL := -m "not zoo" --hypothesis-profile=all
REST := -m "not zoo and (long or hypothesis)" --hypothesis-profile=all
export OMP_NUM_THREADS ?= 1
test test-all wheel versions: export PYTHONDONTWRITEBYTECODE :=
PIP := python -m pip --disable-pip-version-check --quiet --quiet
SHAPE := f32[B=1024, 3, 32, 32]

# One stamp a set of pins: when the pins or pyproject.toml change, so does its name.
stamp = .venv$(1)/ready-$(shell cat constraints/$(2).txt pyproject.toml 2>/dev/null \
	| cksum | cut -d' ' -f1)
DEV := $(call stamp,,dev)
ZOO := $(call stamp,-zoo,zoo)
BENCH := $(call stamp,-bench,bench)

# $(call environment,FOLDER,PINS): the pinned list first, which is complete, so pip has
# nothing to resolve; then the package, editable, built by the pinned setuptools.
define environment
@test -n "$(PYTHON)" || { echo "error: Python 3.11, 3.12 or 3.13 is needed" >&2; exit 1; }
@echo "setting up $(1) from $(2) (once; torch is a large download)" >&2
@rm -f $(1)/ready-*
@$(PYTHON) -m venv $(1)
@$(1)/bin/$(PIP) install --no-deps -r $(2) \
	"$(shell grep '^setuptools==' constraints/dev.txt)"
@$(1)/bin/$(PIP) install --no-deps --no-build-isolation -e .
@touch $@
endef

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' Makefile | expand -t 14

$(DEV):
	$(call environment,.venv,constraints/dev.txt)

$(ZOO):
	$(call environment,.venv-zoo,constraints/zoo.txt)

$(BENCH):
	$(call environment,.venv-bench,constraints/bench.txt)

demo: $(DEV)  ## the shapes of a small network at batch 1024
	@$(BIN)/shapewright trace -i "$(SHAPE)" examples/lenet.py:Net

test: $(DEV)  ## the test suite, without its long part, in less than 4 minutes
	@$(BIN)/python -m pytest $(SHARED) $(PYTEST)

test-all: $(DEV)  ## every test but those of `make zoo`
	@$(BIN)/python -m pytest $(SHARED) $(ALL) $(PYTEST)

lint: $(DEV)  ## ruff, mypy in strict mode, and the order of the layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy src
	@$(BIN)/lint-imports

docs: $(DEV)  ## the documentation, as HTML, without a warning
	@$(BIN)/sphinx-build --fail-on-warning --fresh-env --quiet -b html docs site
	@echo "site/index.html"

wheel: $(DEV)  ## build the wheel; run on it, installed, what `make test` leaves out
	@bash .ci/wheel $(SHARED) $(REST) $(PYTEST)

zoo: $(DEV) $(ZOO)  ## long coverage: operators, other people's models, other torches
	@$(BIN)/python -m pytest -m zoo $(PYTEST)
	@.venv-zoo/bin/python tests/zoo $(ONLY)
	@$(MAKE) --no-print-directory versions

versions:  ## make test on the oldest torch that is supported, and on the newest
	@bash .ci/versions $(SHARED) $(PYTEST)

bench: $(BENCH)  ## the measured comparison with peers
	@.venv-bench/bin/python -m bench $(ONLY)

constraints:  ## pin anew what pyproject.toml's groups ask for
	@bash .ci/pin

clean:  ## everything that can be made again
	@rm -rf .venv .venv-* dist build site .mypy_cache .ruff_cache .pytest_cache \
		.hypothesis .import_linter_cache src/*.egg-info
