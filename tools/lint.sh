#!/usr/bin/env bash
# Include rules of the rooms, clang-format, and (without --quick) clang-tidy over every file of src/.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tools/check_rooms.py
mapfile -t files < <(git ls-files 'src/*.h' 'src/*.cpp' 'tests/*.cpp' 'tests/*.h' 'fuzz/*.cpp')
clang-format --dry-run --Werror "${files[@]}"
echo "format: ${#files[@]} files clean"
if [[ ${1:-} != --quick ]]; then
  [[ -f build/release/compile_commands.json ]] || cmake -S . -B build/release -G Ninja
  git ls-files 'src/*.cpp' | grep -v _test.cpp | xargs -P "$(nproc)" -n 4 clang-tidy -p build/release --quiet
  echo "tidy: clean"
fi
