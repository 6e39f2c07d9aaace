# Every target makes its own virtual environment first, so a fresh clone needs only Python and make.
#   make test ARGS="-k cards"              passes ARGS on
#   make train PYTHON=python3.12           picks the interpreter of the virtual environment

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
INSTALLED := .venv/.installed
RAY_INSTALLED := .venv-ray/.installed
LIBRARIES_INSTALLED := .venv-libraries/.installed
AGILERL_INSTALLED := .venv-agilerl/.installed
OLDEST_INSTALLED := .venv-oldest/.installed

# What the package exports, and what is imported by its own name.
DOCUMENTED := chinese_ten_env $(addprefix chinese_ten_env.,chinese_ten_v0 gym_env vector_env policies render \
	adapters.openspiel adapters.openspiel_mini adapters.sb3 adapters.torch)
# pdoc evaluates the annotations of a NamedTuple where their names are not known, and takes what the
# package imports late from one of its folders for a module that is not there.
WARNINGS := -W error -W "ignore:Error parsing type annotation ForwardRef" -W "ignore:Found 'pretrained'"

.DEFAULT_GOAL := help
.PHONY: help train test test-browser test-oldest test-ray test-libraries test-agilerl lint format docs bench clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

train: $(INSTALLED)  ## train an agent and measure it (ARGS="--variant taiwan --num-players 4")
	$(BIN)/python train.py fit $(ARGS)

test: $(INSTALLED)  ## run the tests on all cores
	$(BIN)/python -m pytest -n auto $(ARGS)

test-browser: $(INSTALLED)  ## play in a real browser: CHROMIUM, or /usr/bin/chromium
	$(BIN)/python -m pytest tests/browser $(ARGS)

test-oldest: $(OLDEST_INSTALLED)  ## run the tests of the library alone with the oldest versions it takes
	.venv-oldest/bin/python -m pytest -n auto @tests/core.txt $(ARGS)

test-ray: $(RAY_INSTALLED)  ## run the tests that need Ray, in an environment of their own
	.venv-ray/bin/python -m pytest tests/ray -n 2 $(ARGS)

test-libraries: $(LIBRARIES_INSTALLED)  ## run the tests with TorchRL, Tianshou and SuperSuit
	.venv-libraries/bin/python -m pytest tests/libraries -n 2 $(ARGS)

test-agilerl: $(AGILERL_INSTALLED)  ## run the tests with AgileRL
	.venv-agilerl/bin/python -m pytest tests/agilerl -n 2 $(ARGS)

lint: $(INSTALLED)  ## check style and types, change nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(INSTALLED)  ## fix what can be fixed and format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(INSTALLED)  ## write the API reference to build/docs; a warning is an error
	$(BIN)/python $(WARNINGS) -m pdoc -o build/docs $(DOCUMENTED)

bench: $(INSTALLED)  ## measure decisions a second (ARGS="--json")
	$(BIN)/chinese-ten bench $(ARGS)

clean:  ## remove the virtual environments, builds and caches; training runs stay
	rm -rf .venv .venv-agilerl .venv-libraries .venv-oldest .venv-ray build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are written last: an installation that broke off is taken up again by the next make.
$(INSTALLED): pyproject.toml constraints.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -c constraints.txt -e '.[train,dev]'
	@touch $@

# RLlib takes one version of Gymnasium only, which the rest need not.
$(RAY_INSTALLED): pyproject.toml constraints-ray.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/pip install -c constraints-ray.txt -e '.[train,arena,pretrained,ray,rllib,test]'
	@touch $@

# Tianshou and TorchRL take older versions of some packages than constraints.txt holds.
$(LIBRARIES_INSTALLED): pyproject.toml constraints-libraries.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-libraries
	.venv-libraries/bin/pip install -c constraints-libraries.txt -e '.[libraries,test]'
	@touch $@

# AgileRL takes an older PettingZoo and another tensordict than TorchRL.
$(AGILERL_INSTALLED): pyproject.toml constraints-agilerl.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-agilerl
	.venv-agilerl/bin/pip install -c constraints-agilerl.txt -e '.[agilerl,test]'
	@touch $@

# For Python 3.11: the oldest versions have no builds for newer ones.
$(OLDEST_INSTALLED): pyproject.toml constraints-oldest.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install -c constraints-oldest.txt -e '.[core]'
	@touch $@

define CHECK_PYTHON
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "Python 3.11 or newer is needed, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)." >&2; \
	echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	exit 1; }
endef
