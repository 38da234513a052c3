# The same commands everywhere. Each sets up what it needs: a Rust toolchain, a C compiler and
# CPython 3.10 or newer are all that has to be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src tools -name '*.rs')

export CARGO_TERM_COLOR ?= never

.PHONY: setup demo test test-long delivery free-threaded-test asan coverage mutants faults soak check audit docs notebooks generate fuzz bench bench-quick bench-inner wheel wheel-test clean

demo: $(BIN)/.built
	$(BIN)/boardlot demo

test: $(BIN)/.built
	tools/install-test-packages
	cargo test --locked --no-default-features --features sandbox
	$(BIN)/pytest

check: $(BIN)/.built docs audit
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --no-default-features -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/stubtest boardlot._core --mypy-config-file pyproject.toml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet --persona pedantic .github/workflows

# Licences, sources and known advisories of all crates and Python packages; see tools/audit.py.
audit: $(BIN)/.built target/tools/bin/cargo-deny
	$(BIN)/python tools/audit.py

target/tools/bin/cargo-deny:
	cargo install --locked --quiet cargo-deny --version 0.20.2 --root target/tools

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
	BOARDLOT_TEST_EXITS=500 $(BIN)/pytest tests/processes/test_exits.py
	$(BIN)/pytest -m slow

# Every kind of fault x every operation x 30 seeds: about six minutes on two cores.
faults: $(BIN)/.built
	$(BIN)/python -m tests.faults.matrix --seeds 30

# Rows under deadlines, cancellations and signals: a minute for each way to read them, half an hour.
delivery: $(BIN)/.built
	$(BIN)/pytest -m "slow or not slow" tests/delivery

# Objects that threads share, on a CPython without the interpreter lock: PYTHON_FT is one of 3.14t or
# newer into whose environment this package was installed, with pytest and psutil beside it.
free-threaded-test: $(BIN)/.built
	$(PYTHON_FT) -c 'import boardlot, sys; sys.exit(sys._is_gil_enabled() and "PYTHON_FT has the interpreter lock")'
	BOARDLOT_TEST_PYTHON=$(PYTHON_FT) $(BIN)/pytest -m "slow or not slow" tests/threads/test_sharing.py
	$(PYTHON_FT) -m pytest -p no:cacheprovider tests/threads/test_collection.py tests/delivery \
		tests/processes/test_event_loops.py

# What reaches the unsafe code, under the address sanitizer; see tools/asan.
asan: $(BIN)/.built
	tools/asan

# Lines and branches of Rust and Python that the tests reach, into target/coverage.
coverage: $(BIN)/.built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'coverage>=7.10'
	$(BIN)/python tools/coverage.py $(TESTS)

# Changes the core in hundreds of places, one at a time: each has to be noticed by a test, or to be
# listed in tests/mutants.toml with a reason. Half a minute for each; FILES restricts it to some files.
mutants: $(BIN)/.built target/tools/bin/cargo-mutants
	$(BIN)/python tools/mutants.py $(FILES)

target/tools/bin/cargo-mutants:
	cargo install --locked --quiet cargo-mutants --version 27.1.0 --root target/tools

# An hour of 64 tasks with faults on: flat memory, no file left open, no wrong record.
soak: $(BIN)/.built
	$(BIN)/python -m tests.soak.soak --minutes 60

# Each fuzzer for so many seconds, from the corpus that is kept and into one that is not. libFuzzer and
# the address sanitizer need a compiler that takes unstable flags: this one, told so.
FUZZ_SECONDS ?= 60
FUZZERS := envelopes page columns shapes token callback key checkpoint

fuzz: target/tools/bin/cargo-fuzz
	for fuzzer in $(FUZZERS); do \
		mkdir -p target/fuzz/corpus/$$fuzzer && \
		RUSTC_BOOTSTRAP=1 $< run $$fuzzer --target-dir target/fuzz \
			target/fuzz/corpus/$$fuzzer fuzz/corpus/$$fuzzer \
			-- -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
			|| exit 1; \
	done

target/tools/bin/cargo-fuzz:
	cargo install --locked --quiet cargo-fuzz --version 0.13.2 --root target/tools

# Every row of benches/README.md beside its peers: writes benches/results.md and its chart.
bench: wheel
	$(PYTHON) -m benches.run

bench-quick: wheel
	$(PYTHON) -m benches.run --quick

# The core's inner parts, by Criterion.
bench-inner:
	cargo bench --manifest-path benches/inner/Cargo.toml --target-dir target

# The wheel that users install, into dist/.
wheel: $(BIN)/.tools
	rm -f dist/*.whl
	$(BIN)/maturin build --locked --release --compression-level 9 --out dist

# That wheel in an empty environment for every extra and on every CPython found: minutes.
wheel-test: wheel $(BIN)/.built
	BOARDLOT_TEST_WHEEL=$$(ls dist/*.whl) $(BIN)/pytest -m "slow or not slow" tests/packaging

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
