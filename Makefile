# The two commands: `make compare` answers the project's question, `make test` tests it.
# Both set everything up first (docs/setup.md); once that is done, it takes no time.
BIN := .venv/bin
UNIT := $(BIN)/pytest -m "not root and not long" --numprocesses logical --dist worksteal
# They run on the real clock: as a disturbed run, a failed one is repeated once, and listed as RERUN.
REAL := $(BIN)/pytest --reruns 1 --only-rerun AssertionError
# They wait more than they compute; a file's share what its first test has set up.
TOGETHER := $(REAL) --numprocesses $(shell expr 1 + `nproc`) --dist loadfile

# Each of a run's processes would compile what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-tests setup-again compare test test-long lint lint-format lint-docstrings lint-imports lint-types unit mutants sanitize docs notebooks benchmark clean-all

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-13s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Debian packages, .venv, picoquic; nothing when nothing has changed
	@scripts/setup.sh

setup-tests:
	@scripts/setup.sh --tests

setup-again: ## set up anew, also what could not be built the last time
	@rm -f .cache/setup.stamp
	@scripts/setup.sh

compare: setup ## the main job, as root: make compare ARGS="--size 40 --json"
	@$(BIN)/minitopo-dc compare $(ARGS)

# Status 2 of the second: this machine lacks what tests of root need (tests/conftest.py).
test: lint ## format, lint, types, imports and all but the long tests; as root those that need root, too
	@failed=; $(UNIT) || failed=yes; $(REAL) -m "root and alone and not long" || failed=$$?; \
	test "$$failed" = 2 || $(TOGETHER) -m "root and not alone and not long" || failed=yes; \
	test -z "$$failed"

test-long: setup-tests ## the tests that repeat in breadth what those of `make test` show, mutants and sanitize
	@failed=; $(REAL) -m "root and alone and long" || failed=$$?; \
	test "$$failed" = 2 || $(TOGETHER) -m "long and not alone" || failed=yes; \
	$(BIN)/python scripts/mutants.py || failed=yes; \
	scripts/sanitize.sh || failed=yes; test -z "$$failed"

# The types take longest, and studies' after those of the library that they use.
LINT := lint-format lint-docstrings lint-imports lint-types
lint: setup-tests ## format, lint, docstrings, types and imports, at once
	@$(MAKE) --no-print-directory --jobs --output-sync $(LINT)

lint-format:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

lint-docstrings:
	$(BIN)/python scripts/docstrings.py

lint-imports:
	$(BIN)/lint-imports

# Each study by itself: several have a module of the same name.
lint-types:
	$(BIN)/mypy --num-workers 2
	@printf '%s\n' studies/*/ studies/thesis/quic_of_2020/ examples/campaigns/ | \
	xargs --max-procs 2 --replace={} sh -c '$(BIN)/mypy --no-error-summary {}*.py'

unit: setup-tests ## those of the tests that need no root
	$(UNIT)

mutants: setup-tests ## a sample of changes to the cores, each of which a test has to notice
	$(BIN)/python scripts/mutants.py $(ARGS)

sanitize: setup-tests ## the native core's tests and a fuzzer under ASan and UBSan
	@scripts/sanitize.sh

docs: setup ## the documentation site, in build/site/html; a warning is an error
	@scripts/site.sh

notebooks: setup ## the notebooks in JupyterLab, which this installs the first time
	@$(BIN)/python -c "import jupyterlab" 2> /dev/null || \
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[notebooks]"
	@$(BIN)/jupyter lab notebooks

benchmark: setup ## CPU time, delay and loss of the elements, goodput with PDCP, speed of the cores, as root
	$(BIN)/python -m benchmarks $(ARGS)

clean-all: ## remove all that these commands have made, but for results/ and Debian packages
	rm -rf .venv .cache build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
