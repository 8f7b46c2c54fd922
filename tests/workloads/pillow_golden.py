#!/usr/bin/env python3
"""Writes pillow_golden.json: CRC-32 of pictures that Pillow resized, for the vision tests (needs pillow and, for the photos, ../shared).

  build/venv/bin/pip install pillow
  build/venv/bin/python tests/workloads/pillow_golden.py
"""
import json
import zlib
from pathlib import Path

from PIL import Image, __version__

HERE = Path(__file__).resolve().parent
PHOTOS = HERE.parents[2] / "shared/data/imagenet-100"
CASES = [(37, 23, 20, 20), (37, 23, 80, 51), (64, 48, 7, 5), (5, 5, 224, 224), (200, 100, 100, 100), (33, 70, 33, 31), (70, 33, 31, 33), (1, 1, 3, 2),
         (301, 199, 224, 224)]


def pattern(width, height):
    """The picture that vision_test.cpp draws too."""
    data = bytes((x * 7 + y * 13 + c * 29 + (x * y) % 31 * 8) & 255 for y in range(height) for x in range(width) for c in range(3))
    return Image.frombytes("RGB", (width, height), data)


def main():
    out = {"made_by": f"Pillow {__version__}, tests/workloads/pillow_golden.py", "pattern": [], "photos": {}, "decoded": {}}
    for w, h, to_w, to_h in CASES:
        for rule in range(6):
            out["pattern"].append([w, h, to_w, to_h, rule, zlib.crc32(pattern(w, h).resize((to_w, to_h), rule).tobytes())])
    for path in sorted(PHOTOS.glob("*.JPEG")):
        image = Image.open(path).convert("RGB")
        out["decoded"][path.name] = zlib.crc32(image.tobytes())
        side = int(0.875 * min(image.size))
        left, top = (image.width - side) // 2, (image.height - side) // 2
        image = image.crop((left, top, left + side, top + side)).resize((224, 224), Image.BICUBIC)
        out["photos"][path.name] = zlib.crc32(image.tobytes())
    (HERE / "pillow_golden.json").write_text(json.dumps(out, indent=0) + "\n")


if __name__ == "__main__":
    main()
