#!/usr/bin/env python3
"""Seed corpora for the model readers: make_seeds.py NODE_TESTS OUT

NODE_TESTS is a folder made by tests/onnx_node/generate.py. Writes OUT/onnx (small node-test models: one of each operator, and
those with subgraphs) and OUT/safetensors (valid files of every type, and headers with one defect).
"""
import json
import struct
import sys
from pathlib import Path

import onnx


def onnx_seeds(tests, out):
    out.mkdir(parents=True, exist_ok=True)
    seen = set()
    for path in sorted(tests.glob("*/model.onnx")):
        data = path.read_bytes()
        if len(data) > 4096:
            continue
        model = onnx.load_from_string(data)
        kinds = {n.op_type for n in model.graph.node}
        if kinds <= seen:
            continue
        seen |= kinds
        (out / path.parent.name).write_bytes(data)
    functions = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 18, "local" : 1]>
        main (float[N] x) => (float[N] y) { y = local.scale <alpha = 3.0> (x) }
        <domain: "local", opset_import: ["" : 18]>
        scale <alpha: float = 2.0> (x) => (y) { a = Constant <value_float: float = @alpha> () y = Mul (x, a) }""")
    (out / "functions").write_bytes(functions.SerializeToString())
    return len(list(out.iterdir()))


def safetensors_seeds(out):
    out.mkdir(parents=True, exist_ok=True)
    sizes = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4,
             "F32": 4, "F64": 8, "I64": 8, "U64": 8}

    def write(name, header, data):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        (out / name).write_bytes(struct.pack("<Q", len(text)) + text + data)

    every, at = {"__metadata__": {"format": "pt"}}, 0
    for kind, size in sizes.items():
        every[kind.lower()] = {"dtype": kind, "shape": [2, 1], "data_offsets": [at, at + 2 * size]}
        at += 2 * size
    write("every_type", every, bytes(at))
    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    write("scalar", {"s": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}, bytes(4))
    write("empty", {"s": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}, b"")
    write("short", {"a": one}, bytes(4))
    write("gap", {"a": one, "b": {**one, "data_offsets": [12, 20]}}, bytes(20))
    write("overlap", {"a": one, "b": {**one, "data_offsets": [4, 12]}}, bytes(12))
    write("twice", b'{"a":' + json.dumps(one).encode() + b',"a":' + json.dumps(one).encode() + b"}", bytes(8))
    write("huge_shape", {"a": {**one, "shape": [1 << 62, 4]}}, bytes(8))
    return len(list(out.iterdir()))


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    tests, out = Path(sys.argv[1]), Path(sys.argv[2])
    print(f"{onnx_seeds(tests, out / 'onnx')} ONNX and {safetensors_seeds(out / 'safetensors')} safetensors seeds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
