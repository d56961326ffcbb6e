# Each target first installs what it needs; steps that are already done are skipped.
# Requirements: CPython 3.10 to 3.13 and a C++20 compiler.
#
#   make demo    train an unmodified Chainer program
#   make test    run the tests             (make test ARGS="tests/core -x")
#   make bench   print the table of benchmarks
#   make sanitize  search for memory errors and data races in the kernels (on a GPU if there is one) and in the module
#   make fuzz    give damaged files to every file reader  (make fuzz ARGS="chainer --count 1000")
#   make golden  record results of the originals, for the tests: LEGACY=PYTHON NNABLA=PYTHON
#   make stubs   write the type stubs of the ops, after a change of an op's name, parameters or description
#   make names   write what compatgrad/names knows of the originals' names, after a change of a frontend's names or of
#                docs/deviations.md
#   make docs    build the documentation site in build/docs/html  (make docs ARGS=--no-frontends: without the reference
#                of the frontends, which takes most of the time)
#   make wheels  write a wheel into dist for each Python in WHEEL_PYTHONS, compiled for its torch
#   make figures draw the pictures in docs/pictures again and run the notebooks, after a change of what they show
#   make lint types build kernels clean
#
# WHEEL_PYTHONS  Pythons that have torch; by default that of VENV
# PYTHON  the Python to start from
# VENV    the environment to use, created if it does not exist; name an existing one to use its torch
# TORCH   the package to install if VENV has no torch
# LEGACY  a Python with Chainer 7.8.1 and MXNet 1.9.1, NNABLA one with nnabla 1.39.0 (tests/golden/__main__.py)
# TORCH_INDEX  an additional package index for torch. On Linux the default build is the one for CUDA, which takes
#         several gigabytes; torch's installation page names the index of the CPU builds
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
ARGS ?=
LEGACY ?=
NNABLA ?=
WHEEL_PYTHONS ?= $(python)
DEMO ?= examples/chainer/train_digits_mlp.py

python := $(VENV)/bin/python
pip := $(python) -m pip --disable-pip-version-check install --quiet
cxx_files = $(shell find csrc -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')

.PHONY: demo test bench fuzz golden sanitize lint types stubs names docs figures build kernels wheels clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.have-demo build
	$(python) -m compatgrad run $(DEMO) $(ARGS)

test: $(VENV)/.have-test build
	$(python) -m pytest $(ARGS)

bench: $(VENV)/.have-test build
	$(python) -m tests.benchmarks $(ARGS)

fuzz: $(VENV)/.have-test build
	$(python) -m tests.fuzz $(ARGS)

golden: $(VENV)/.have-test build
	$(python) -m tests.golden LEGACY='$(LEGACY)' NNABLA='$(NNABLA)' $(ARGS)

sanitize: $(VENV)/.have-test build
	$(python) -m tests.kernels.sanitize $(ARGS)
	$(python) -m tests.sanitize address
	$(python) -m tests.sanitize thread

lint: $(VENV)/.have-lint
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(VENV)/bin/clang-format --dry-run -Werror $(cxx_files)

types: $(VENV)/.have-lint
	$(python) -m mypy

stubs: build
	$(python) -m compatgrad.ops._stub

names: $(VENV)/.have-test build
	$(python) -m tests.census.names

docs: $(VENV)/.have-docs build
	$(python) -m tests.docs.site $(ARGS)

figures: $(VENV)/.have-test $(VENV)/.have-docs build
	$(python) -m tests.docs.test_code_blocks
	$(python) -m tests.docs.site.plots
	$(python) -m tests.docs.test_notebooks

build: $(VENV)/.have-torch
	$(python) -m compatgrad._build --inplace

wheels: $(VENV)/.have-torch
	@for python in $(WHEEL_PYTHONS); do $$python -m compatgrad._build --wheel dist || exit 1; done

# without nvcc this only prints a message
kernels: | $(python)
	$(python) -m compatgrad._build --kernels

clean:
	rm -rf .venv build dist compatgrad/_lib
	find . -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .mypy_cache .pytest_cache .ruff_cache

$(python):
	$(PYTHON) -m venv $(VENV)

$(VENV)/.have-torch: | $(python)
	$(python) -c 'import torch' 2>/dev/null || $(pip) $(if $(TORCH_INDEX),--extra-index-url '$(TORCH_INDEX)') '$(TORCH)'
	touch $@

# torch is installed first, so that pip does not choose one; the module is built first, so that its progress is shown
$(VENV)/.have-%: pyproject.toml $(VENV)/.have-torch | build
	$(pip) --editable '.[$*]'
	touch $@
