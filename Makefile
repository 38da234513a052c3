# The same commands everywhere. Each sets up what it needs: a Rust toolchain, a C compiler and
# CPython 3.10 or newer are all that has to be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src tools -name '*.rs')

export CARGO_TERM_COLOR ?= never

.PHONY: setup demo test test-long check docs notebooks generate bench bench-quick wheel clean

demo: $(BIN)/.built
	$(BIN)/boardlot demo

test: $(BIN)/.built
	tools/install-test-packages
	cargo test --locked --no-default-features --features sandbox
	$(BIN)/pytest

check: $(BIN)/.built docs
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --no-default-features -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/stubtest boardlot._core --mypy-config-file pyproject.toml

# The documentation as a site, into site/; a broken link is an error.
docs: $(BIN)/.built $(BIN)/.docs
	$(BIN)/zensical build --strict --clean

# Runs the notebooks and keeps what they show.
notebooks: $(BIN)/.built
	$(BIN)/python tools/run_notebooks.py

setup: $(BIN)/.built

# Writes what is derived from the table of endpoints.
generate:
	cargo run --locked --no-default-features --example generate

# The long forms of the tests: minutes to an hour each.
test-long: $(BIN)/.built
	tools/install-test-packages
	BOARDLOT_TEST_EXITS=500 $(BIN)/pytest tests/python/test_processes.py
	$(BIN)/pytest -m slow

# Every row of benches/README.md beside its peers: writes benches/results.md and its chart.
bench: wheel
	$(PYTHON) -m benches.run

bench-quick: wheel
	$(PYTHON) -m benches.run --quick

# The wheel that users install, into dist/.
wheel: $(BIN)/.tools
	$(BIN)/maturin build --locked --release --out dist

$(BIN)/.tools: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "CPython 3.10 or newer is needed: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

$(BIN)/.docs: $(BIN)/.tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	touch $@

$(BIN)/.built: $(BIN)/.tools $(SOURCES)
	$(BIN)/maturin develop --locked --extras arrow,calendar,cli,dask,notebook,pandas,polars,progress
	touch $@

clean:
	rm -rf target dist site .cache $(VENV) benches/.venv
