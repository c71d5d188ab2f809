# make demo   set up, draw a first figure, reproduce the first paper, print where the report lies
# make test   set up, then every check and every test
# make quick  what a change in one crate can break, within a minute on a built tree
# make deep   what `make test` tries in part, in full: some hours
# make record   records what random scenarios and walks do again, after a change of behaviour that is meant
# make case     prints the scenario of the recorded case CASE
# make mutate   COUNT mutated inputs through the commands
# make mutants  planted bugs, each of which the tests must find
# make fuzz     random inputs, SECONDS each (default 15)
# make links    1,000 mutated links through the playground
# make planted  200 runs with planted causes of stalls, 50 without, 60 of today's senders, and captures of 96: does `roamlab why` name them?
# make tools    what tests look for in the system: installed if root calls, otherwise named
# make docs   the documentation as a site, in dist/docs
# make playground   the page that runs scenarios in a browser
# make gallery | picture   the gallery's page and pictures into out/gallery; the pictures of the README and of the explorer
# make paper-pictures   the pictures on the pages of the papers and of a report, from all their runs
# make wheel   the wheel alone, in dist/release
# make release   all that is published, in dist/release: wheel, source, site, playground, licences, parts, sums; and tests it
# make lint | bench | bench-instructions | differential | crash | clean
#
# Everything is made inside this folder: .venv, target, .cache, dist. A second call does nothing that is done.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: quick deep record ns2-scenarios case gallery picture paper-pictures playground editor links docs demo test tools bench bench-instructions lint mutate mutants fuzz fuzz-engine fuzz-readers differential crash planted wheel release behaviour clean lint-rust lint-python build-rust test-rust test-page test-python

PYTHON ?= python3
BIN := .venv/bin

export CARGO_TARGET_DIR := $(CURDIR)/target
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Modules are compiled when they are first imported; most never are.
export PIP_NO_COMPILE := 1
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/pycache
# Compiled modules are kept, whatever the environment says: without them every start of the program takes seconds.
export PYTHONDONTWRITEBYTECODE :=
# Tests run side by side, and their matrices are small.
export OPENBLAS_NUM_THREADS := 1
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/.cache/hypothesis

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

# Steps of the demo in seconds, on two idle cores.
ENGINE_S := 90
FIGURE_S := 5
PAPER_S := 25
# $(call step,NUMBER,NAME): where the demo is, and how long the steps that are not done take.
define step
left=$$(($(PAPER_S) + ($(1) < 3) * $(FIGURE_S))); \
$(MAKE) -qs .venv/.extension 2> /dev/null || left=$$((left + $(ENGINE_S))); \
printf '\nstep %s of 3: %s (about %s min %s s left on two idle cores)\n' $(1) '$(2)' $$((left / 60)) $$((left % 60))
endef
demo:
	@$(call step,1,packages of Python; the engine is compiled)
	@$(MAKE) -j2 -s --no-print-directory .venv/.extension
	@$(call step,2,a first figure)
	$(BIN)/roamlab demo
	@$(call step,3,the first paper; look at the figure meanwhile)
	$(BIN)/roamlab reproduce mblue

# Programs of Debian packages of the same names, which some tests use. A test whose program is missing is skipped and says so.
TOOLS := tshark chromium valgrind
tools:
	for tool in $(TOOLS); do \
	  if command -v $$tool > /dev/null; then continue; fi; \
	  if [ "$$(id -u)" = 0 ] && apt-get update -qq \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$tool; then continue; fi; \
	  echo "note: $$tool is not installed, and tests that need it are skipped"; \
	done

# The engine that Python's tests run: that of users if it is there, otherwise that of Rust's tests, which is slower, has
# every check on and is ready a few seconds after them.
ifeq ($(origin ENGINE), undefined)
ENGINE := $(shell MAKEFLAGS= $(MAKE) -qs --no-print-directory .venv/.extension ENGINE=any 2> /dev/null && echo .venv/.extension || echo .venv/.checked)
endif

# Two cores are busy to the end: Rust is compiled, tested and fuzzed while Python's files are linted and its tests run.
RUST_LOG := target/tests-of-rust.log
# `make test WITH=tools` installs the programs that tests look for, meanwhile.
WITH ?=
test: lint-format
	@echo "Rust is compiled, tested and fuzzed beside Python's tests, and writes to $(RUST_LOG)"
	@mkdir -p target
	@($(MAKE) test-rust fuzz-engine SECONDS=3 FUZZ_PROFILE=dev > $(RUST_LOG) 2>&1 \
	  || { echo "Rust has failed: see $(RUST_LOG)"; exit 1; }) & rust=$$!; \
	failed=0; { $(MAKE) -j3 $(WITH) lint-python test-page ENGINE=$(ENGINE) \
	  && $(MAKE) test-python fuzz-readers SECONDS=3 ENGINE=$(ENGINE); } || failed=1; \
	wait $$rust || failed=1; cat $(RUST_LOG); exit $$failed

# With `--lib` cargo takes what it compiled for all tests; with another choice of targets it compiles most crates again.
RUNS := --lib --test runs

# Unit tests of all crates, whole runs, and runs held against recorded ones. Clippy and Python are left to `make test`.
quick:
	cargo fmt --all --check
	MAKEFLAGS= cargo test --quiet --locked --workspace --lib --test conformance
	MAKEFLAGS= cargo test --quiet --locked --workspace $(RUNS) -- \
	  simulation:: determinism:: forced:: causes:: recovery::

# What `tests/recorded` holds, as it is today, and the number of the engine's behaviour, a digest of it. The changelog gives
# the reason of a change.
record:
	MAKEFLAGS= ROAMLAB_RECORD=again cargo test --quiet --locked --workspace $(RUNS) -- as_recorded
	$(MAKE) behaviour
behaviour:
	cat tests/recorded/*.txt | sha256sum | cut -c 1-8 > crates/python/behaviour

# The scenarios of the recorded runs of ns-2, in a line each. Nothing is compiled that `make test` did not compile.
ns2-scenarios:
	MAKEFLAGS= $(LINTING) cargo test --quiet --locked --workspace $(RUNS) -- --ignored --nocapture --exact ns2::print_scenarios

case:
	@MAKEFLAGS= ROAMLAB_CASE=$(CASE) cargo test --quiet --locked --workspace $(RUNS) -- --nocapture a_case_can_be_printed

# Random inputs, kills, planted bugs and causes: as many as are asked for once, not at each change.
deep: mutate mutants crash planted links differential
	ROAMLAB_DEEP=1 $(MAKE) test-rust
	$(MAKE) fuzz SECONDS=100
	$(BIN)/python tests/python/shared/generated.py 1000
	ROAMLAB_REMEDIES=200 $(BIN)/pytest tests/python/metrics/test_remedies.py
	$(BIN)/python tests/python/shared/truth.py 5000
	MAKEFLAGS= cargo build --quiet --locked -p roamlab-python --lib
	$(BIN)/python tests/python/shared/kernel_repeats.py 20 target/debug/lib_roamlab.so
	MAKEFLAGS= ROAMLAB_SEQUENCES=100000 cargo test --locked -p roamlab-congestion -p roamlab-quic --lib oracle
	MAKEFLAGS= ROAMLAB_SEQUENCES=3000 cargo test --locked -p roamlab-quic -p roamlab-qdisc -p roamlab-radio --lib -- \
	  pseudocode reference
	MAKEFLAGS= ROAMLAB_MUTATIONS=10000 cargo test --locked -p roamlab-capture --lib mutated
	MAKEFLAGS= ROAMLAB_OPERATIONS=100000000 cargo test --locked -p roamlab-qdisc --lib operations
	MAKEFLAGS= ROAMLAB_COMBINATIONS=2000 cargo test --locked -p roamlab-world $(RUNS) combinations
	MAKEFLAGS= ROAMLAB_WALKS=10000 cargo test --locked -p roamlab-world $(RUNS) nr::walks
	MAKEFLAGS= ROAMLAB_RACES=all cargo test --locked --workspace $(RUNS) races moves trouble
	$(MAKE) playground .venv/.dev .venv/.extension
	ROAMLAB_DEEP=1 $(BIN)/pytest

lint: lint-rust lint-python

lint-format:
	cargo fmt --all --check

lint-rust: lint-format
	MAKEFLAGS= cargo clippy --locked --workspace --all-targets -- -D warnings

lint-python: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/python/project/prose.py

# Clippy is a compiler that lints: with it as the workspace's compiler one pass lints and makes the tests. What is compiled
# once, as after a clone, is compiled sooner without what the next compilation could use.
LINTING := CARGO_INCREMENTAL=0 RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/tests/rustc.sh CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
build-rust:
	MAKEFLAGS= $(LINTING) cargo test --locked --workspace --all-targets --no-run

# Long tests take turns by the day; `turns.py` names those of other days.
test-rust: build-rust
	MAKEFLAGS= $(LINTING) cargo test --locked --workspace $(RUST_TESTS) -- $(TIMES) \
	  $$($(PYTHON) tests/python/shared/turns.py rust)

# Benchmarks are compiled and not run. There are no tests in comments.
RUST_TESTS := --lib --bins --tests
TIMES ?=

# The page for the browser's tests, every fourth day. They are skipped where it is not built, or where the compiler's library
# for WebAssembly cannot be had. A page that is there is built again if it is old.
test-page: $(ENGINE)
	@if [ -e $(PAGE) ] || $(BIN)/python tests/python/shared/turns.py page; then \
	  CARGO_INCREMENTAL=0 $(MAKE) $(PAGE) ENGINE=$(ENGINE) || true; \
	else echo "the playground is built and tested every fourth day"; fi

# Each worker takes its part of the list, so that what a module shares is made once, and then from what the others have left.
# One more than there are cores: some tests wait, for a browser or for time to pass.
test-python: .venv/.dev $(ENGINE)
	$(BIN)/pytest -n $$(($$(nproc) + 1)) --dist worksteal

# As long as one likes: make fuzz SECONDS=3600 SEED=7. The walks are some 300 a second. With the tests' profile inputs are a
# few times fewer, and nothing is compiled anew: cargo asked for the packages of the tests takes what it made for them.
SECONDS ?= 15
SEED ?= 1
FUZZ_PROFILE ?= fuzz
ifeq ($(FUZZ_PROFILE),dev)
FUZZ_BIN := target/debug/roamlab-fuzz
FUZZ_PACKAGES := --workspace --bins --tests
FUZZ_COMPILER = $(LINTING)
else
FUZZ_BIN := target/$(FUZZ_PROFILE)/roamlab-fuzz
FUZZ_PACKAGES := -p roamlab-fuzz
endif
fuzz: fuzz-engine fuzz-readers

fuzz-engine:
	MAKEFLAGS= $(FUZZ_COMPILER) cargo build --locked --profile $(FUZZ_PROFILE) $(FUZZ_PACKAGES)
	for target in tcp queues scenarios; do $(FUZZ_BIN) $$target $(SECONDS) $(SEED); done
	MAKEFLAGS= $(FUZZ_COMPILER) ROAMLAB_WALKS=$$((100 * $(SECONDS))) \
	  cargo test --locked --workspace $(RUNS) reached_again

fuzz-readers: .venv/.dev $(ENGINE)
	for target in sweep manifest trace inputs; do $(BIN)/python fuzz/readers.py $$target $(SECONDS) $(SEED); done

# The engine as WebAssembly, and the page around it.
# COUNT mutated links, each of which must leave the page alive.
links: playground .venv/.dev
	$(BIN)/python tests/python/shared/playground_links.py $(LINKS)

LINKS ?= 1000

gallery: .venv/.extension
	$(BIN)/python -m roamlab.gallery.page examples out/gallery
	@echo "page: out/gallery/gallery.md"

# The phone of the gallery's first question with a buffer of 4 packets, three of the gallery's pictures, and the explorer.
picture: .cache/wasm/engine/roamlab_wasm_bg.wasm gallery .venv/.dev
	node docs/img/handover.js .cache/wasm/engine python/roamlab \
	  examples/gallery/two-cells.toml mobility.buffer.limit '4 pkt' > docs/img/handover.svg
	for name in reno-newreno bufferbloat longer-gap-better; do \
	  cp out/gallery/gallery/$$name.png docs/img/gallery-$$name.png; done
	$(BIN)/roamlab run examples/busy-cell.toml
	$(BIN)/roamlab explore
	$(BIN)/python docs/img/screen.py out/explore.html docs/img/explore.png button.stall

# The pictures on the papers' pages and of a report, of the default number of runs.
paper-pictures: .venv/.extension .venv/.dev
	for paper in mblue ipf lte ripple bcmp; do \
	  $(BIN)/roamlab reproduce $$paper || exit 1; \
	  for file in docs/img/$$paper-*.png; do \
	    made=out/$$paper/figures/$${file#docs/img/$$paper-}; [ ! -e $$made ] || cp $$made $$file; done; done
	$(BIN)/python docs/img/screen.py out/mblue/report.html docs/img/report.png

# The editor's bundle anew, from the versions in its lock.
editor:
	cd $(PLAYGROUND)/vendor && npm ci --no-fund --no-audit && node_modules/.bin/esbuild editor.js --bundle --minify \
	  --format=iife --global-name=CodeMirror --target=es2022 --legal-comments=none --outfile=codemirror.js \
	  && rm -r node_modules

PLAYGROUND := python/roamlab/playground
PAGE := $(PLAYGROUND)/playground.html
WASM := .cache/wasm/engine
playground: $(WASM)/optimised
	@$(MAKE) --no-print-directory $(PAGE)
	@echo "page: $(PAGE)"

$(PAGE): $(WASM)/roamlab_wasm_bg.wasm $(ENGINE) \
  $(wildcard $(PLAYGROUND)/*.js $(PLAYGROUND)/worker/*.js $(PLAYGROUND)/*.css $(PLAYGROUND)/*.py $(PLAYGROUND)/vendor/*.js python/roamlab/explorer/*.* \
  python/roamlab/gallery/*.py examples/*.toml examples/gallery/*.toml)
	$(BIN)/python -m roamlab.playground.page $(WASM) $@

# For tests, where there is nothing else: compiled sooner, and slower.
$(WASM)/roamlab_wasm_bg.wasm: $(RUST_SOURCES) crates/wasm/build.sh crates/wasm/bindgen/Cargo.lock
	MAKEFLAGS= crates/wasm/build.sh $(@D) playground-quick
	rm -f $(WASM)/optimised

$(WASM)/optimised: $(RUST_SOURCES) crates/wasm/build.sh crates/wasm/bindgen/Cargo.lock
	MAKEFLAGS= crates/wasm/build.sh $(@D) playground
	touch $@

# Where the compiler's library for WebAssembly cannot be had, site and wheel are made without the playground.
SITE := $(BIN)/sphinx-build -W --keep-going -q -b html -d .cache/doctrees
docs: .venv/.dev .venv/.extension
	$(MAKE) playground || true
	$(SITE) docs dist/docs
	@echo "site: dist/docs/index.html"

# Fails where a packet-hop takes more than 1 % more instructions than benches/instructions.toml says.
bench-instructions:
	$(PYTHON) benches/instructions.py --check

bench: .venv/.optimised
	cargo bench --locked -p roamlab-benches --bench parts
	cargo bench --locked -p roamlab-benches --bench runs
	$(PYTHON) benches/instructions.py
	$(PYTHON) benches/look_ahead.py --check
	$(PYTHON) benches/recording.py
	$(PYTHON) benches/ns2_ratio.py
	$(PYTHON) benches/ns3_ratio.py
	$(BIN)/python benches/sweep.py

# Mutated scenarios, sweeps, run folders and traces; `make test` tries 200.
COUNT ?= 10000
SEED ?= 1
mutate: .venv/.extension
	$(BIN)/python tests/mutate/mutate.py $(COUNT) --seed $(SEED)

# Plants some 240 bugs, one at a time; an hour or more.
mutants:
	$(PYTHON) tests/mutants/mutants.py

# Against recorded runs of ns-2, and against ns-2 itself where it is installed.
differential: .venv/.dev .venv/.extension
	ROAMLAB_LIVE=all cargo test --locked --workspace $(RUNS) ns2::
	$(BIN)/pytest -n auto tests/differential

# Kills at every call that changes a file, and at 300 random moments, of each command that writes.
crash: .venv/.dev .venv/.extension
	$(BIN)/python tests/crash/crash.py --calls 0 --moments 300
	$(BIN)/python tests/crash/shell.py 200

# Tests try 20 and 5; all take some minutes.
planted: .venv/.extension
	$(BIN)/python tests/python/shared/planted.py 200 50 60
	$(BIN)/python tests/python/shared/captures/captured.py 0 8
	$(BIN)/python tests/python/shared/captures/twinned.py 0 3 --what-if

# Zig links the engine against a C library of 2018 (Debian 10, RHEL 8 and later), whatever this machine has.
RELEASE := dist/release
GLIBC := manylinux_2_28
PARTS := .cache/editor.cdx.json
wheel: .venv/.release LICENSE-THIRD-PARTY.txt $(PARTS)
	$(MAKE) playground || true
	rm -f $(RELEASE)/*.whl
	MAKEFLAGS= PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --zig --compatibility $(GLIBC) \
	  --sbom-include $(PARTS) --out $(RELEASE)

# One folder for each version: those of earlier versions are added where the site is published.
release: .venv/.dev .venv/.extension
	rm -rf $(RELEASE)
	$(MAKE) playground
	$(MAKE) wheel
	$(BIN)/maturin sdist --out $(RELEASE)
	$(SITE) -A versions=versions.html docs $(RELEASE)/site/$$($(BIN)/python release/finish.py --version)
	$(BIN)/python release/finish.py $(RELEASE)
	ROAMLAB_DEEP=1 ROAMLAB_RELEASE=$(CURDIR)/$(RELEASE) $(BIN)/pytest tests/python/release/test_release.py \
	  tests/python/release/test_wheel.py
	@echo "release: $(RELEASE)"

LICENSE-THIRD-PARTY.txt: Cargo.lock release/notices.py $(PLAYGROUND)/vendor/package-lock.json $(PLAYGROUND)/vendor/LICENSE
	$(PYTHON) release/notices.py $@

# The parts of the engine are listed by maturin, those of the editor by npm.
$(PARTS): $(PLAYGROUND)/vendor/package-lock.json
	mkdir -p $(@D)
	cd $(<D) && npm sbom --package-lock-only --omit dev --sbom-format cyclonedx > $(CURDIR)/$@

# Results in out/ are the user's and stay.
clean:
	rm -rf .venv .cache target dist LICENSE-THIRD-PARTY.txt python/roamlab/_roamlab*.so examples/*.schema.json

# The builder of extensions alone: with it the engine is compiled while the other packages are fetched.
.venv/.maturin: requirements.lock
	$(PYTHON) -m venv .venv
	sed -n '/^maturin==/,/[^\\]$$/p' $< > .venv/maturin.lock
	$(BIN)/pip install --quiet --no-deps --require-hashes --requirement .venv/maturin.lock
	touch $@

.venv/.packages: requirements.lock .venv/.maturin
	$(BIN)/pip install --quiet --require-hashes --requirement requirements.lock
	touch $@

# Modules that tests, benches and the writers of pages share are imported by their names, from the folders of `pythonpath`.
.venv/.dev: requirements-dev.lock .venv/.packages
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-dev.lock
	$(BIN)/python tests/shared_path.py
	touch $@

.venv/.release: requirements-release.lock .venv/.packages
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-release.lock
	touch $@

# Editors find the schemas of the examples beside them.
define schemas
$(BIN)/roamlab schema > examples/scenario.schema.json
$(BIN)/roamlab schema --sweep > examples/sweep.schema.json
endef

# Without an index: whatever the package needs must come from the lock.
MATURIN := MAKEFLAGS= PIP_NO_INDEX=1 PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --quiet
.venv/.compiled: $(RUST_SOURCES) pyproject.toml .venv/.maturin
	$(MATURIN) --profile quick --skip-install
	touch $@

.venv/.extension: .venv/.compiled .venv/.packages
	$(MATURIN) --profile quick
	$(schemas)
	rm -f .venv/.optimised .venv/.checked
	touch $@

# The same with the engine of the build of the tests, which cargo makes without compiling its parts again.
.venv/.checked: $(RUST_SOURCES) pyproject.toml .venv/.packages
	MAKEFLAGS= $(LINTING) cargo build --locked --workspace --lib --tests
	$(BIN)/python tests/install_engine.py
	$(schemas)
	rm -f .venv/.extension .venv/.optimised
	touch $@

# The same, optimised as one program, as in wheels.
.venv/.optimised: $(RUST_SOURCES) pyproject.toml .venv/.packages
	$(MATURIN) --release
	$(schemas)
	rm -f .venv/.checked
	touch .venv/.compiled .venv/.extension $@
