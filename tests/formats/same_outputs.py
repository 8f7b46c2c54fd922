#!/usr/bin/env python3
"""Runs two ONNX files on the same random float inputs in ONNX Runtime: same_outputs.py A B. Fails when an output differs beyond
1e-6. Symbolic dimensions take 3."""
import sys

import numpy as np
import onnx
import onnxruntime as ort


def main():
    models = [onnx.load(p) for p in sys.argv[1:3]]
    for m in models:
        onnx.checker.check_model(m)
    rng = np.random.default_rng(3)
    feeds = {}
    for i in models[0].graph.input:
        dims = [d.dim_value or 3 for d in i.type.tensor_type.shape.dim]
        feeds[i.name] = rng.standard_normal(dims).astype(np.float32)
    sessions = [ort.InferenceSession(p, providers=["CPUExecutionProvider"]) for p in sys.argv[1:3]]
    a, b = (s.run(None, feeds) for s in sessions)
    names = [[o.name for o in m.graph.output] for m in models]
    if names[0] != names[1]:
        print(f"outputs {names[0]} and {names[1]}")
        return 1
    for name, x, y in zip(names[0], a, b):
        if x.shape != y.shape or np.abs(x - y).max() > 1e-6:
            print(f"{name}: {x} and {y}")
            return 1
    print(f"{len(a)} outputs equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
