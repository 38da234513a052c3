# The same commands everywhere; `make help` lists them. Each sets up what it needs, and requires
# only a Rust toolchain, a C compiler and CPython 3.10 or newer. Commands that take long or are
# rarely needed are in tools/, whose README lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled at their first import: most packages are never imported whole.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src crates tools -name '*.rs')
# Cargo decides by itself how many jobs run side by side.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo

# The oldest version of Rust that boardlot promises to support.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

export CARGO_TERM_COLOR ?= never
# Without compiled modules each worker and each child of the tests would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help rust setup demo test test-rust test-python snapshots test-long check check-quick check-types check-rest \
	format audit generate stubs package-docs docs lock bench wheel wheel-test clean .compiled-tests

help: ## Lists these targets.
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | awk -F '\t' '{printf "%-13s %s\n", $$1, $$2}'
	@echo "tools/README.md lists the rest: the long tests, measurements, and what a release needs."

rust:
	@printf '%s\n' $(MSRV) "$$(rustc --version 2>/dev/null | cut -d ' ' -f 2)" | sort -C -V || \
		{ echo "Rust $(MSRV) or newer is needed: install it with rustup" >&2; exit 1; }

setup: $(BIN)/.built ## Compiles the extension and installs all tools into .venv.

demo: $(BIN)/.extension ## Shows what boardlot does, against its own sandbox.
	$(BIN)/boardlot demo

# All is compiled, while the Python tools are installed, before the first test: their time limits are for the tests.
test: ## All tests: those of the core and those of the Python package.
	+@$(MAKE) --no-print-directory -j2 .compiled-tests $(BIN)/.built
	+@$(MAKE) --no-print-directory -j2 test-rust test-python

# The extension has no tests of its own, and is among the packages for its features: see .extension.
CORE := -p boardlot -p boardlot-client -p boardlot-service -p boardlot-sandbox -p boardlot-generate
.compiled-tests: | rust
	$(CARGO) test --locked $(CORE) --no-run --quiet

test-rust: | rust ## The core's tests, without Python; ARGS="name" picks some.
	$(CARGO) test --locked $(CORE) $(ARGS)

# There are more workers than cores, as the tests wait half of the time: tests/conftest.py sets the
# number.
test-python: $(BIN)/.built ## The Python tests; ARGS="tests/cli -k resume" picks some.
	@tools/install-test-packages
	$(BIN)/pytest -n auto $(ARGS)

# A test whose text is accepted fails once more.
snapshots: $(BIN)/.built ## Accepts new texts of messages; ARGS="tests/cli" picks some.
	-$(BIN)/pytest --inline-snapshot=create,fix $(or $(ARGS),$(shell grep -rlE 'inline_snapshot|support.words' tests --include 'test_*.py'))

test-long: $(BIN)/.built ## The long forms of the tests: an hour.
	@tools/install-test-packages
	tools/nightly/openapi-judges
	BOARDLOT_TEST_LISTS=100000 $(CARGO) test --locked -p boardlot-client --test core moving_service
	BOARDLOT_TEST_LISTS=2000 $(CARGO) test --locked -p boardlot-client --test core default_windows
	$(BIN)/pytest -m slow --ignore tests/packaging --deselect tests/stress/test_fault_matrix.py

# The checks that need no build of their own, two side by side; tests/packaging checks licenses.
check-quick: $(BIN)/.built ## Formats, lints, types, spelling, workflows: two minutes.
	+@$(MAKE) --no-print-directory -j2 check-types check-rest

check-types:
	$(BIN)/mypy
	$(BIN)/mypy --platform win32
	$(BIN)/mypy --python-version 3.10 --no-warn-return-any --no-warn-unused-ignores
	$(BIN)/python tools/check_stub.py

check-rest:
	cargo fmt --all --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/typos
	$(BIN)/typos --config tools/glossary.toml tests benches docs
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet --persona pedantic .github
	$(BIN)/python tools/check_types.py

check: check-quick docs audit ## All of it, the site, lints of Rust, and advisories.
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p boardlot-client --features fuzzing -- -D warnings

audit: $(BIN)/.built ## Licenses, sources and advisories of all dependencies.
	tools/cargo-tool cargo-deny 0.20.2
	$(BIN)/python tools/audit.py

format: $(BIN)/.tools ## Formats Rust and Python.
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: ## Writes what is derived from the table of endpoints.
	$(CARGO) run --locked -p boardlot-generate

stubs: $(BIN)/.built ## Writes the docstrings of the compiled module into its stub.
	$(BIN)/python tools/stub_docstrings.py
	$(BIN)/ruff format --quiet python/boardlot/_core.pyi

package-docs: $(BIN)/.built $(BIN)/.docs ## Writes the docs in the package, for `boardlot open docs`.
	$(BIN)/python tools/package_docs.py

# A broken link is an error.
docs: $(BIN)/.built $(BIN)/.docs ## The documentation as a site, into site/.
	$(BIN)/python tools/notebook_pages.py
	$(BIN)/zensical build --strict --clean

bench: wheel ## Compares with other libraries, into benches/; ARGS=--quick.
	$(PYTHON) -m benches.run $(ARGS)

# Built by the oldest supported CPython: with 3.15, maturin would take another stable ABI. The build
# is profile-guided: the module is compiled twice, and tools/train.py runs in between.
wheel: $(BIN)/.maturin ## The wheel that users install, into dist/.
	$(BIN)/python tools/notices.py
	$(BIN)/python tools/bill_of_materials.py
	rm -f dist/*.whl
	pgo=$$(tools/profile-option); \
	$(BIN)/python tools/index_page.py \
		$(BIN)/maturin build --locked --release --interpreter $(BIN)/python $$pgo --out dist \
		--sbom-include target/boardlot.cyclonedx.json
	$(BIN)/python tools/recompress.py dist/*.whl

wheel-test: wheel $(BIN)/.built ## That wheel with every extra and on every CPython: minutes.
	BOARDLOT_TEST_WHEEL=$$(ls dist/*.whl) $(BIN)/pytest -m "slow or not slow" tests/packaging

# The lock files have the versions and hashes of all Python tools in pyproject.toml; no tool is
# updated by itself.
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-header --no-annotate \
	--no-emit-package boardlot --no-emit-package pip
EXTRAS := arrow calendar cli dask interactive mcp notebook otel pandas polars postgres progress xlsx

lock: $(BIN)/.tools ## Updates requirements/*.txt.
	$(LOCK) --upgrade --python-version 3.10 $(EXTRAS:%=--extra %) --group tools -o requirements/dev.txt
	$(LOCK) --upgrade --python-version 3.10 -c requirements/dev.txt --extra cli --group build -o requirements/demo.txt
	$(LOCK) --upgrade --python-version 3.10 -c requirements/dev.txt --group uv -o requirements/uv.txt
	$(LOCK) --upgrade --python-version 3.11 -c requirements/dev.txt --group docs -o requirements/docs.txt
	$(LOCK) --upgrade --python-version 3.11 -c requirements/dev.txt --extra dask --extra polars --extra ray --extra spark --group engines -o requirements/engines.txt
	$(LOCK) --upgrade --python-version 3.11 -c requirements/dev.txt --group openapi -o requirements/openapi.txt
	$(LOCK) --upgrade --python-version 3.14 -c requirements/dev.txt --group threads --group build -o requirements/threads.txt

clean: ## Removes everything that these targets created.
	rm -rf target dist site .cache $(VENV) benches/.venv

# Stamps: `.maturin` for the tool that `make demo` needs, `.extension` for the module compiled with
# it, `.tools` for the tools that all other targets need, and `.built` for both.
$(BIN)/.maturin: requirements/demo.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "CPython 3.10 or newer is needed: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing maturin, which compiles boardlot: some seconds."
	$(PIP) -r requirements/demo.txt
	touch $@

# The extension has most features of `make test-rust`, so that most crates are compiled once. It
# does not have tokio/signal, whose sockets a daemon that closes all files would miss.
$(BIN)/.extension: $(BIN)/.maturin $(SOURCES) | rust
	@echo "Compiling boardlot: the first time some 250 crates, two minutes on two cores. Cargo shows each of them."
	env -u MAKEFLAGS -u MFLAGS PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
		$(BIN)/maturin develop --locked --extras cli --features tokio/test-util
	touch $@

$(BIN)/.tools: $(BIN)/.maturin requirements/dev.txt
	@echo "Installing the tools for tests and checks: some 200 packages in a minute."
	$(PIP) -r requirements/dev.txt
	touch $@

$(BIN)/.docs: $(BIN)/.tools requirements/docs.txt
	$(PIP) -r requirements/docs.txt
	touch $@

$(BIN)/.built: $(BIN)/.tools $(BIN)/.extension
	touch $@
