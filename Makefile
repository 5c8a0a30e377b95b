# `make` alone says what there is.

.DEFAULT_GOAL := help
.PHONY: help demo test matrix check browser docs build bench chaos fmt venv lock clean

VENV := .venv
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
# What checks the browser's modules; nothing of it runs in the browser.
LINTERS := node_modules/.installed
EXTRAS := dev,docs,all,connect
# The first Python that is new enough; `make PYTHON=… venv` chooses another.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$python && break; done)
# Further arguments: `make test ARGS="-k heat_map"`, `make bench ARGS="--only send"`.
ARGS ?=
# Tests at once; most of them wait for servers, so it pays even on one core.
JOBS ?= 4

help: ## Show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(INSTALLED) ## Start everything with a replay of real flights, and print the console's address
	$(PY) manage.py up --demo $(ARGS)

# Each process of the tests would compile everything anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(INSTALLED) ## Run all tests against real servers
	$(PY) -m pytest -n $(JOBS) --dist loadfile $(ARGS)

matrix: ## Run a short tier on every Python here, each with the newest Django it takes
	ARGS="$(ARGS)" .ci/matrix

check: $(INSTALLED) ## Lint, format, types, import rules, migrations
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	@if [ -f manage.py ]; then set -x; $(PY) manage.py makemigrations --check --dry-run; fi
	@if command -v node >/dev/null && command -v npm >/dev/null; then $(MAKE) --no-print-directory browser; \
		else echo "skipped: the browser's modules, for node and npm are missing"; [ -z "$$CI" ]; fi

browser: $(LINTERS) $(INSTALLED) ## Lint, types and tests of the browser's modules
	npm run --silent check
	npm test --silent

$(LINTERS): package.json
	npm install --silent --no-package-lock --no-audit --no-fund
	@touch $@

build: $(INSTALLED) ## Make the wheel and the source archive, in dist/
	$(PY) -m build --no-isolation

docs: $(INSTALLED) ## Build the documents as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build
	@echo build/site/index.html

bench: $(INSTALLED) ## Measure speed, memory and lateness, beside other queues
	$(PY) -m benchmarks $(ARGS)

chaos: $(INSTALLED) ## Cause every fault again and again under load, and print the table
	$(PY) -m tests.chaos $(ARGS)

fmt: $(INSTALLED) ## Format, and fix what can be fixed by itself
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

venv: $(INSTALLED) ## Make or refresh .venv (the others do it when needed)

$(INSTALLED): pyproject.toml constraints.txt
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed; make PYTHON=/path/to/python venv" >&2; exit 1; }
	@$(PY) -c '$(NEW_ENOUGH)' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV) \
		|| { echo "this Python cannot make environments (Debian and Ubuntu: install python3-venv)" >&2; exit 1; }
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--config-settings editable_mode=compat --editable '.[$(EXTRAS)]'
	@touch $@

lock: ## Choose the newest versions again and write constraints.txt
	rm -rf $(VENV)
	: > constraints.txt
	$(MAKE) venv
	$(PY) -m pip freeze --exclude-editable | grep -E '^[A-Za-z0-9._-]+==' | sort -f > constraints.txt
	touch $(INSTALLED)

clean: ## Remove what was made here, except the data in var/
	rm -rf $(VENV) node_modules build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis staticfiles
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
