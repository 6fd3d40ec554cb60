PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
STAMP := $(VENV)/.installed
# The tests have a worker for each of two cores: more threads would only get in each other's way.
export OMP_NUM_THREADS ?= 1

.PHONY: install demo test test-slow bench lint clean

install: $(STAMP)

$(STAMP): setup.cfg constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt torch
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $(STAMP)

demo: install
	$(RUN) causalaudit.demo --out out

lint: install
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(VENV)/bin/lint-imports

test: lint
	$(RUN) pytest -m "not slow" -n 2

test-slow: install
	$(RUN) pytest -m slow -n 2 --dist loadfile --no-loadscope-reorder --durations=10

bench: install
	$(RUN) benchmarks

clean:
	rm -rf $(VENV) .venv-* out build dist *.egg-info
