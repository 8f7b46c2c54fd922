"""Our matrix products beside ONNX Runtime's, interleaved: ratio of best times (below 1: ours is faster).

Usage: build/venv/bin/python tools/bench_kernels_ort.py PATH_TO_bench_kernels [f32|int8] [threads] [rounds]
"""

import re
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

SHAPES = [(384, 384), (384, 1152), (384, 1536), (1536, 384), (768, 768), (768, 2304), (768, 3072), (3072, 768)]
ROWS = [1, 8, 32, 64, 128]


def session(kind, k, n, threads):
    """One product with constant weights: MatMul, or MatMulInteger of a uint8 activation with a zero point, int8 weights."""
    rng = np.random.default_rng(0)
    if kind == "f32":
        weights = helper.make_tensor("w", TensorProto.FLOAT, [k, n], rng.standard_normal((k, n)).astype(np.float32).tobytes(), raw=True)
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        inits, x_type, y_type = [weights], TensorProto.FLOAT, TensorProto.FLOAT
    else:
        w = np.clip(np.rint(rng.standard_normal((k, n)) * 35), -127, 127).astype(np.int8)
        weights = helper.make_tensor("w", TensorProto.INT8, [k, n], w.tobytes(), raw=True)
        zero = helper.make_tensor("z", TensorProto.UINT8, [], bytes([117]), raw=True)
        node = helper.make_node("MatMulInteger", ["x", "w", "z"], ["y"])
        inits, x_type, y_type = [weights, zero], TensorProto.UINT8, TensorProto.INT32
    graph = helper.make_graph(
        [node], "product", [helper.make_tensor_value_info("x", x_type, ["m", k])],
        [helper.make_tensor_value_info("y", y_type, ["m", n])], inits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def theirs_us(s, x, milliseconds):
    """Best time of one run with inputs and outputs bound, so that the call carries no copies."""
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_output("y")
    s.run_with_iobinding(binding)
    best, end = 1e30, time.perf_counter() + milliseconds / 1e3
    while True:
        start = time.perf_counter()
        s.run_with_iobinding(binding)
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return best * 1e6


def ours_us(program, kind, m, k, n, threads, milliseconds):
    out = subprocess.run([program, kind, "--threads", str(threads), "--shape", f"{m},{k},{n}", "--ms", str(milliseconds)],
                         capture_output=True, text=True, check=True).stdout
    return float(re.search(r"([\d.]+) us", out).group(1)), float(re.search(r"([\d.]+) %", out).group(1))


def main():
    program, kinds = sys.argv[1], [sys.argv[2]] if len(sys.argv) > 2 else ["f32", "int8"]
    threads, rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 1, int(sys.argv[4]) if len(sys.argv) > 4 else 3
    rng = np.random.default_rng(1)
    for kind in kinds:
        for k, n in SHAPES:
            s = session(kind, k, n, threads)
            for m in ROWS:
                x = (rng.standard_normal((m, k)).astype(np.float32) if kind == "f32"
                     else rng.integers(0, 256, (m, k)).astype(np.uint8))
                ours, theirs, share = 1e30, 1e30, 0.0
                for _ in range(rounds):
                    us, percent = ours_us(program, kind, m, k, n, threads, 40)
                    ours, share = min(ours, us), max(share, percent)
                    theirs = min(theirs, theirs_us(s, x, 40))
                print(f"{kind:5} {m:4}x{k}x{n:<5} threads {threads}  ours {ours:9.1f} us ({share:5.1f} % of peak)  "
                      f"ONNX Runtime {theirs:9.1f} us  ratio {ours / theirs:.2f}", flush=True)


if __name__ == "__main__":
    main()
