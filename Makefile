# Everything a visitor or a maintainer runs, with nothing but make and Python 3.11+ installed.

PYTHON ?= python3
N ?= 1000
CRASHES := benchmarks/results/crash.json
JOBS ?= 2
# Each process begins with a stretch of the tests and takes over from the other's end when it is
# done: Spark's tests, which come first, share one Java. A process that is stuck ends the run.
SIDE_BY_SIDE = -n $(JOBS) --dist worksteal --max-worker-restart 0
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test coverage style types golden check kernels checked spark nightly crash fuzz bench clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "The first run makes .venv and fills it; PYTHON=python3.13 chooses its interpreter."

demo: .venv/.ready-spark ## watch timelines being kept fresh by a Spark pipeline, for a minute
	@$(BIN)/joingraph demo

test: .venv/.ready-spark ## run the suite, in two processes (JOBS=2)
	@$(BIN)/python -m pytest -q $(SIDE_BY_SIDE)

coverage: .venv/.ready-spark ## run the suite and report the branches it covers (twice as long)
	@$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) --cov --cov-report=term

style: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .

types: $(READY)
	@$(BIN)/mypy
	@$(BIN)/pyright --pythonpath $(BIN)/python

golden: $(READY)
	@$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) tests/test_golden.py tests/test_tidy.py

check: style types golden ## style, types and golden scripts, in under a minute

kernels: $(READY) ## test the compiled graph's kernels alone
	@$(BIN)/python -m pytest -q -m kernels tests/test_kernels.py tests/test_kernels_parts.py

checked: .venv/.ready-spark ## run the suite with every memory access of the kernels checked (an hour)
	@JOINGRAPH_KERNELS=checked $(BIN)/python -m pytest -q $(SIDE_BY_SIDE)

crash: $(READY) ## kill, interrupt, fork and starve what keeps a graph, damage its files (N=1000)
	@$(BIN)/python -m tests.crash --kills $(N) --save $(CRASHES)
	@$(BIN)/python -m tests.crash --kills $(N) --engine compiled --save $(CRASHES)
	@$(BIN)/python -m tests.crash.interrupts --interrupts $(N)0 --save $(CRASHES)
	@$(BIN)/python -m tests.crash.damage --cases $(N)0 --save $(CRASHES)
	@$(BIN)/python -m tests.crash.readers --refreshes $(N)000 --save $(CRASHES)
	@$(BIN)/python -m tests.crash.malformed --inputs $$((200 * $(N))) --save $(CRASHES)
	@$(BIN)/python -m tests.crash.forks --forks $(N) --save $(CRASHES)
	@$(BIN)/python -m tests.crash.texts_size --save $(CRASHES)
	@$(BIN)/python -m tests.crash.homes --cases $$(($(N) / 10)) --save $(CRASHES)

spark: .venv/.ready-spark ## test the pipeline on a real Spark, Redis and Delta (five minutes)
	@$(BIN)/python -m pytest -q -m spark tests/spark

nightly: .venv/.ready-spark coverage ## what make test leaves out, coverage, Spark killed and judged (two hours)
	@$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m nightly
	@$(BIN)/python -m tests.spark.kills --kills 50
	@$(BIN)/python -m tests.spark.cases --cases 500

fuzz: $(READY) ## compare N random views and feeds with the oracle (N=1000)
	@$(BIN)/python -m tests.oracle --cases $(N)

bench: .venv/.ready-bench ## measure joingraph, as docs/benchmarks.md tells (ARGS="q3 --rivals hand")
	@$(BIN)/python -m benchmarks $(ARGS)

clean: ## remove .venv and everything generated
	rm -rf .venv build dist *.egg-info .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "joingraph needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1);"; \
	  echo "name a newer one, for example: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "Making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv || { \
	  echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu install python3-venv"; \
	  exit 1; }
	@echo "Installing joingraph and what its tests need (a minute or two, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

.venv/.ready-spark: $(READY)
	@echo "Installing Spark, and a Java for machines without one (a few minutes, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[spark]'
	@touch $@

.venv/.ready-bench: $(READY)
	@echo "Installing what the benchmarks need"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@
