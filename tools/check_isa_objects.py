#!/usr/bin/env python3
"""Objects compiled for one instruction set must hold no weak symbol: the linker keeps one copy of an inline function for the
whole program, and if it keeps the AVX-512 one, a CPU without it dies in code that has nothing to do with kernels.

check_isa_objects.py BUILD_DIR
"""
import subprocess
import sys
from pathlib import Path

objects = sorted(Path(sys.argv[1]).glob("CMakeFiles/kernels.dir/src/kernels/isa/*.o"))
assert len(objects) >= 8, f"only {len(objects)} kernel objects in {sys.argv[1]}"
wrong = []
for path in objects:
    lines = subprocess.run(["nm", "-C", "--defined-only", path], check=True, capture_output=True, text=True).stdout.splitlines()
    wrong += [f"{path.name}: {line[19:]}" for line in lines if line[17:18] in "WVu"]
print("\n".join(wrong) or f"{len(objects)} kernel objects, no weak symbol")
sys.exit(bool(wrong))
