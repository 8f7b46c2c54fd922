#!/usr/bin/env bash
# Builds with clang, AddressSanitizer and UndefinedBehaviorSanitizer; runs the tests of the rooms, then every fuzzer for FUZZ_SECONDS
# (default 15) from its seeds. --fuzz: the fuzzers only. Left to the ordinary build, for their length: whole models on data
# sets, the command line and the Python referees.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/sanitize
python=build/venv/bin/python
fuzzers=()
for source in fuzz/fuzz_*.cpp; do fuzzers+=("$(basename "$source" .cpp)"); done

CC=clang CXX=clang++ cmake -S . -B $build -G Ninja -DASSAY_SANITIZE=ON -DASSAY_FUZZ=ON
# LLVM's OpenMP runtime never frees its thread pool.
printf 'leak:libomp.so\n' >$build/leaks.supp
export LSAN_OPTIONS=suppressions=$build/leaks.supp:print_suppressions=0
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
if [[ ${1:-} == --fuzz ]]; then
  cmake --build $build --parallel "$(nproc)" --target "${fuzzers[@]}"
else
  cmake --build $build --parallel "$(nproc)"
  ctest --test-dir $build --output-on-failure --parallel "$(nproc)" --timeout 1500 \
    --exclude-regex 'RealModels|BitEquality|^cli|^oracle|^onnx_node|^examples|^rooms|Parity'
fi

$python tests/onnx_node/generate.py $build/node_tests >/dev/null
$python fuzz/make_seeds.py $build/node_tests $build/seeds
for name in "${fuzzers[@]}"; do
  mkdir -p "$build/corpus/$name"
  $build/fuzz/"$name" -max_total_time="${FUZZ_SECONDS:-15}" -timeout=20 -rss_limit_mb=3000 -verbosity=0 \
    -artifact_prefix="$build/$name-" "$build/corpus/$name" "$build/seeds/$name"
  echo "fuzz: $name, ${FUZZ_SECONDS:-15} s, no finding"
done
