# The same commands everywhere; `make help` lists them. Each sets up what it needs: a Rust toolchain, a
# C compiler and CPython 3.10 or newer are all that has to be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when they are first imported: most of these packages are never imported whole.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src crates tools -name '*.rs')
# Cargo has its own idea of how many jobs run side by side.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo

# The oldest Rust that is promised.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

export CARGO_TERM_COLOR ?= never
# Without compiled modules each worker and each child of the tests would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help rust setup demo test test-rust test-python test-long durations delivery \
	archive-histories exits free-threaded-test asan coverage mutants faults soak check check-quick check-engines format msrv \
	api-check audit bounds docs package-docs recipes notebooks generate pictures stubs lock simulate \
	notices test-engines test-celery openapi-judges \
	fuzz bench bench-quick bench-free-threaded bench-bare-loop bench-inner instructions weights wheel \
	wheel-test clean system-packages

help: ## Lists these targets.
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | awk -F '\t' '{printf "%-19s %s\n", $$1, $$2}'

rust:
	@printf '%s\n' $(MSRV) "$$(rustc --version 2>/dev/null | cut -d ' ' -f 2)" | sort -C -V || \
		{ echo "Rust $(MSRV) or newer is needed: install it with rustup" >&2; exit 1; }

setup: $(BIN)/.built ## Compiles the extension and installs all tools into .venv.

demo: $(BIN)/.extension ## Shows what boardlot does, against its own sandbox.
	$(BIN)/boardlot demo

# The Rust tests compile while the Python tools are installed, and run beside the Python tests.
test: ## All tests: those of the core and those of the Python package.
	+@$(MAKE) --no-print-directory -j4 test-rust test-python

# The extension, which has no tests of its own, is among them for its features: see .extension.
CORE := -p boardlot -p boardlot-client -p boardlot-service -p boardlot-sandbox -p boardlot-generate
test-rust: | rust ## The core's tests, without Python; ARGS="name" picks some.
	$(CARGO) test --locked $(CORE) $(ARGS)

# More workers than cores, as the tests wait half of the time: tests/conftest.py says how many.
test-python: $(BIN)/.built system-packages ## The Python tests; ARGS="tests/cli -k resume" picks some.
	$(BIN)/pytest -n auto $(ARGS)

system-packages:
	@tools/install-test-packages

# What needs no build of its own, two side by side; tests/packaging judges licences.
QUICK := check-formats check-types check-stub check-examples check-words check-workflows
.PHONY: $(QUICK)
check-quick: $(BIN)/.built ## Formats, lints, types, spelling, workflows: two minutes.
	+@$(MAKE) --no-print-directory -j2 $(QUICK)

check-formats:
	cargo fmt --all --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check-types:
	$(BIN)/mypy
	$(BIN)/mypy --platform win32
	$(BIN)/mypy --python-version 3.10 --no-warn-return-any --no-warn-unused-ignores

check-stub:
	$(BIN)/python tools/check_stub.py

check-examples:
	$(BIN)/python tools/check_types.py

check-words:
	$(BIN)/typos
	$(BIN)/typos --config tools/glossary.toml tests benches docs

check-workflows:
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet --persona pedantic .github

check: check-quick docs audit ## All of it, the site, lints of Rust, and advisories.
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p boardlot-client --features fuzzing -- -D warnings

check-engines: $(BIN)/.built target/engines/venv/.installed ## The types of what is made for Ray and Spark.
	$(BIN)/python tools/check_types.py

format: $(BIN)/.tools ## Formats Rust and Python.
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

msrv: ## Compiles everything with the oldest supported Rust.
	rustup toolchain install --profile minimal --no-self-update $(MSRV)
	$(CARGO) +$(MSRV) check --locked --workspace --target-dir target/msrv

# Names, arguments and defaults that users may have to change, of what is committed. What only the
# command line and the doctor use may change at any time. BASE is a tag, branch or commit.
BASE ?= $(shell git describe --tags --abbrev=0 2>/dev/null || echo HEAD)
api-check: $(BIN)/.tools ## Breaking changes of the Python API since BASE, by default the last tag.
	! $(BIN)/griffe check boardlot --search python --against $(BASE) --base-ref HEAD --no-inspection 2>&1 \
		| grep -v '^python/boardlot/\(_support\|cli\|doctor\)/[a-z]'

# Licences, sources and known advisories of all crates and Python packages; see tools/audit.py.
audit: $(BIN)/.built target/tools/bin/cargo-deny ## Licences, sources and advisories of all dependencies.
	$(BIN)/python tools/audit.py

target/tools/bin/cargo-deny:
	cargo install --locked --quiet cargo-deny --version 0.20.2 --root target/tools

# The documentation as a site, into site/; a broken link is an error.
docs: $(BIN)/.built $(BIN)/.docs ## The documentation as a site, into site/.
	$(BIN)/python tools/notebook_pages.py
	$(BIN)/zensical build --strict --clean

notebooks: $(BIN)/.built ## Runs the notebooks and writes their outputs into them.
	$(BIN)/python tools/run_notebooks.py

generate: ## Writes what is derived from the table of endpoints.
	$(CARGO) run --locked -p boardlot-generate

package-docs: $(BIN)/.built $(BIN)/.docs ## Writes the docs that are in the package, for `boardlot open docs`.
	$(BIN)/python tools/package_docs.py

# Frameworks that are too heavy for every run, each as its users have it.
RECIPES := target/recipes
recipes: $(BIN)/.built ## Runs the files of the cookbook with the libraries that they need.
	test -x $(RECIPES)/others/bin/python || $(PYTHON) -m venv $(RECIPES)/others
	test -x $(RECIPES)/airflow/bin/python || $(PYTHON) -m venv $(RECIPES)/airflow
	$(RECIPES)/others/bin/python -m pip install --quiet --disable-pip-version-check -r tests/docs/recipes-others.txt
	$(RECIPES)/airflow/bin/python -m pip install --quiet --disable-pip-version-check -r tests/docs/recipes-airflow.txt
	$(BIN)/python -m tests.docs.recipes "*=$(RECIPES)/others/bin/python" airflow_dag.py=$(RECIPES)/airflow/bin/python

pictures: $(BIN)/.built $(BIN)/.docs ## Creates the pictures of the README from the demo and a notebook.
	$(BIN)/python tools/pictures.py

# Each wheel and source distribution contains it; git does not.
notices: ## Writes the licences of all crates of a release into THIRD-PARTY-NOTICES.
	$(PYTHON) tools/notices.py

stubs: $(BIN)/.built ## Writes the docstrings of the compiled module into its stub.
	$(BIN)/python tools/stub_docstrings.py
	$(BIN)/ruff format --quiet python/boardlot/_core.pyi

test-long: $(BIN)/.built system-packages openapi-judges ## The long forms of the tests: an hour.
	BOARDLOT_TEST_LISTS=100000 $(CARGO) test --locked -p boardlot-client --test core moving_service
	BOARDLOT_TEST_LISTS=2000 $(CARGO) test --locked -p boardlot-client --test core default_windows
	$(BIN)/pytest -m slow --ignore tests/packaging --deselect tests/stress/test_fault_matrix.py

archive-histories: $(BIN)/.built system-packages ## Random histories of archives against a model: an hour.
	BOARDLOT_TEST_HISTORIES=10000 $(BIN)/pytest tests/archive/test_model.py -k histories_are
	BOARDLOT_TEST_HISTORIES=2000 $(BIN)/pytest tests/archive/test_model.py -k histories_in_postgresql

# After tests were added or have become much faster or slower, on a machine that does nothing else.
durations: $(BIN)/.built system-packages ## Runs the tests and records how long each file takes.
	$(BIN)/pytest -n 2 --record-durations $(ARGS)

faults: $(BIN)/.built ## Every kind of fault x every operation x 30 seeds: six minutes.
	$(BIN)/pytest -m slow tests/stress/test_fault_matrix.py

# SEEDS is a seed or a range, CLIENTS how many take part; FAULT, BEFORE and AFTER are seconds. ONLY is a part of
# the kind and name of a scenario, such as "Logins slow" (or "day", in which everything happens), PLOT a file
# for tools/plot_simulation.py. The tests run a short form.
simulate: export SEEDS ?= 1-10
simulate: export CLIENTS ?= 300
simulate: export BEFORE ?= 120
simulate: export FAULT ?= 600
simulate: export AFTER ?= 300
simulate: ## A fleet of clients and a service in virtual time: five minutes.
	$(CARGO) test --locked --profile simulation -p boardlot-client --test simulation

# A minute for each way to read rows.
DELIVERY := $(addprefix tests/pages/,test_delivery.py test_errors_of_callers_code.py test_orders_of_events.py)
delivery: $(BIN)/.built ## Rows under deadlines, cancellations and signals: half an hour.
	$(BIN)/pytest -m "slow or not slow" $(DELIVERY)

# PYTHONS are the interpreters, of any version for which this extension was built.
exits: $(BIN)/.built ## Programs that end while they use boardlot, 500 exits each: twenty minutes.
	$(BIN)/python -m tests.stress.exits 500 $(PYTHONS)

# Objects that threads share, on a CPython without the interpreter lock: PYTHON_FT is one of 3.14t or
# newer into whose environment this package was installed, with pytest and psutil beside it.
free-threaded-test: $(BIN)/.built ## Shared objects on a CPython without the interpreter lock.
	$(PYTHON_FT) -c 'import boardlot, sys; sys.exit(sys._is_gil_enabled() and "PYTHON_FT has the interpreter lock")'
	BOARDLOT_TEST_PYTHON=$(PYTHON_FT) $(BIN)/pytest -m "slow or not slow" tests/stress/test_sharing.py
	$(PYTHON_FT) -m pytest -p no:cacheprovider tests/stress/test_collection.py \
		tests/stress/test_event_loops.py $(DELIVERY)

asan: $(BIN)/.built ## The unsafe code under the address sanitizer; see tools/asan.
	tools/asan

# Ray and Spark are large, so they have an environment of their own. Spark needs Java 17.
ENGINES := target/engines/venv

test-engines: $(BIN)/.extension $(ENGINES)/.installed ## Ray and Spark read from the sandbox; needs Java 17.
	PYTHONPATH="$(CURDIR)/python" $(ENGINES)/bin/python -m pytest tests/engines/test_ray_and_spark.py tests/engines/test_examples.py \
		-W "ignore:Unknown config option:pytest.PytestConfigWarning" $(ARGS)

$(ENGINES)/.installed: requirements/engines.txt
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	touch $@

# The validator, schemathesis and two generators of clients; the TypeScript one needs Node and npm.
OPENAPI := target/openapi

openapi-judges: $(BIN)/.extension $(OPENAPI)/.installed ## What tools of others make of the OpenAPI description.
	PYTHONPATH="$(CURDIR)/python" BOARDLOT_TEST_NODE_MODULES="$(OPENAPI)/node_modules" \
		$(OPENAPI)/venv/bin/python -m pytest -m "slow or not slow" tests/contract/test_openapi_judges.py \
		-W "ignore:Unknown config option:pytest.PytestConfigWarning" $(ARGS)

$(OPENAPI)/.installed: requirements/openapi.txt tests/contract/openapi_clients/package-lock.json
	$(PYTHON) -m venv $(OPENAPI)/venv
	$(OPENAPI)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	cp tests/contract/openapi_clients/package.json tests/contract/openapi_clients/package-lock.json $(OPENAPI)
	! command -v npm || npm ci --silent --no-audit --no-fund --prefix $(OPENAPI)
	touch $@

# Celery holds python-dateutil back, so it has an environment of its own.
CELERY := target/celery

test-celery: $(BIN)/.extension ## Celery's workers, which are forked, use a client.
	test -x $(CELERY)/bin/python || $(PYTHON) -m venv $(CELERY)
	$(CELERY)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/stress/celery.txt
	PYTHONPATH="$(CURDIR)/python" $(CELERY)/bin/python -m pytest -p no:cacheprovider tests/stress/test_preforking.py \
		-k celery -W "ignore:Unknown config option:pytest.PytestConfigWarning"

coverage: $(BIN)/.built system-packages ## Lines and branches that the tests reach, into target/coverage.
	$(BIN)/python tools/coverage.py $(TESTS)

# Changes the core in hundreds of places, one at a time: each has to be noticed by a test, or to be
# listed in tests/mutants.toml with a reason. Half a minute for each; FILES restricts it to some files.
mutants: $(BIN)/.built target/tools/bin/cargo-mutants ## Would a test notice a mistake in the core? Hours.
	$(BIN)/python tools/mutants.py $(FILES)

target/tools/bin/cargo-mutants:
	cargo install --locked --quiet cargo-mutants --version 27.1.0 --root target/tools

# Flat memory, no file left open, no wrong record.
soak: $(BIN)/.built ## An hour of 64 tasks with faults.
	$(BIN)/python -m tests.stress.soak 60

# Each fuzzer for so many seconds, from the corpus that is kept and into one that is not. libFuzzer and
# the address sanitizer need a compiler that takes unstable flags: this one, told so.
FUZZ_SECONDS ?= 60
FUZZERS := envelopes page columns shapes token callback key checkpoint

fuzz: target/tools/bin/cargo-fuzz ## Each fuzzer for FUZZ_SECONDS.
	for fuzzer in $(FUZZERS); do \
		mkdir -p target/fuzz/corpus/$$fuzzer && \
		RUSTC_BOOTSTRAP=1 $< run $$fuzzer --target-dir target/fuzz \
			target/fuzz/corpus/$$fuzzer fuzz/corpus/$$fuzzer \
			-- -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
			|| exit 1; \
	done

target/tools/bin/cargo-fuzz:
	cargo install --locked --quiet cargo-fuzz --version 0.13.2 --root target/tools

bench: wheel ## The benchmarks, compared with other libraries, into benches/results.md.
	$(PYTHON) -m benches.run

bench-quick: wheel ## The benchmarks in short.
	$(PYTHON) -m benches.run --quick

bench-free-threaded: ## Two threads compared with one, on the free-threaded CPython PYTHON_FT.
	$(PYTHON_FT) -m benches.free_threading

bench-bare-loop: wheel ## A request compared with a bare loop in Rust.
	$(PYTHON) -m benches.bare_loop

bench-inner: ## The core's inner parts, by Criterion.
	cargo bench --manifest-path benches/inner/Cargo.toml --target-dir target --bench inner

# The runner has to have the version that benches/inner/Cargo.lock has of gungraun.
instructions: target/tools/bin/gungraun-runner ## Instructions of the hot parts, by callgrind; ARGS to compare.
	GUNGRAUN_RUNNER="$(CURDIR)/target/tools/bin/gungraun-runner" GUNGRAUN_HOME="$(CURDIR)/target/gungraun" \
	cargo bench --locked --manifest-path benches/inner/Cargo.toml --target-dir target \
		--bench instructions -- $(ARGS)

target/tools/bin/gungraun-runner:
	cargo install --locked --quiet gungraun-runner --version 0.19.4 --root target/tools

weights: ## What each part of the extension module weighs, into benches/weights.md; needs binutils.
	$(PYTHON) -m benches.weights

# By the oldest CPython that is promised: with 3.15, maturin would take another stable ABI.
# Profile-guided: compiled twice, and trained by tools/train.py in between.
wheel: $(BIN)/.maturin notices ## The wheel that users install, into dist/.
	rm -f dist/*.whl
	$(BIN)/python tools/bill_of_materials.py
	pgo=$$(tools/profile-option); \
	$(BIN)/python tools/index_page.py \
		$(BIN)/maturin build --locked --release --interpreter $(BIN)/python $$pgo --out dist \
		--sbom-include target/boardlot.cyclonedx.json
	$(BIN)/python tools/recompress.py dist/*.whl

wheel-test: wheel $(BIN)/.built ## That wheel with every extra and on every CPython: minutes.
	BOARDLOT_TEST_WHEEL=$$(ls dist/*.whl) $(BIN)/pytest -m "slow or not slow" tests/packaging

bounds: wheel $(BIN)/.built ## That wheel with the oldest packages that each extra allows.
	BOARDLOT_TEST_WHEEL=$$(ls dist/*.whl) $(BIN)/pytest -m slow tests/packaging/test_wheel.py -k "oldest or hint"

# Versions and hashes of all Python tools, from pyproject.toml; no tool is updated by itself.
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

# Stamps. `.maturin` is what `make demo` needs, `.extension` the module compiled with it, `.tools` what
# all other targets need, `.built` both.
$(BIN)/.maturin: requirements/demo.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "CPython 3.10 or newer is needed: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing maturin, which compiles boardlot: some seconds."
	$(PIP) -r requirements/demo.txt
	touch $@

# With most features of `make test-rust`, so that most crates are compiled once. Not with tokio/signal, whose sockets
# a daemon that closes all files would miss.
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

clean: ## Removes everything that these targets created.
	rm -rf target dist site .cache $(VENV) benches/.venv
