# Assay: every target does its own set-up and is quick when nothing is to be done.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.locked
BENCH := $(VENV)/.bench
PAGES := $(VENV)/.leaderboard
BROWSER := $(VENV)/.browser
MODELS := $(VENV)/.models
VIDEO := $(VENV)/.video
SMALLMODEL := $(VENV)/.smallmodel
BASELINES := reference random noop
.DEFAULT_GOAL := help
.PHONY: help setup evaluate video doctor audit demo test test-slow test-leaderboard test-smallmodel images leaderboard bench lint certify atlas

help: ## show this text
	@echo 'Assay: a containerized, reproducible leaderboard for embodied foundation-model agents'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'make evaluate takes'
	@echo '  MODEL=       a baseline (reference, random, noop) or a litellm model name; without it the baselines are listed'
	@echo '  AGENT=       how a model acts; a baseline is its own agent'
	@echo '  BOARD=       ep                       (Embodied Playground) or kidgym (grid tasks that show pictures)'
	@echo '  SUBSET=      ep-launch, kidgym        the 34 Launch tasks of EP-100; smoke: three scenes; full: all 410; kidgym-quick'
	@echo '  SETTING=     zero-shot                or cot, icl: how a model is prompted on kidgym'
	@echo '  TASKS=       all of the subset        comma-separated ids, ends of ids or globs (A007,panda/H0*); shows its own rates, never a headline'
	@echo '  PROTOCOL=    pass2, pass1 on kidgym   or single'
	@echo '  PROFILE=     embedded                 or native: which simulator runs each family'
	@echo '  LEVEL=       L0 for models            access level L0 or L3; a baseline has its own'
	@echo '  GRANTS=      none                     comma-separated tool grants'
	@echo '  SEED=        0                        base seed; 0 is the only one with stored conditions'
	@echo '  SEEDS=       the public list          a file with a private seed list, on kidgym'
	@echo '  RUNTIME=     auto                     docker (official), bubblewrap, or process (baselines only)'
	@echo '  JOBS=        1                        attempts in parallel'
	@echo '  RUN=         made from the settings   the same name goes on where it stopped'
	@echo '  TEMPERATURE= EFFORT= BASE_URL=        parameters of a model'
	@echo '  MAX_OUTPUT_TOKENS=                    of one answer; any other parameter: assay evaluate --parameter NAME=VALUE'
	@echo '  RPM= TPM=    not limited              requests and tokens a minute of its provider, over all commands at once'
	@echo '  MAX_COST=    not limited              US dollars after which no attempt is opened'
	@echo '  FORMAT=      table                    or json, csv, markdown: what is printed at the end'
	@echo '  GPUS=        not asked for            1 asks the Engine for GPUs'
	@echo '  RENDER=      no                       1 draws a video of every attempt after the run'
	@echo '  DRY_RUN=     no                       1 says what it would take and touches nothing'
	@echo 'Records go to runs/, or to ASSAY_HOME.'

setup: $(STAMP) ## virtual environment with the locked, hash-checked packages

# `pip install .` replaces the editable install by a copy of the Python files alone, which this notices and mends.
COPY := $(wildcard $(VENV)/lib/python3*/site-packages/runner/__init__.py)
.PHONY: anew
anew:

$(STAMP): requirements.lock pyproject.toml $(if $(COPY),anew)
	@python=$$(for p in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	    "$$p" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && { echo "$$p"; break; }; done); \
	if [ -z "$$python" ]; then \
	    echo 'assay: error: Python 3.11, 3.12 or 3.13 with venv is needed; install it (Debian: apt-get install python3-venv) or set PYTHON=' >&2; exit 2; fi; \
	echo "setup: virtual environment $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV)
	@echo 'setup: packages of requirements.lock, each checked against its hash'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

# litellm is installed when a model is named: a baseline needs none of it.
evaluate: $(STAMP) $(if $(findstring /,$(MODEL)),$(MODELS)) $(if $(RENDER),$(VIDEO)) ## evaluate MODEL= on a subset, or go on with a run that stopped
	@$(BIN)/assay evaluate \
	    $${MODEL:+--model "$$MODEL"} $${AGENT:+--agent "$$AGENT"} $${BOARD:+--board "$$BOARD"} \
	    $${SUBSET:+--subset "$$SUBSET"} $${TASKS:+--tasks "$$TASKS"} $${PROTOCOL:+--protocol "$$PROTOCOL"} \
	    $${SETTING:+--setting "$$SETTING"} $${SEEDS:+--seeds "$$SEEDS"} \
	    $${PROFILE:+--profile "$$PROFILE"} $${LEVEL:+--level "$$LEVEL"} $${GRANTS:+--grants "$$GRANTS"} \
	    $${SEED:+--seed "$$SEED"} $${RUNTIME:+--runtime "$$RUNTIME"} $${JOBS:+--jobs "$$JOBS"} $${RUN:+--run "$$RUN"} \
	    $${TEMPERATURE:+--temperature "$$TEMPERATURE"} $${EFFORT:+--effort "$$EFFORT"} \
	    $${BASE_URL:+--base-url "$$BASE_URL"} $${RPM:+--rpm "$$RPM"} $${TPM:+--tpm "$$TPM"} \
	    $${MAX_OUTPUT_TOKENS:+--max-output-tokens "$$MAX_OUTPUT_TOKENS"} $${MAX_COST:+--max-cost "$$MAX_COST"} $${FORMAT:+--format "$$FORMAT"} $${GPUS:+--gpus} \
	    $${RENDER:+--render} $${DRY_RUN:+--dry-run}

audit: $(STAMP) ## check RUN=: log, files, numbers, eligibility, replay (REPLAY=0.1 or all, RERUN=0, OUT=folder)
	@if [ -z "$$RUN" ]; then echo 'assay: error: RUN is not set: name a run (`assay runs` lists them)' >&2; exit 2; fi
	@$(BIN)/assay audit "$$RUN" $${REPLAY:+--replay "$$REPLAY"} $${RERUN:+--rerun "$$RERUN"} \
	    $${RUNTIME:+--runtime "$$RUNTIME"} $${JOBS:+--jobs "$$JOBS"} $${SEED:+--seed "$$SEED"} \
	    $${FORMAT:+--format "$$FORMAT"} $${OUT:+--output "$$OUT"}

demo: $(STAMP) ## load a ledger reconstructed from the printed figures of GPT-6-Astra, and score it
	@$(BIN)/assay ledger import manifests/demo/gpt-6-astra.csv --name gpt-6-astra --model GPT-6-Astra \
	    --kind reconstructed --subset ep-100 --protocol pass2 --exist-ok
	@$(BIN)/assay score gpt-6-astra
	@echo 'its other subsets: assay score gpt-6-astra --subset ep-easy (ep-hard, ep-20); make leaderboard shows it too'

doctor: $(STAMP) $(if $(findstring /,$(MODEL)),$(MODELS)) ## check this machine, and MODEL= where one is named
	@$(BIN)/assay doctor $${MODEL:+--model "$$MODEL"} $${BASE_URL:+--base-url "$$BASE_URL"}

video: $(VIDEO) ## the encoder for MP4 videos of episodes

images: $(STAMP) ## build the container images that are out of date
	@$(BIN)/assay images build

test: $(STAMP) $(MODELS) $(VIDEO) ## every test that this machine can run; says what it left out
	@if docker version >/dev/null 2>&1; then $(BIN)/assay images build; fi
	@$(BIN)/python -m pytest -m 'not slow' -n $${JOBS:-2} --dist loadgroup $(PYTEST)

test-slow: $(STAMP) ## the long sweeps
	@$(BIN)/python -m pytest -m slow $(PYTEST)

bench: $(BENCH) ## measure speed and size, each beside a raw baseline of the same run
	@$(BIN)/python -m bench

certify: $(STAMP) ## play the certificates of all families again and compare digests (TASKS=A007,panda/H0*, JOBS=2)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m images.mujoco.workshop.certify $${TASKS:+--tasks "$$TASKS"} $${JOBS:+--jobs "$$JOBS"}

atlas: $(STAMP) ## measure tasks that changed, and write the atlases and contact sheets of the launcher and the Hanoi boards
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m images.mujoco.launcher.workshop.measure $${TASKS:+--tasks "$$TASKS"} $${JOBS:+--jobs "$$JOBS"}
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m images.mujoco.hanoi.workshop.measure $${TASKS:+--tasks "$$TASKS"} $${JOBS:+--jobs "$$JOBS"}
	@$(BIN)/python -m images.mujoco.launcher.workshop.atlas --picture
	@$(BIN)/python -m images.mujoco.hanoi.workshop.atlas --picture

lint: $(STAMP) ## ruff (lint, format) and mypy
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

leaderboard: $(PAGES) ## the page (PORT=8501)
	@$(BIN)/python -m leaderboard $${PORT:+--port "$$PORT"}

test-leaderboard: $(PAGES) $(BROWSER) ## the tests of the page, with its packages; in a browser where Chromium is installed
	@ASSAY_REQUIRE="$${ASSAY_REQUIRE:+$$ASSAY_REQUIRE,}leaderboard" $(BIN)/python -m pytest tests/test_leaderboard*.py $(PYTEST)

test-smallmodel: $(STAMP) $(MODELS) $(SMALLMODEL) ## episodes of a small language model that runs on this machine
	@if docker version >/dev/null 2>&1; then $(BIN)/assay images build; fi
	@ASSAY_REQUIRE="$${ASSAY_REQUIRE:+$$ASSAY_REQUIRE,}smallmodel" $(BIN)/python -m pytest tests/test_smallmodel.py $(PYTEST)

$(PAGES): $(STAMP) requirements-leaderboard.lock
	@echo 'setup: packages of requirements-leaderboard.lock, each checked against its hash'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-leaderboard.lock
	@touch $(PAGES)

$(BROWSER): $(STAMP) requirements-browser.lock
	@echo 'setup: packages of requirements-browser.lock, each checked against its hash'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-browser.lock
	@touch $(BROWSER)

$(BENCH): $(STAMP) requirements-bench.lock
	@echo 'setup: packages of requirements-bench.lock, each checked against its hash'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	@touch $(BENCH)

$(MODELS): $(STAMP) requirements-models.lock
	@echo 'setup: packages of requirements-models.lock, each checked against its hash'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-models.lock
	@touch $(MODELS)

$(VIDEO): $(STAMP) requirements-video.lock
	@echo 'setup: packages of requirements-video.lock, each checked against its hash'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-video.lock
	@touch $(VIDEO)

# --no-deps: the lock is complete without what the model's wheel would use to run it (pyproject.toml, tool.uv).
$(SMALLMODEL): $(STAMP) requirements-smallmodel.lock
	@echo 'setup: packages of requirements-smallmodel.lock, each checked against its hash'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r requirements-smallmodel.lock
	@touch $(SMALLMODEL)
