# Everything a developer or CI runs. `make help` lists it. PYTHON=/path/to/python picks an interpreter; otherwise
# hack/find-python finds one. PYTEST_ARGS='-k gate -x' goes to pytest.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help bench mutation demo demo-down test test-fast check format lock cluster-up cluster-down venv

PY := .venv/bin/python
export PYTHON

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

venv: ## make .venv what the locks say (the other targets do it by themselves)
	@python=$$(hack/find-python) && "$$python" -m hack.venv

demo: ## replay the incidents, then watch a good and a bad component on a real Kubernetes node
	@python=$$(hack/find-python) && exec "$$python" -m hack.demo.first

demo-down: venv ## remove the demo and its cluster
	@$(PY) -m hack.demo down

test: venv ## all five rings of tests, from nothing
	@$(PY) -m hack.rings $(if $(PYTEST_ARGS),-- $(PYTEST_ARGS))

test-fast: venv ## the two quick rings, which need no cluster and no server
	@$(PY) -m hack.rings unit emulated $(if $(PYTEST_ARGS),-- $(PYTEST_ARGS))

check: venv ## lint, types, layers, generated files, chart
	@$(PY) -m hack.check

format: venv ## format the source and sort the imports
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format .

bench: venv ## how fast the harness is, against its bounds (BENCH_ARGS='baro --data FOLDER'; see docs/performance.md)
	@$(PY) -m benchmarks $(BENCH_ARGS)

mutation: venv ## put small faults into the gate; at least 95 % must be noticed by its tests (MUTATION_ARGS='--module statistics')
	@$(PY) -m hack.mutation $(MUTATION_ARGS)

lock: ## write locks/*.txt anew from pyproject.toml (LOCK_ARGS=--upgrade for newer versions)
	@python=$$(hack/find-python) && "$$python" -m hack.lock $(LOCK_ARGS)

cluster-up: venv ## a cluster: your RCA_CLUSTER_CONTEXT, else kind, else a node built from nothing
	@$(PY) -m hack.cluster up

cluster-down: venv ## remove that cluster and every trace of it
	@$(PY) -m hack.cluster down
