#!/usr/bin/env python3
"""Seed corpora for the fuzzers: make_seeds.py NODE_TESTS OUT

NODE_TESTS is a folder made by tests/onnx_node/generate.py. Writes OUT/fuzz_NAME for every fuzz_NAME.cpp: small node-test models (one
of each operator, and those with subgraphs), safetensors of every type and with one defect each, tokenizers cut to a few entries,
the example run files, and a little of every kind of data file.
"""
import json
import struct
import sys
from pathlib import Path

import onnx

ROOT = Path(__file__).parent.parent


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


def tokenizer_seeds(out):
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(ROOT.glob("models/*/tokenizer.json")) + sorted(ROOT.glob("../shared/models/*/tokenizer.json")):
        full = json.loads(path.read_text())
        if isinstance(full["model"].get("vocab"), dict):
            full["model"]["vocab"] = dict(list(full["model"]["vocab"].items())[:40])
        if "merges" in full["model"]:
            full["model"]["merges"] = []
        (out / path.parent.name).write_text(json.dumps(full))
    words = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9, "vocab": words}
    (out / "word_piece").write_text(json.dumps({"version": "1.0", "model": model, "normalizer": {"type": "NFD"}}))
    merges = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "byte_fallback": False}
    (out / "bpe").write_text(json.dumps({"model": merges, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}}))
    return len(list(out.iterdir()))


def run_file_seeds(out):
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(ROOT.glob("examples/runs/*.yaml")):
        (out / path.name).write_bytes(path.read_bytes())
    return len(list(out.iterdir()))


def data_seeds(out):
    """The first byte chooses the reader (see fuzz_data.cpp)."""
    out.mkdir(parents=True, exist_ok=True)
    answers = [{"text": "b", "answer_start": 2}]
    squad = {"data": [{"title": "t", "paragraphs": [{"context": "a b c", "qas": [{"id": "1", "question": "q?", "answers": answers}]}]}]}
    files = {
        0: json.dumps(squad).encode(),
        1: b'text,label\n"a ""b""\nc",1\nd,0\n',
        2: b"text\tlabel\na b\t1\n",
        3: b'[{"text": "a", "label": 1}, {"text": "b", "label": null}]',
        4: b'{"text": "a", "label": 1}\n{"text": "b", "label": 0}\n',
        5: b"EU B-ORG\nrejects O\n\nPeter B-PER\nBlackburn I-PER\n",
        6: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0",
        7: b'{"do_resize": true, "size": {"shortest_edge": 224}, "image_mean": [0.5], "image_std": [0.5]}',
    }
    for choice, text in files.items():
        (out / f"reader_{choice}").write_bytes(bytes([choice]) + text)
        (out / f"reader_{choice}_options").write_bytes(bytes([choice + 8 * 13]) + text)
    return len(list(out.iterdir()))


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    tests, out = Path(sys.argv[1]), Path(sys.argv[2])
    makers = {"safetensors": safetensors_seeds, "tokenizer": tokenizer_seeds, "run_file": run_file_seeds, "data": data_seeds}
    counts = {"onnx": onnx_seeds(tests, out / "fuzz_onnx"), **{n: make(out / f"fuzz_{n}") for n, make in makers.items()}}
    print("seeds: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
