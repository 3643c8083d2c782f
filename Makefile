# `make lab` and `make test` are complete from a fresh clone: they need only Python 3.11+ and make.
PYTHON ?= python3
PROFILE ?= smoke
VENV := .venv
BIN := $(VENV)/bin

.PHONY: lab test test-long test-extras smoke check docs bench clean

lab: $(VENV)/.lab  ## the tour: main findings of every study, and the lab book
	@$(BIN)/minicosm tour

test: $(VENV)/.dev  ## run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: $(VENV)/.dev  ## run the long statistical tests and trainings
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long

# The files with tests that are skipped where torch, transformers, tokenizers, datasets, ray or marimo is missing.
EXTRAS := tests/models/test_hugging_face.py tests/decoding/test_hugging_face_generator.py tests/studies/guided/test_code_model.py \
	tests/worlds/test_parallel_text.py tests/studies/parallel/test_text_translation.py tests/text/test_pretrained_topics.py \
	tests/lab/test_run.py tests/test_examples.py tests/test_evaluate.py tests/test_corpora_elsewhere.py tests/explorer

test-extras: $(VENV)/.dev  ## install torch, transformers, tokenizers, sentencepiece, sacrebleu, datasets, ray and marimo, and run their tests
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -c requirements-dev.lock -e '.[hf,text,cluster,explore,data]'
	$(BIN)/python -m pytest -m "" $(EXTRAS)

smoke: $(VENV)/.lab  ## run every study at its smallest: no trial, check or figure may raise
	$(BIN)/minicosm check --profile smoke --jobs 2 || [ $$? -eq 1 ]
	$(BIN)/minicosm audit --profile smoke

check: $(VENV)/.dev  ## lint, types, import direction
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev  ## build the documentation into build/docs; a broken link is an error
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -r requirements-docs.lock
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q
	@echo "The documentation: $(CURDIR)/build/docs/index.html"

bench: $(VENV)/.dev  ## speed against peers, as ratios in one run
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -c requirements-dev.lock -e '.[bench]'
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/brackets.py
	$(BIN)/python benchmarks/gibbs.py
	$(BIN)/python benchmarks/backtracking.py
	$(BIN)/python benchmarks/translation.py
	$(BIN)/python benchmarks/automata.py
	$(BIN)/python benchmarks/flip_flop.py

$(VENV)/.lab: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "minicosm needs Python 3.11 or newer; this is %s. Set PYTHON=..." % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -r requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.lab requirements-dev.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -r requirements-dev.lock
	@touch $@

clean:
	rm -rf $(VENV) .minicosm build
