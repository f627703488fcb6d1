# eigenwerk: set up, demonstrate, test, document.
#
#   make demo       install into .venv and run examples/01_silicon_pbe into build/demo
#   make test       install with the test tools; the fast tests on two workers (WORKERS=1: on one), ruff and mypy
#   make test-all   the same with the slow tests; make test-quarter QUARTER=2: a quarter of them
#   make docs       build the documentation into site/
#   make clean      remove everything that these made
#
# Another Python:  make demo PYTHON=python3.12
# Without a copy of PyTorch's CUDA libraries:  make demo PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"
# Packages come in the versions of constraints.txt, with which eigenwerk is tested.  The newest ones that pyproject.toml
# allows, in a new environment:  make clean && make demo CONSTRAINTS=

PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
PIP_ARGS ?=
PYTEST_ARGS ?=
WORKERS ?= 2
QUARTER ?= 0
BIN := $(VENV)/bin
DEMO := build/demo
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
INSTALL = $(BIN)/python -m pip install --quiet $(addprefix --constraint ,$(CONSTRAINTS)) $(PIP_ARGS) --editable

# What Python has compiled is kept: otherwise each process that a test starts compiles all of eigenwerk anew, 3 s.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-all test-quarter lint docs clean
.DELETE_ON_ERROR:

help:
	@sed -n '3,7s/^# *//p' Makefile

# --- the environment -------------------------------------------------------------------------------------------------
# The stamps live inside the environment, so a removed or half-made environment is made again.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "eigenwerk needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)."; \
	  echo "Install a newer one and say which:  make $(firstword $(MAKECMDGOALS)) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments. On Debian and Ubuntu:  apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) '.[fftw]'
	@touch $@

$(VENV)/.installed-test: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) '.[docs]'
	@touch $@ $(VENV)/.installed

# --- what one does with it -------------------------------------------------------------------------------------------

demo: $(VENV)/.installed
	$(BIN)/eigenwerk run examples/01_silicon_pbe --output $(DEMO)
	@echo
	@echo "The calculation lies in $(DEMO):"
	@ls -1 $(DEMO) | sed 's/^/  /'
	@for plot in $(DEMO)/*.png; do [ ! -e "$$plot" ] || echo "Its convergence plot: $$plot"; done

# The style checks run beside the tests, and are shown after them: one call shows everything, whatever fails.
WITH_LINT = mkdir -p build; $(MAKE) --no-print-directory lint >build/lint.txt 2>&1 & lint=$$!; \
	$(PYTEST) $(1) $(PYTEST_ARGS); tests=$$?; wait $$lint; style=$$?; cat build/lint.txt; [ $$style -eq 0 ] && exit $$tests

test: $(VENV)/.installed-test
	@$(call WITH_LINT,-m "not slow and not gpu")

test-all: $(VENV)/.installed-test
	@$(call WITH_LINT)

test-quarter: $(VENV)/.installed-test
	@$(PYTEST) -m "slow and not gpu" --quarter $(QUARTER) $(PYTEST_ARGS)

lint: $(VENV)/.installed-test
	@$(BIN)/ruff check .; style=$$?; $(BIN)/mypy && exit $$style

docs: $(VENV)/.installed-docs
	$(BIN)/properdocs build --strict --site-dir site

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache
	find src tests -name __pycache__ -type d -exec rm -rf {} +
