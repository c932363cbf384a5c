# Every command people use is a target here, and CI calls the same ones.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-core test-spark lint format transcripts conformance cluster-test faults \
	audit bench bench-micro bench-fixed bench-rescale bench-check compatibility picture check-java oracle oracle-parts oracle-programs clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(READY) ## Make the virtual environment with everything pinned

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Tidegate needs Python 3.11 or newer; '$(PYTHON)' is older or missing." >&2; \
		echo "Install it (Debian/Ubuntu: apt-get install python3 python3-venv) or call: make PYTHON=python3.11" >&2; \
		exit 1; }
	@echo "Setting up $(VENV) (the first time takes a minute or two) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group dev --editable .
	@touch $@

check-java:
	@command -v java >/dev/null 2>&1 || [ -n "$$JAVA_HOME" ] || { \
		echo "Spark needs Java 17 or newer, and no 'java' was found on the PATH." >&2; \
		echo "Install it (Debian/Ubuntu: apt-get install openjdk-17-jre-headless, macOS: brew install openjdk@17)." >&2; \
		exit 1; }

demo: check-java $(READY) ## Run the demo on a local Spark: watermarks of each partition, windows, late records
	@$(BIN)/python -u -m tidegate.cli demo

picture: check-java $(READY) ## Run the demo and draw it for the README
	@$(BIN)/python -u -m tidegate.cli demo --picture docs/demo.svg

test: check-java $(READY) lint test-core transcripts bench-check test-spark ## Run everything that CI runs

test-core: $(READY) ## Run the tests that need no JVM
	@$(BIN)/python -m pytest -q -m "not spark"

test-spark: check-java $(READY) ## Run the tests on Spark, and the transcripts in one batch each and cut at random
	@$(BIN)/python -m pytest -q -m spark
	@for batches in one random:7; do \
		$(BIN)/python -m tidegate.testing.transcript --on spark --batches $$batches tests/conformance || exit 1; \
	done

conformance: check-java $(READY) ## The long version: every input a batch of its own, hundreds of random programs
	@$(BIN)/python -m tidegate.testing.transcript --on spark --batches each tests/conformance
	@TIDEGATE_PROGRAMS=300 $(BIN)/python -m pytest -q tests/spark/test_random_programs.py

cluster-test: check-java $(READY) ## Run a job on a standalone cluster of several worker processes
	@$(BIN)/python -m pytest -q tests/cluster

faults: check-java $(READY) ## Three hundred faults of all kinds, jobs compared with the answer from their whole input (FAULTS="--seed 1")
	@$(BIN)/python -m tests.faults.campaign $(FAULTS)
	@TIDEGATE_FAULTS=5 $(BIN)/python -m pytest -q tests/kafka/test_kafka_kill.py

AUDIT_READY := .venv-audit/.ready

$(AUDIT_READY): constraints.txt
	@$(PYTHON) -m venv .venv-audit
	@.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@touch $@

audit: $(AUDIT_READY) ## Look for known holes in the pinned versions
	@.venv-audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --strict

lint: $(READY) ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY) ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

transcripts: $(READY) ## Run the conformance transcripts in process, cut in several ways
	@for batches in one each random:1 random:2 random:3; do \
		$(BIN)/python -m tidegate.testing.transcript --on local --batches $$batches tests/conformance || exit 1; \
	done

bench-micro: $(READY) ## Measure the core: valve by number of channels, records per second of the Python path
	@$(BIN)/python benchmarks/micro/valve.py
	@$(BIN)/python benchmarks/micro/throughput.py
	@$(BIN)/python benchmarks/micro/state_calls.py

bench-fixed: check-java $(READY) ## Measure what a nearly empty micro-batch costs, beside Spark's own aggregation
	@$(BIN)/python benchmarks/spark/fixed_cost.py

bench-rescale: check-java $(READY) ## Measure how long a million keys take to get another parallelism
	@$(BIN)/python benchmarks/spark/rescale.py

BENCH_READY := .venv-bench-bytewax/.ready .venv-bench-pathway/.ready .venv-bench-quix/.ready

$(BENCH_READY): .venv-bench-%/.ready: benchmarks/peers/requirements/%.txt
	@echo "Setting up $(@D) ..."
	@$(PYTHON) -m venv $(@D)
	@rm -f $(@D)/.refused
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< 2>$(@D)/install.log \
		|| tail -n 1 $(@D)/install.log >$(@D)/.refused
	@touch $@

bench: check-java $(READY) .venv-oracle/.programs-ready $(BENCH_READY) ## Compare with Spark, Flink and others, into benchmarks/RESULTS.md (BENCH="--help")
	@$(BIN)/python -m benchmarks.peers $(BENCH)

ORACLE_VENV := .venv-oracle
ORACLE_READY := $(ORACLE_VENV)/.parts-ready

$(ORACLE_READY): tests/oracle/requirements.txt
	@command -v javac >/dev/null 2>&1 || { \
		echo "The oracle needs a Java compiler, and no 'javac' was found on the PATH." >&2; \
		echo "Install it (Debian/Ubuntu: apt-get install openjdk-17-jdk-headless, macOS: brew install openjdk@17)." >&2; \
		exit 1; }
	@echo "Setting up $(ORACLE_VENV) with Flink's classes (the first time takes a minute) ..."
	@$(PYTHON) -m venv $(ORACLE_VENV)
	@$(ORACLE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/oracle/requirements.txt
	@touch $@

oracle-parts: check-java $(READY) $(ORACLE_READY) ## Compare the core with Flink's own classes on random scripts (ORACLE="--seed 1 --record 2000")
	@$(BIN)/python -m tests.oracle.run --environment $(ORACLE_VENV) $(ORACLE)

PROGRAMS_READY := $(ORACLE_VENV)/.programs-ready

$(PROGRAMS_READY): $(ORACLE_READY) tests/oracle_programs/requirements.txt
	@echo "Adding what PyFlink needs to run programs (the first time takes some minutes) ..."
	@$(ORACLE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/oracle_programs/requirements.txt
	@touch $@

oracle-programs: check-java $(READY) $(PROGRAMS_READY) ## Compare whole programs with Flink, random ones and examples (ORACLE="--seed 1 --count 520 --record")
	@$(BIN)/python -m tests.oracle_programs --flink-python $(ORACLE_VENV)/bin/python $(ORACLE)

oracle: oracle-parts oracle-programs ## Compare with real Flink: its classes on random scripts, whole programs, examples

compatibility: $(READY) ## Make docs/flink_compatibility.md from the code
	@$(BIN)/python -m tools.flink_compatibility.build_table

bench-check: check-java $(READY)
	@$(BIN)/python benchmarks/micro/valve.py --quick
	@$(BIN)/python benchmarks/micro/throughput.py --quick
	@$(BIN)/python benchmarks/micro/state_calls.py --quick
	@$(BIN)/python -m benchmarks.peers --quick

clean: ## Remove the virtual environment and caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
