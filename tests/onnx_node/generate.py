#!/usr/bin/env python3
"""Writes ONNX's backend node tests to a folder.

The wheel holds the node tests as code, not as files. Each test becomes OUT/NAME/{model.onnx, input_J.pb, output_J.pb,
limits.txt (relative and absolute tolerance)}; a second data set of a test goes to NAME.1, and so on. OUT/complete holds
the wheel's version and is written last, so an interrupted run starts over.

    generate.py OUT
"""

import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnx.backend.test.loader as loader
from onnx import TensorProto, numpy_helper


def serialize(value, info) -> bytes:
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name).SerializeToString()
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name).SerializeToString()
    if isinstance(value, TensorProto):
        return value.SerializeToString()
    return numpy_helper.from_array(np.asarray(value), info.name).SerializeToString()


def write_case(folder: pathlib.Path, case, data_set) -> None:
    folder.mkdir()
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, outputs = data_set
    for j, value in enumerate(inputs):
        (folder / f"input_{j}.pb").write_bytes(serialize(value, case.model.graph.input[j]))
    for j, value in enumerate(outputs):
        (folder / f"output_{j}.pb").write_bytes(serialize(value, case.model.graph.output[j]))
    (folder / "limits.txt").write_text(f"{case.rtol} {case.atol}\n")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    out = pathlib.Path(sys.argv[1])
    marker = out / "complete"
    if marker.exists() and marker.read_text().strip() == onnx.__version__:
        return 0
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    np.random.seed(0)  # the cases draw their inputs from numpy's global generator while they are imported
    cases = loader.load_model_tests(kind="node")
    for case in cases:
        for i, data_set in enumerate(case.data_sets):
            write_case(out / (case.name if i == 0 else f"{case.name}.{i}"), case, data_set)
    marker.write_text(onnx.__version__ + "\n")
    print(f"{len(cases)} node tests of onnx {onnx.__version__} written to {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
