# For people; each target is a few commands that can be typed by hand.

# Of `make fuzz`: for each of its targets, and the number that its inputs follow from.
SECONDS ?= 10
SEED ?= 1

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local

# The presets say how ropewalk is compiled. Flags from the caller's environment would change what
# is tested (-ffast-math, -march); for a build with flags of your own, call cmake.
unexport CXXFLAGS CFLAGS CPPFLAGS LDFLAGS

# Two targets of one call share build/release.
.NOTPARALLEL:

SOURCES = $(shell find include src cli tests examples fuzz bench docs python \
            -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' 2>/dev/null)

.PHONY: help setup build demo test docs gallery bench bench-peers bench-python bench-report instructions fuzz install asan tsan cross tidy format format-check clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | while read -r target text; do \
	  printf '  make %-14s %s\n' "$$target" "$$text"; done

setup:  ## install what is missing (apt-get, as root or by sudo)
	@scripts/setup

build: setup  ## build/release: the library, the command line, the tests
	@cmake --preset release > /dev/null
	@cmake --build --preset release --parallel $(JOBS)

demo: setup  ## rotate the q and k of examples/data and compare them with transformers' result
	@cmake --preset release > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ropewalk_cli
	@scripts/demo

test: setup  ## all tests
	@scripts/setup --python
	@cmake --preset release -D ROPEWALK_PYTHON=ON -D Python_EXECUTABLE="$$PWD/build/python/bin/python" > /dev/null
	@cmake --build --preset release --parallel $(JOBS)
	@ctest --preset release --parallel $(JOBS) --output-junit tests.xml

install: setup  ## the libraries and the command line: make install PREFIX=/usr/local
	@cmake --preset release > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ropewalk ropewalk_model ropewalk_cli
	@cmake --install build/release --prefix "$(PREFIX)"

docs: setup  ## measure the figures of docs/*.md again, and write them there
	@cmake --preset release > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target document_numbers
	@scripts/write_docs.py build/release/tests/document_numbers

gallery: setup  ## draw the pictures of docs/gallery.md again
	@scripts/setup --python
	@cmake --preset release -D ROPEWALK_PYTHON=ON -D Python_EXECUTABLE="$$PWD/build/python/bin/python" > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ropewalk_python
	@PYTHONPATH=build/release/python build/python/bin/python scripts/write_gallery.py

bench: setup  ## the speed, as a share of what this machine can do
	@cmake --preset release > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ropewalk_cli
	@OMP_PROC_BIND=true build/release/ropewalk bench

bench-peers: setup  ## beside ggml, onnxruntime, PyTorch and others: speed and error (a large download)
	@JOBS=$(JOBS) bench/peers/setup
	@build/peers/bin/python bench/peers/compare.py

bench-python: setup  ## the Python package's calls beside PyTorch's own, one thread
	@scripts/setup --python
	@cmake --preset release -D ROPEWALK_PYTHON=ON -D Python_EXECUTABLE="$$PWD/build/python/bin/python" > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ropewalk_python ropewalk_cli
	@build/python/bin/python bench/peers/package.py

bench-report: setup  ## measure, and write docs/performance.md; BENCH=FILE, PEERS=FILE, PACKAGE=FILE: of what was measured
	@scripts/setup --report
ifeq ($(BENCH),)
	@cmake --preset release > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target ropewalk_cli
	@OMP_PROC_BIND=true build/release/ropewalk bench --json > build/bench.json
endif
	@build/report/bin/python scripts/write_performance.py --bench $(or $(BENCH),build/bench.json) \
	  $(addprefix --peers ,$(or $(PEERS),$(wildcard build/peers.json))) \
	  $(addprefix --package ,$(or $(PACKAGE),$(wildcard build/package.json)))

instructions: setup  ## count the instructions of a few calls, and record them in tests/instructions.json
	@cmake --preset release > /dev/null
	@cmake --build --preset release --parallel $(JOBS) --target instructions
	@tests/instructions.py --record build/release/tests/instructions

asan: setup  ## all tests under the address and undefined behaviour sanitizers
	@JOBS=$(JOBS) scripts/sanitize asan

fuzz: setup  ## readers of files on random inputs, SECONDS each, under the sanitizers
	@SECONDS_EACH=$(SECONDS) SEED=$(SEED) JOBS=$(JOBS) scripts/fuzz

tsan: setup  ## all tests under the thread sanitizer
	@JOBS=$(JOBS) scripts/sanitize tsan

cross:  ## the core's tests for aarch64, under qemu-user
	@scripts/setup --cross
	@JOBS=$(JOBS) scripts/cross

tidy:  ## clang-tidy over the library and the command line
	@scripts/setup --tidy
	@PATH="$$PWD/build/tools/bin:$$PATH" cmake --preset tidy > /dev/null
	@PATH="$$PWD/build/tools/bin:$$PATH" cmake --build --preset tidy --parallel $(JOBS) --clean-first

format:  ## format the C++ sources
	@scripts/setup --format
	@build/tools/bin/clang-format -i $(SOURCES)

format-check:  ## fail if `make format` would change something
	@scripts/setup --format
	@build/tools/bin/clang-format --dry-run --Werror $(SOURCES)

clean:  ## remove build/
	rm -rf build
