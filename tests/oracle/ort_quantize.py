#!/usr/bin/env python3
"""Quantize an ONNX file with ONNX Runtime's own tool: the peer that our files and figures are held against.

  ort_quantize.py model.onnx int8.onnx --approach dynamic --operators MatMul --per-channel
  ort_quantize.py model.onnx int8.onnx --approach static --operators MatMul,Add --exclude names.txt --activation uint8 \\
      --calibration questions.json --tokenizer models/minilm-l6-squad/tokenizer.json --samples 100

Calibration data is an .npz of arrays [samples, length] by input name, or a SQuAD .json, of which the first window of each question is
taken and padded to --length. Rows are fed one at a time; --trim cuts each to the length of its attention mask. Prints the counts of
node types before and after.
"""

import argparse
import collections
import json
import logging
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization as q

TYPES = {"uint8": q.QuantType.QUInt8, "int8": q.QuantType.QInt8}


def calibration_arrays(path, tokenizer=None, samples=None, length=384):
    """Arrays [samples, length] by the role names of BERT inputs."""
    if str(path).endswith(".npz"):
        with np.load(path) as file:
            return {name: file[name][:samples] for name in file.files}
    from tokenizers import Tokenizer

    from qa_eval import Windows, read_squad

    windows = Windows(Tokenizer.from_file(tokenizer), length)
    rows = {"input_ids": [], "attention_mask": [], "token_type_ids": []}
    for _, question, context, _ in read_squad(path, samples):
        ids, types, *_ = next(windows.encode(question, context))
        fill = [0] * (length - len(ids))
        for name, row in (
            ("input_ids", ids + fill),
            ("attention_mask", [1] * len(ids) + fill),
            ("token_type_ids", types + fill),
        ):
            rows[name].append(row)
    return {name: np.array(v, np.int64) for name, v in rows.items()}


class Reader(q.CalibrationDataReader):
    """Feeds the rows of calibration arrays to the inputs of a model, which may go by the names of other exporters."""

    OTHER = {"input_mask": "attention_mask", "segment_ids": "token_type_ids"}

    def __init__(self, model_path, arrays, trim):
        self.arrays, self.trim, self.next_row = arrays, trim, 0
        model = onnx.load(model_path, load_external_data=False)
        weights = {t.name for t in model.graph.initializer}
        self.inputs = []
        for i in model.graph.input:
            if i.name not in weights:
                base = i.name.split(":")[0]
                name = next((n for n in (i.name, base, self.OTHER.get(base)) if n in arrays), None)
                if name is None:
                    raise SystemExit(f"no calibration data for input {i.name!r}; there is {', '.join(arrays)}")
                self.inputs.append((i.name, name, onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)))

    def get_next(self):
        row, self.next_row = self.next_row, self.next_row + 1
        first = next(iter(self.arrays.values()))
        if row >= len(first):
            return None
        end = int(self.arrays["attention_mask"][row].sum()) if self.trim else first.shape[1]
        return {
            model_name: self.arrays[name][row : row + 1, :end].astype(dtype) for model_name, name, dtype in self.inputs
        }

    def rewind(self):
        self.next_row = 0


def quantize(args):
    exclude = (
        [line.strip() for line in Path(args.exclude).read_text().splitlines() if line.strip()] if args.exclude else []
    )
    common = {
        "op_types_to_quantize": args.operators.split(",") if args.operators else None,
        "nodes_to_exclude": exclude,
        "per_channel": args.per_channel,
        "reduce_range": args.reduce_range,
        "weight_type": TYPES[args.weight],
    }
    extra = {}
    if args.const_b_only is not None:
        extra["MatMulConstBOnly"] = args.const_b_only == "yes"
    if args.symmetric:
        extra["ActivationSymmetric"] = True
    if args.moving_average is not None:
        extra |= {"CalibMovingAverage": True, "CalibMovingAverageConstant": args.moving_average}
    source = args.input
    with tempfile.TemporaryDirectory() as scratch:
        if args.preprocess:
            source = str(Path(scratch) / "prepared.onnx")
            q.quant_pre_process(args.input, source, skip_symbolic_shape=True)
        if args.approach == "dynamic":
            q.quantize_dynamic(source, args.output, extra_options=extra, **common)
        else:
            arrays = calibration_arrays(args.calibration, args.tokenizer, args.samples, args.length)
            form = {"qdq": q.QuantFormat.QDQ, "qoperator": q.QuantFormat.QOperator}[args.format]
            q.quantize_static(
                source,
                args.output,
                Reader(source, arrays, args.trim),
                quant_format=form,
                activation_type=TYPES[args.activation],
                calibrate_method=q.CalibrationMethod.MinMax,
                extra_options=extra,
                **common,
            )


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("input")
    ap.add_argument("output")
    ap.add_argument("--approach", choices=("dynamic", "static"), required=True)
    ap.add_argument("--operators", help="node types, with commas; default: all that the tool knows")
    ap.add_argument("--exclude", metavar="FILE", help="names of nodes to leave alone, one a line")
    ap.add_argument("--per-channel", action="store_true")
    ap.add_argument("--reduce-range", action="store_true")
    ap.add_argument("--symmetric", action="store_true", help="symmetric activations")
    ap.add_argument(
        "--activation", choices=TYPES, default="uint8", help="static only; dynamic activations are always uint8"
    )
    ap.add_argument("--weight", choices=TYPES, default="int8")
    ap.add_argument("--format", choices=("qdq", "qoperator"), default="qdq")
    ap.add_argument(
        "--const-b-only",
        choices=("yes", "no"),
        help="quantize only MatMul with a constant B; default: the tool's (dynamic yes, static no)",
    )
    ap.add_argument(
        "--moving-average", type=float, metavar="C", help="moving average of minima and maxima with this constant"
    )
    ap.add_argument("--calibration", metavar="FILE", help=".npz or SQuAD .json")
    ap.add_argument("--samples", type=int, help="calibration rows to use")
    ap.add_argument("--tokenizer", help="tokenizer.json for a .json calibration file")
    ap.add_argument("--length", type=int, default=384)
    ap.add_argument("--trim", action="store_true")
    ap.add_argument(
        "--preprocess", action="store_true", help="ONNX Runtime's own graph optimisation and shape inference first"
    )
    args = ap.parse_args()
    if args.approach == "static" and not args.calibration:
        ap.error("--approach static needs --calibration")
    opset = next(
        o.version for o in onnx.load(args.input, load_external_data=False).opset_import if o.domain in ("", "ai.onnx")
    )
    if args.approach == "static" and args.per_channel and opset < 13:
        ap.error(f"{args.input} is of opset {opset}; QuantizeLinear has an axis since 13 (export_onnx.py --opset 13)")
    logging.disable(logging.WARNING)
    quantize(args)
    onnxruntime.InferenceSession(
        args.output, providers=["CPUExecutionProvider"]
    )  # a file that does not load is no oracle
    count = lambda path: dict(sorted(collections.Counter(n.op_type for n in onnx.load(path).graph.node).items()))
    print(
        json.dumps(
            {"before": count(args.input), "after": count(args.output), "bytes": Path(args.output).stat().st_size}
        )
    )


if __name__ == "__main__":
    main()
