PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
STAMP := $(VENV)/.installed
# The tests have a worker for each of two cores: more threads would only get in each other's way.
export OMP_NUM_THREADS ?= 1

FAST := -m "not slow and not notebook" -n 2
# Another environment, with the oldest versions of its dependencies that setup.cfg admits.
OLDEST := .venv-oldest
OLDEST_STAMP := $(OLDEST)/.installed

.PHONY: install demo test test-notebooks test-slow test-oldest coverage docs bench soak lint clean

install: $(STAMP)

$(STAMP): setup.cfg constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt torch
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $(STAMP)

demo: install
	$(RUN) causalaudit demo --out out

lint: install
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(VENV)/bin/lint-imports

test: lint
	$(RUN) pytest $(FAST)

coverage: install
	$(RUN) pytest $(FAST) --cov --cov-report=term:skip-covered

test-notebooks: install
	$(RUN) pytest -m notebook -n 2 --durations=10 --mpl tests/test_notebooks.py tests/test_documentation.py tests/test_pictures.py

test-slow: install
	$(RUN) pytest -m "slow and not notebook" -n 2 --dist loadfile --no-loadscope-reorder --durations=10

$(OLDEST_STAMP): setup.cfg constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet -c constraints-oldest.txt -e ".[cluster,test]"
	touch $(OLDEST_STAMP)

test-oldest: $(OLDEST_STAMP)
	$(OLDEST)/bin/python -m pytest $(FAST)

docs: install
	$(RUN) docs.figures docs/_figures
	$(RUN) sphinx -W --keep-going -q -b html docs docs/_build/html
	$(RUN) docs.links docs/_build/html

bench: install
	$(RUN) benchmarks

# Calls of all public functions, mutated at random: MINUTES of them, and others for another SEED.
MINUTES ?= 10
SEED ?= 0
soak: install
	$(RUN) tools.soak --minutes $(MINUTES) --seed $(SEED)

clean:
	rm -rf $(VENV) .venv-* out build dist *.egg-info
