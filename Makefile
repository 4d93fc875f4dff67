# Everything happens in .venv; a stamp keeps what is installed from being installed again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Tests start hundreds of programs, and each would compile weft's own source anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check style types suite test-gpu sanitize bench docs pages format clean

help:
	@echo "make demo      a photograph through two kernels, with a small table of sizes and times"
	@echo "make test      formatting, lint, types, tests, documentation"
	@echo "make test-gpu  the tests that need an NVIDIA GPU"
	@echo "make sanitize  these under NVIDIA's compute-sanitizer, whose four tools take minutes"
	@echo "make bench     the benchmarks"
	@echo "make docs      the documentation, into site/"
	@echo "make format    format and fix what can be fixed"
	@echo "PYTHON=python3.13 make ... takes that Python for a new environment"

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "weft needs Python 3.11 or later; say PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed-%: $(VENV)/.created pyproject.toml
	$(PIP) install --editable '.[$*]'
	@touch $@

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py $(PHOTO)

# What uses one core runs beside the tests, which wait for subprocesses a fifth of their time.
test: style
	$(MAKE) --no-print-directory -j 3 suite types pages

check: style
	$(MAKE) --no-print-directory -j 2 suite types

style: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-dev
	$(BIN)/pyright

CORES := -n auto --maxprocesses 8
INTERPRETED := $(addprefix tests/library/test_,barriers.py bit.py groups.py warp.py)

suite: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(CORES)
	WEFT_TEST_HOST=interpreter $(BIN)/python -m pytest -q $(CORES) -k interpreter $(INTERPRETED)

test-gpu: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m gpu

sanitize: $(VENV)/.installed-dev
	$(BIN)/python tools/sanitize.py

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The documentation as it is checked: without the index of its search, which takes a quarter of the time.
pages: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 WEFT_DOCS_SEARCH=false $(BIN)/mkdocs build --strict --quiet --site-dir build/pages

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .hypothesis
