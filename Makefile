# Everything a newcomer needs: `make demo` to see it, `make test` to prove it.
# The environment is .venv; nothing outside this folder is changed.

PY ?= python3
UV_VERSION := 0.13.7
BIN := .venv/bin
SYNC = $(BIN)/uv pip sync -q --python $(BIN)/python --require-hashes
# hatchling and editables stand in both locks, so the build fetches nothing.
SELF = $(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
COMPILE = $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock'

.DEFAULT_GOAL := help
.PHONY: help demo test real full chromium postgres agents bench lint format lock clean

# Real agent programs for the tests: below .venv, so git does not see them and `clean` removes them.
AGENTS := .venv/agents
PINS := tests/tools/agents

# What the benchmarks measure yaoki beside, in an environment of its own.
PEERS := .venv/peers

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*  ## \(.*\)/  make \1\t\2/p' Makefile

demo: .venv/.run  ## watch a plan run to a proven end: no key, no network
	$(BIN)/yaoki demo

test: lint chromium  ## everything that must hold before a commit
	$(BIN)/pytest -q -n auto --dist worksteal -m "not agents"
	$(BIN)/python -m tests.spec_coverage

real: agents  ## the real agent programs against a scripted model
	$(BIN)/pytest -q -n auto --dist worksteal -m agents

full: test real  ## both

postgres: .venv/.dev  ## the acceptance tests once more, with the store on a server
	$(BIN)/pytest -q -n auto --dist worksteal -m "not agents" --store postgresql tests/acceptance

# The page is tested in a browser: the installed one, else one below .venv.  With INSTALL=yes, or on a
# build server, the system's packages are asked first; without any those tests say that they are skipped.
chromium: .venv/.dev
	@$(BIN)/python tests/tools/browser.py .venv/browsers

lint: .venv/.dev  ## style, types and floors
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: .venv/.dev  ## let ruff repair what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Needs the network; `make lock LOCK_FLAGS=--upgrade` takes the newest versions.  The last line refuses a lock that tells where a package was fetched.
lock: $(BIN)/uv  ## write the lock files anew from pyproject.toml
	printf 'hatchling\neditables\n' | $(COMPILE) $(LOCK_FLAGS) --group dev pyproject.toml - \
		-o requirements-dev.lock
	printf 'hatchling\neditables\n' | $(COMPILE) $(LOCK_FLAGS) -c requirements-dev.lock \
		pyproject.toml - -o requirements.lock
	$(COMPILE) $(LOCK_FLAGS) benchmarks/peers.in -o benchmarks/peers.lock
	! grep -nE 'https?:|file:|--(extra-)?index|--find-links' requirements*.lock benchmarks/peers.lock

agents: .venv/.dev  ## install the real agent programs that tests drive
	$(BIN)/python $(PINS)/install.py $(AGENTS)

bench: $(PEERS)/.done  ## measure against bare limits and other queues; dist/bench.json, .svg
	mkdir -p dist
	$(BIN)/python -m benchmarks --json dist/bench.json --svg dist/bench.svg $(BENCH_FLAGS)

clean:  ## remove the environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis \
		.coverage .coverage.* dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/uv:
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"yaoki needs Python 3.11 or newer; name one: make PY=python3.12 ...")'
	@$(PY) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PY) cannot make virtual environments: its venv module is missing." >&2; \
		echo "On Debian or Ubuntu: apt install python3-venv" >&2; \
		echo "Or name another Python: make PY=/path/to/python3 ..." >&2; \
		exit 1; }
	$(PY) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check --no-deps uv==$(UV_VERSION)

# A development environment can run the demo as well, and must not lose its tools to it.
.venv/.run: $(BIN)/uv requirements.lock pyproject.toml
	test -e .venv/.dev || $(SYNC) requirements.lock
	$(SELF)
	touch $@

.venv/.dev: $(BIN)/uv requirements-dev.lock pyproject.toml
	$(SYNC) requirements-dev.lock
	$(SELF)
	touch $@

# Peers that cannot be installed are shown as missing, so this is no reason to stop.
$(PEERS)/.done: benchmarks/peers.lock | .venv/.dev
	$(BIN)/uv venv -q --clear --python $(BIN)/python $(PEERS)
	if $(BIN)/uv pip sync -q --compile-bytecode --python $(PEERS)/bin/python --require-hashes $<; \
		then touch $@; else echo "the peers could not be installed; they are shown as missing" >&2; fi
