# make run   set everything up and run the quick-start scenario to its pictures
# make test  set everything up and run the checks and the tests
# make long  run the tests that only add pairs of what is tested one by one
# make quick run the most telling tests, in a minute and a half
# make lowest  run the quick start and a test of each extra with the lowest versions of all packages
# make pythons run the quick start with each Python that there is, warnings as errors
# make docs  build the documentation site, and run the scenarios of its gallery
# make faults plant faults by the thousand and print the counts
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SCENARIO ?= scenarios/quick_start.toml

# Bytecode is kept: else each of the many processes that tests start would compile the packages that it imports.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder

.PHONY: run test long quick lowest pythons docs faults lint clean

# Without pip, whose installation takes two seconds: uv unpacks it among the other packages.
$(BIN)/python:
	$(PYTHON) -m venv --without-pip $(VENV)

# uv unpacks packages in a third of pip's time. Where it does not find them, pip does, whose settings it does not read.
install = ( $(PYTHON) -m pip --python $(BIN)/python install --quiet --no-compile uv && \
  UV_HTTP_TIMEOUT=20 $(BIN)/uv pip install --quiet --python $(BIN)/python pip --editable $(1) ) || \
  ( $(BIN)/python -m ensurepip && $(BIN)/python -m pip install --quiet --no-compile --editable $(1) )

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(call install,.)
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(call install,'.[dev]')
	touch $@ $(VENV)/.installed

run: $(VENV)/.installed
	$(BIN)/heatsim run $(SCENARIO) --force

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict tests/api/users_script.py

test: lint
	$(PYTEST) -m "not long"

# Every pair of terms, where `make test` has each term once: each kernel takes seconds to compile.
long: $(VENV)/.installed-dev
	$(PYTEST) -m "long"

# Rooms and words, scenario files and their messages, physics with the fewest compiled kernels, one whole run and its files.
QUICK := tests/test_imports.py tests/test_pairwise.py tests/scenario tests/cli/test_messages.py tests/cli/test_run_results.py \
  tests/physics/test_conservation.py tests/physics/test_decay_of_modes.py tests/kernels/test_cell_classes.py \
  tests/kernels/test_temporal_plan.py tests/store/test_run_folder.py tests/store/test_snapshot_files.py \
  tests/pictures/test_slice_pictures.py

quick: $(VENV)/.installed-dev
	$(PYTEST) -q -m "not slow and not gpu and not long" -k "not float32 and not single_precision" $(QUICK)

# In an environment of its own, with the lowest versions that pyproject.toml allows: without cu12 and nccl, which are for GPUs.
# Old packages warn of what is newer: warnings are no errors here.
LOWEST := build/lowest
EXTRAS := 3d,cu13,gds,images,movie,mpi,stl,sweep,xarray,zth
lowest: $(VENV)/.installed-dev
	$(PYTHON) -m venv --clear $(LOWEST)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[$(EXTRAS)]' \
	  'hypothesis>=6.100' 'mpich>=4.3' 'pytest>=8.2' 'pytest-xdist>=3.6'
	$(LOWEST)/bin/heatsim run scenarios/quick_start.toml --output build/lowest-run --force --quiet
	$(LOWEST)/bin/heatsim bench integrators --help > /dev/null
	$(LOWEST)/bin/python -m pytest -q -m "lowest and not gpu" -o filterwarnings=default tests

# The quick start from the command line and from a program, its results read, where no warning may come up.
PYTHONS ?= 3.11 3.12 3.13 3.14
pythons: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet uv
	for version in $(PYTHONS); do \
	  $(BIN)/uv venv --quiet --clear --no-python-downloads --python $$version build/python || { echo "no $$version here"; continue; }; \
	  $(BIN)/uv pip install --quiet --python build/python/bin/python --editable '.[xarray]' && \
	  build/python/bin/python -W error -m heatsim run scenarios/quick_start.toml --output build/python-run --force --quiet && \
	  build/python/bin/python -W error -c "import heatsim, sys; run = heatsim.run('scenarios/quick_start.toml', \
	  'build/python-run', force=True); print(sys.version.split()[0], run, float(heatsim.open(run).temperature.max()))" || exit 1; \
	done

# Kills, signals, damaged, mutated and hostile files by the thousand; prints counts. About two hours and a half.
faults: $(VENV)/.installed-dev
	cd tests && for suite in generated corruption nonfinite too_large signals kills disk hostile mutants; do $(abspath $(BIN))/python -W ignore -m faults.$$suite || exit 1; done

# The site in build/site. HEATSIM_GALLERY=none runs no scenario; HEATSIM_UPDATE_IMAGES=1 draws docs/images anew.
docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache
