# The same commands everywhere. Each sets up what it needs: a Rust toolchain, a C compiler and
# CPython 3.10 or newer are all that has to be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src tools -name '*.rs')

export CARGO_TERM_COLOR ?= never

.PHONY: setup demo test check generate wheel clean

demo: $(BIN)/.built
	$(BIN)/boardlot demo

test: $(BIN)/.built
	cargo test --locked --no-default-features --features sandbox
	$(BIN)/pytest

check: $(BIN)/.built
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --no-default-features -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/stubtest boardlot._core --mypy-config-file pyproject.toml

setup: $(BIN)/.built

# Writes what is derived from the table of endpoints.
generate:
	cargo run --locked --no-default-features --example generate

# The wheel that users install, into dist/.
wheel: $(BIN)/.tools
	$(BIN)/maturin build --locked --release --out dist

$(BIN)/.tools: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "CPython 3.10 or newer is needed: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

$(BIN)/.built: $(BIN)/.tools $(SOURCES)
	$(BIN)/maturin develop --locked --extras all
	touch $@

clean:
	rm -rf target dist $(VENV)
