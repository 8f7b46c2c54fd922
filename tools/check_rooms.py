#!/usr/bin/env python3
"""Prints every include that crosses a wall: a room may include only itself and the rooms cmake/rooms.cmake names for it,
and what those name. Exit status 1 when there is any."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def rooms():
    allowed = {}
    for line in (ROOT / "cmake/rooms.cmake").read_text().splitlines():
        match = re.match(r"assay_room\(([^)]*)\)", line)
        if match:
            name, *named = match[1].split()
            allowed[name] = {name}.union(*(allowed[n] for n in named))
    return allowed


def main():
    allowed = rooms()
    illegal = 0
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".inc"}:
            continue
        room = path.relative_to(ROOT / "src").parts[0]
        if room not in allowed:
            print(f"{path.relative_to(ROOT)}: room '{room}' is not in cmake/rooms.cmake")
            illegal += 1
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"/]+)/', line)
            if match and match[1] in allowed and match[1] not in allowed[room]:
                print(f"{path.relative_to(ROOT)}:{number}: {room}/ may not include {match[1]}/")
                illegal += 1
    print(f"rooms: {len(allowed)} rooms, {illegal} illegal includes")
    return 1 if illegal else 0


if __name__ == "__main__":
    sys.exit(main())
