# The front door. On a machine with Rust, a C compiler and Python 3.11 (venv, pip):
#
#   make demo                  build, set up, and run programs that nobody here wrote
#   make test                  build, set up, and run all tests (40 minutes on two cores)
#   make build                 build/install (lib, include, bin) and the wheel in build/dist
#   make wheel-manylinux       a wheel for any machine with glibc 2.28 or newer and no Rust, in build/manylinux; checked
#   make install PREFIX=/opt/towpath
#   make bench [ROUNDS=9]      the table against MPICH, Open MPI and Intel MPI
#   make bench-hosts           the same between hosts, which are network namespaces (three hours)
#   make stress [TEST=regex]   the racing tests 500 times each, also beside a busy process; 100000 random datatypes;
#                              the order model with 10^7 messages of each pair;
#                              10^7 steps of CLIC's protocol in its simulator;
#                              the schedules of collectives for up to 10000 ranks; the C programs
#                              and mpi4py's suite with all numbers of ranks, also over 2 and 4
#                              hosts, by each transport;
#                              10^5 messages between host and device memory in each setting
#                              of the stub driver, and the C programs and mpi4py's suite beside it;
#                              10^6 random collectives on hosts with any number of ranks;
#                              collectives whose leaders are stopped for 10 s or killed
#   make fuzz [FUZZ_SECONDS=60]  each decoder of bytes from outside, fed by libFuzzer
#   make lint                  format, clippy, arrows, generated files, sizes, structure, links
#   make docs                  the documentation as a web site in build/book/html
#
# All that is made lies under build/ and target/. Builds and benchmarks exclude each other by build/lock.

PYTHON ?= python3
CARGO ?= cargo
PREFIX ?= /usr/local
TEST ?=
ROUNDS ?= 9
REPEAT ?= 500

LOCKED = mkdir -p build && flock build/lock
TIMED = $(PYTHON) tests/timed.py

.PHONY: build wheel wheel-manylinux install demo test bench bench-hosts stress fuzz lint docs clean

build:
	@$(LOCKED) $(TIMED) "build the libraries" $(CARGO) run -q -p xtask -- dist --prefix build/install
	@$(LOCKED) $(TIMED) "build the wheel" $(PYTHON) tests/wheel.py

wheel: build

wheel-manylinux:
	@$(LOCKED) $(TIMED) "build the wheel for old systems" $(PYTHON) tests/wheel.py --manylinux
	@$(PYTHON) tests/packaging.py --manylinux

install: build
	@mkdir -p "$(DESTDIR)$(PREFIX)"
	cp -r build/install/. "$(DESTDIR)$(PREFIX)/"

demo: build
	@$(PYTHON) examples/demo.py

test: build
	@$(PYTHON) tests/all.py

lint:
	@$(PYTHON) tests/lint.py

docs:
	@$(PYTHON) tools/book.py

bench: build
	@$(PYTHON) benchmarks/run.py --rounds $(ROUNDS)

bench-hosts: build
	@$(PYTHON) benchmarks/hosts.py

BESIDE_DRIVER = LD_PRELOAD=$(CURDIR)/build/tests/device/libcuda.so.1

stress: build
	$(PYTHON) tests/mpi/run.py --library towpath --stress --repeat $(REPEAT) --filter '$(TEST)'
	$(PYTHON) tests/mpi/run.py --library towpath --stress --repeat $(REPEAT) --filter '$(TEST)' --busy
	$(if $(TEST),,PROPTEST_CASES=100000 $(CARGO) test --profile stress -p towpath-datatype)
	$(if $(TEST),,TOWPATH_TEST_MESSAGES=1000000 $(CARGO) test --profile stress -p towpath-engine --test order -- --include-ignored)
	$(if $(TEST),,$(CARGO) test --profile stress -p towpath-clic --test clic -- --include-ignored)
	$(if $(TEST),,$(CARGO) test --profile stress -p towpath-schedule --lib -- --include-ignored)
	$(if $(TEST),,$(CARGO) test --profile stress -p towpath-actors -- --include-ignored)
	$(if $(TEST),,$(PYTHON) tests/actors/run.py --programs 16000 --seed 2)
	$(if $(TEST),,$(PYTHON) tests/mpi/run.py --library towpath)
	$(if $(TEST),,$(PYTHON) tests/mpi/run.py --library mpich)
	$(if $(TEST),,$(PYTHON) tests/device/library.py --stress)
	$(if $(TEST),,$(BESIDE_DRIVER) $(PYTHON) tests/mpi/run.py --library towpath)
	$(if $(TEST),,$(BESIDE_DRIVER) $(PYTHON) tests/external/mpi4py_suite.py)
	$(if $(TEST),,$(PYTHON) tests/external/mpi4py_suite.py)
	$(if $(TEST),,$(PYTHON) tests/external/mpi4py_suite.py --abi standard)
	$(if $(TEST),,$(PYTHON) tests/hosts/matrix.py)
	$(if $(TEST),,$(PYTHON) tests/hosts/mappings.py --batches 20000)
	$(if $(TEST),,for seed in $$(seq 20); do \
		$(PYTHON) tests/hosts/changes.py --filter leader --long --seed $$seed || exit 1; done)

# libFuzzer on a stable compiler: the coverage that it steers by comes from LLVM's own pass.
FUZZ = clic_frame clic_endpoint tcp_card tcp_hello tcp_input ofi_card ofi_heads pmi_lines \
	pmi_records proxy_frames host_texts pmix_sheets topology_file
FUZZ_SECONDS ?= 60
COVERAGE = -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing

fuzz:
	@mkdir -p $(addprefix build/fuzz/,$(FUZZ))
	# With a target named, build scripts are built without the coverage.
	set -e; host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTFLAGS="$(COVERAGE)" $(CARGO) build -q --release --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --target $$host; \
	for target in $(FUZZ); do \
		target/fuzz/$$host/release/$$target -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/ build/fuzz/$$target; done

clean:
	rm -rf build
	$(CARGO) clean
