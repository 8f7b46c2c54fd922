#!/usr/bin/env bash
# Builds the tests and fuzzers with clang, AddressSanitizer and UndefinedBehaviorSanitizer, runs the tests, then every fuzzer
# for FUZZ_SECONDS (default 15) on its seeds.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/sanitize
CC=clang CXX=clang++ cmake -S . -B $build -G Ninja -DASSAY_SANITIZE=ON -DASSAY_FUZZ=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
cmake --build $build --parallel "$(nproc)"
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
ctest --test-dir $build --output-on-failure -LE slow
for fuzzer in $build/fuzz/fuzz_*; do
  [[ -x $fuzzer && ! -d $fuzzer ]] || continue
  name=$(basename "$fuzzer")
  corpus=$build/corpus/$name
  mkdir -p "$corpus"
  seeds=()
  if [[ -d fuzz/seeds/$name ]]; then seeds=("fuzz/seeds/$name"); fi
  "$fuzzer" -max_total_time="${FUZZ_SECONDS:-15}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 "$corpus" "${seeds[@]}"
  echo "fuzz: $name, ${FUZZ_SECONDS:-15} s, no finding"
done
