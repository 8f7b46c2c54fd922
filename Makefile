# The two commands: `make run` (the example, report in out/minilm-squad/) and `make test` (every test). Both install what is
# missing first (tools/setup.sh) and are quick when nothing is.
BUILD := build/release
JOBS ?= $(shell nproc)

.PHONY: all build run test setup setup-test lint sanitize fuzz clean
all: build

setup:
	@tools/setup.sh
setup-test:
	@tools/setup.sh --test

$(BUILD)/build.ninja:
	cmake -S . -B $(BUILD) -G Ninja

build: setup $(BUILD)/build.ninja
	cmake --build $(BUILD) --parallel $(JOBS) --target assay

run: build
	$(BUILD)/assay run examples/runs/minilm-squad.yaml -o out/minilm-squad --resume
	@echo "The report: out/minilm-squad/report.html"

test: setup-test $(BUILD)/build.ninja
	cmake --build $(BUILD) --parallel $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure

# Format, naming and bug checks, and the include rules of the rooms.
lint: setup
	@tools/lint.sh

# The tests under AddressSanitizer and UndefinedBehaviorSanitizer, built with clang, and a short run of every fuzzer.
sanitize: setup-test
	@tools/sanitize.sh

clean:
	rm -rf build/release build/sanitize out
