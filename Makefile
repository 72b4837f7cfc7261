# Everything a newcomer types. Each target sets up .venv by itself the first time, and again whenever pyproject.toml or
# constraints.txt change. Written for any make since GNU make 3.81 (macOS).

PYTHON ?= python3
EXTRAS ?= dev
ARGS   ?=

VENV   := .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.ready

# `make setup TORCH=cpu`: the CPU build of PyTorch (a tenth of the download), from PyTorch's own index.
ifeq ($(TORCH),cpu)
export PIP_EXTRA_INDEX_URL := $(strip $(PIP_EXTRA_INDEX_URL) https://download.pytorch.org/whl/cpu)
endif

.DEFAULT_GOAL := help
.PHONY: help setup train evaluate play test test-slow lint format bench clean distclean

help:
	@echo "make setup       .venv with everything in it, kernels compiled (TORCH=cpu: the small CPU build of PyTorch)"
	@echo "make train       learn Brandubh by self-play     ARGS='--config configs/tawlbwrdd.yaml --minutes 60'"
	@echo "make evaluate    how strong is a player          ARGS='runs/NAME/best.safetensors'"
	@echo "make play        play in the browser             ARGS='--terminal' plays in the terminal"
	@echo "make test        the fast tests                  ARGS='tests/env -k capture'"
	@echo "make test-slow   all tests"
	@echo "make lint        ruff and pyright;  make format applies what can be applied"
	@echo "make bench       speed of rules, network, search"
	@echo "make clean       caches;  make distclean also .venv (runs/ is never touched)"

setup: $(READY)
	@echo "Set up in $(VENV). Next: make train"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Branan needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo 'not there')." \
	       "Name another one: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) || { \
	  echo "Could not make a virtual environment in $(VENV)." \
	       "On Debian and Ubuntu the module is a package of its own: apt install python3-venv" >&2; \
	  rm -rf $(VENV); exit 1; }
	@echo "Installing the packages that constraints.txt names ..."
	@$(PY) -m pip install --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]' || { \
	  echo "pip could not install the packages (its reason is above)." \
	       "Check the network and the free disk space, then run the same command again: it goes on where it stopped." >&2; \
	  exit 1; }
	@$(PY) tools/compile_kernels.py
	@touch $@

train: $(READY)
	@$(PY) train.py $(ARGS)

evaluate: $(READY)
	@$(PY) evaluate.py $(ARGS)

play: $(READY)
	@$(PY) play.py $(ARGS)

test: $(READY)
	@$(PY) -m pytest -m "not slow" $(ARGS)

test-slow: $(READY)
	@$(PY) -m pytest $(ARGS)

lint: $(READY)
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/ruff format --check
	@$(VENV)/bin/pyright

format: $(READY)
	@$(VENV)/bin/ruff check --fix
	@$(VENV)/bin/ruff format

bench: $(READY)
	@for file in $$(grep -l __main__ benchmarks/*.py); do echo "== $$file"; $(PY) $$file $(ARGS) || exit 1; done

clean:
	rm -rf build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
