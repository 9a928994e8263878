# Two commands do everything on a fresh machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LMMS := .venv-lmms
VLLM_SOURCE ?= .vllm
BIOME := npm_config_fetch_retries=0 npm_config_fetch_timeout=20000 npx --yes @biomejs/biome@2.6.6
# Ignore packages from outside the virtual environment.
unexport PYTHONPATH VIRTUAL_ENV

.PHONY: demo test test-all pytest test-install test-lmms test-ray test-vllm lint lint-js format docs bench selftest clean

demo: $(VENV)/installed
	$(BIN)/framesift demo

# The linters and the installation run beside the tests, which wait for servers and browsers a part of the time.
test: $(VENV)/installed-dev
	$(MAKE) -j 3 lint pytest test-install

pytest: $(VENV)/installed-dev
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

# With long runs, many processes at once, long tours of the page, and three times the Hypothesis examples, drawn anew.
test-all: $(VENV)/installed-dev lint test-install
	FRAMESIFT_THOROUGH_TESTS=1 $(BIN)/pytest -n auto --dist worksteal

# Branch coverage of src by `make test` and by all tests, including the processes that tests start.
coverage: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet coverage pytest-cov
	$(BIN)/pytest -n auto --dist worksteal -m "not slow" --cov --cov-report=term:skip-covered

# The wheel with the newest packages, which the constraints would hide.
test-install: $(VENV)/bin/python
	$(BIN)/python tests/install/check.py

# lmms-eval caps packages below our minimum versions, so it has its own environment.
test-lmms: $(LMMS)/installed
	PYTHONPATH=tests $(LMMS)/bin/python tests/lmms/check.py

# Not part of `make test`: Ray is the largest test dependency after torch.
test-ray: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,ray]'
	$(BIN)/pytest tests/batch/test_ray.py

# Not part of `make test`: vLLM's wheel is large. VLLM_SOURCE=DIR takes a checkout of vLLM in its place.
test-vllm: $(VENV)/installed-dev
	test -d $(VLLM_SOURCE)/vllm || $(BIN)/python -m pip install --quiet --no-deps --target $(VLLM_SOURCE) vllm
	PYTHONPATH=tests $(BIN)/python tests/vllm/check.py $(VLLM_SOURCE)

lint: $(VENV)/installed-dev lint-js
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# npx keeps biome in npm's own cache. Without node or a registry the check is skipped, so that `make test` still runs.
lint-js:
	@if ! command -v npx >/dev/null; then echo "lint-js: skipped, because node is not installed"; \
	elif ! $(BIOME) --version >/dev/null 2>&1; then echo "lint-js: skipped, because npx can't install biome"; \
	else $(BIOME) check --error-on-warnings; fi

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site, in site/; any broken link or missing page is an error.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/installed
	$(BIN)/python benchmarks/selection.py

selftest: $(VENV)/installed-dev
	$(BIN)/framesift bench selftest

# The pip that comes with Python may be old: a new one installs the packages in half the time. A Python without pip has
# to unpack its own first.
$(VENV)/bin/python:
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $@ install --quiet --no-compile -c constraints.txt pip || $(PYTHON) -m venv --upgrade $(VENV)

# Modules are compiled when they are first imported: most of the packages' modules never are.
$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[offline]'
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/installed

$(VENV)/installed-docs: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[docs]'
	touch $@

$(LMMS)/installed: pyproject.toml constraints.txt tests/lmms/requirements.txt
	$(PYTHON) -m venv $(LMMS)
	$(LMMS)/bin/python -m pip install --quiet -c constraints.txt -r tests/lmms/requirements.txt -e '.[offline]'
	$(LMMS)/bin/python -m pip install --quiet --no-deps lmms-eval==0.7.3
	touch $@

clean:
	rm -rf $(VENV) $(LMMS) .vllm site .mypy_cache .ruff_cache .pytest_cache .hypothesis
