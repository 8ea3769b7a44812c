# Everything that is done with perdure from a checkout; `make` alone says what there is.
#
# Each goal installs what it needs: Python packages from the lock files into .venv, and for `test`
# and `bench` a few Debian packages (real servers and clients to test against) where it may.

PYTHON ?= python3
VENV   := .venv
PEERS  := .peers
VALIDATORS := .validators
ORACLES := .oracles
BIN    := $(VENV)/bin
MINUTES ?= 20
CORE   := ids parts formats model policy
CORE_TESTS := $(CORE:%=tests/%) $(CORE:%=src/perdure/%) src/perdure/errors tests/errors tests/upkeep/collection \
  tests/metadata/test_bad_records.py tests/metadata/test_public_xml.py tests/extractors/test_derived.py \
  tests/cli/test_exits.py tests/server/test_problems.py tests/upkeep/transfer/test_joining_imports.py \
  tests/writing/test_registrar.py

# Some environments set it. Each server that a test starts would compile all modules again, which takes
# longer than everything else that it does to start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo demo-network test lint types layers coverage coverage-beside unit rest search trials bench bench-cluster release debian translations vendor lock clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.runtime  ## a registry with real documents, resolved in every way, on your machine
	@$(BIN)/python examples/demo.py

demo-network: $(VENV)/.runtime  ## three resolvers and a name server: names are handed over, and no link breaks
	@$(BIN)/python examples/demo_network.py

test:  ## everything that must hold: lint, types, layers, all tests
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint types layers
	@$(MAKE) --no-print-directory --jobs=2 rest coverage-beside

lint: $(VENV)/.development
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/check_style.py
	$(BIN)/python tools/check_reads.py

types: $(VENV)/.development
	$(BIN)/mypy

layers: $(VENV)/.development
	$(BIN)/lint-imports

# Many tests wait for a server, a browser or a disk: four processes and that of coverage keep two cores busy.
RUN_TESTS := PERDURE_CITEPROC=$(ORACLES) PERDURE_PARSE5=$(ORACLES) PYTHONHASHSEED=0 $(BIN)/pytest --dist worksteal
RUN_CORE := $(RUN_TESTS) -q --no-header -r fE -m "not hypothesis and not growth and not trial" $(CORE_TESTS) --cov
TEST_NEEDS := $(VENV)/.development $(PEERS)/.installed $(PEERS)/OAI-PMH.xsd $(VALIDATORS)/.installed $(ORACLES)/.installed debian

coverage: $(TEST_NEEDS)  ## branches of the pure core that its tests by example reach
	$(RUN_CORE) -n 2

coverage-beside: $(TEST_NEEDS)  # the other tests show how far they are, so this speaks at its end
	@$(RUN_CORE) -n 1 >$(VENV)/coverage.log 2>&1; status=$$?; cat $(VENV)/coverage.log; exit $$status

unit: $(TEST_NEEDS)  ## all tests
	$(RUN_TESTS) -n 4

rest: $(TEST_NEEDS)  ## the tests that are not in coverage
	$(RUN_TESTS) -n 4 $(CORE_TESTS:%=--rest-of %)

search: $(VENV)/.development  ## new examples for the properties, for MINUTES=20, then mutants of the core (10 minutes more)
	$(BIN)/python tools/search.py --minutes $(MINUTES)
	$(BIN)/python tools/mutate.py

trials: $(VENV)/.development debian  ## the tests that take long: a thousand kills, millions of names, damages (25 minutes, and an hour for 10⁸ names if the disk has room)
	PYTHONHASHSEED=0 $(BIN)/pytest -m trial -v -o timeout=0

bench: $(VENV)/.development $(PEERS)/.installed debian  ## speed and memory as ratios to named alternatives, in one run
	$(BIN)/python -m benchmarks

bench-cluster: $(VENV)/.development debian  ## a node over PostgreSQL against the embedded registry, on a quiet machine
	$(BIN)/python -m benchmarks cluster

release: $(VENV)/.development  ## builds sdist and wheel, and tries them in clean environments
	$(BIN)/python tools/release.py

debian:
	@tools/debian-packages bind9 bind9-dnsutils bind9-utils chromium knot libmagic1 libxml2-utils minisign nginx-light nsd openssh-client openssl postgresql squid strace unzip varnish wrk

translations: $(VENV)/.development  ## brings the catalogues of the pages' translations up to date
	$(BIN)/python tools/translations.py

vendor: $(VENV)/.development  ## fetches the scripts of others that pages load
	$(BIN)/python tools/vendor.py

lock: $(VENV)/.development  ## makes the lock files anew from pyproject.toml
	$(BIN)/uv pip compile -q --universal --no-strip-extras --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 pyproject.toml --extra all --group build -o requirements.lock
	$(BIN)/uv pip compile -q --universal --no-strip-extras --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 pyproject.toml --extra all --group dev -c requirements.lock -o requirements-dev.lock
	$(BIN)/uv pip compile -q --universal --no-strip-extras --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 --group peers -o requirements-peers.lock
	$(BIN)/uv pip compile -q --universal --no-strip-extras --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 --group validators --no-emit-package pandas -o requirements-validators.lock

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "perdure needs Python 3.11 or newer, and $(PYTHON) is not here:" \
	  "install it, or say what it is called: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "perdure needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo "installing the packages of requirements.lock into $(VENV) …"
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.development: requirements-dev.lock pyproject.toml | $(VENV)/bin/python
	@echo "installing the packages of requirements-dev.lock into $(VENV) …"
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.runtime

$(PEERS)/.installed: requirements-peers.lock
	@echo "installing the packages of requirements-peers.lock into $(PEERS) …"
	@{ $(PYTHON) -m venv $(PEERS) && \
	  $(PEERS)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements-peers.lock && \
	  touch $@; } || echo "The peers (pywb, pyhandle, wacz …) could not be installed, so the tests against them are skipped."

# The lock file leaves out pandas, which the validator of tables does not load.
$(VALIDATORS)/.installed: requirements-validators.lock
	@echo "installing the packages of requirements-validators.lock into $(VALIDATORS) …"
	@{ $(PYTHON) -m venv $(VALIDATORS) && \
	  $(VALIDATORS)/bin/pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements-validators.lock && \
	  touch $@; } || echo "oc-validator could not be installed, so the test against it is skipped."

$(PEERS)/OAI-PMH.xsd: $(PEERS)/.installed tools/oai-schema
	@tools/oai-schema $(PEERS)/bin/pip $@ || \
	  echo "The schema of OAI-PMH could not be fetched, so no test validates the answers of /oai with it."

# The lock file leaves out the dependencies of replaywebpage on purpose: its bundle contains them.
$(ORACLES)/.installed: tools/oracles/package-lock.json
	@mkdir -p $(ORACLES) && cp tools/oracles/package.json tools/oracles/package-lock.json $(ORACLES)
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
	  echo "node and npm are not here, so citeproc-js and parse5 are not asked (their earlier answers stand in vectors/), and ReplayWeb.page, axe-core and the Nu validator are not tried."; \
	elif npm ci --silent --no-audit --no-fund --prefix $(ORACLES); then touch $@; \
	else echo "npm could not install citeproc-js, parse5, ReplayWeb.page, axe-core and the Nu validator: earlier answers stand in vectors/."; fi

clean:  ## removes what was installed and made here
	rm -rf $(VENV) $(PEERS) $(VALIDATORS) $(ORACLES) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
