#!/usr/bin/env python3
"""F1 of the eight configurations of the example, quantized by assay and by ONNX Runtime's own tool with the same settings,
calibration data and excluded nodes; each file answered by its maker's engine, and with --cross by the other's as well.

  compare_quantizers.py --assay build/release/assay --data ../shared/data/squad/xquad-en.json --work out/compare [--cross]

Prints a row per configuration as it is done; a file that equals one already answered (dynamic quantization has no Add and
excludes nothing that is a MatMul) is answered once.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXCLUDED = "layernorm,gelu,residual,gather,softmax"


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--assay", required=True)
    ap.add_argument("--model", default="models/minilm-l6-squad")
    ap.add_argument("--data", required=True)
    ap.add_argument("--calibration", default="examples/data/calibration.json")
    ap.add_argument("--samples", type=int, default=100)
    ap.add_argument("--activation", default="uint8")
    ap.add_argument("--work", type=Path, required=True)
    ap.add_argument("--cross", action="store_true")
    args = ap.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    tokenizer = Path(args.model) / "tokenizer.json"
    source = args.work / "float.onnx"
    run(args.assay, "convert", args.model, "-o", source)
    answered = {}

    def f1(engine, file):
        key = engine, hashlib.sha256(file.read_bytes()).hexdigest()
        if key not in answered:
            if engine == "assay":
                text = run(args.assay, "eval", file, "--task", "question-answering", "--data", args.data, "--batch", 1,
                           "--tokenizer", tokenizer, "--json", "-")
                answered[key] = json.loads(text)["metrics"]["f1"]
            else:
                text = run(sys.executable, HERE / "qa_eval.py", file, args.data, "--tokenizer", tokenizer)
                answered[key] = json.loads(text)["f1"]
        return answered[key]

    rows = []
    for approach in ("dynamic", "static"):
        for operators in ("Add", "Add,MatMul"):
            for exclude in ("", EXCLUDED):
                name = f"{approach}-{operators.replace(',', '')}{'-excluded' if exclude else ''}"
                ours, theirs = args.work / f"{name}.onnx", args.work / f"{name}-ort.onnx"
                names = args.work / f"{name}.txt"
                static = approach == "static"
                calibration = ["--calibration-data", args.calibration, "--calibration-samples", args.samples,
                               "--activation", args.activation]
                plan = json.loads(run(args.assay, "quantize", source, "-o", ours, "--approach", approach, "--operators",
                                      operators, *(["--exclude", exclude] if exclude else []), "--per-channel",
                                      *(["--task", "question-answering", "--tokenizer", tokenizer, *calibration] if static else []),
                                      "--json", "-"))["plan"]
                names.write_text("\n".join(n["node"] for n in plan["nodes"] if (n.get("reason") or "").startswith("excluded")))
                run(sys.executable, HERE / "ort_quantize.py", source, theirs, "--approach", approach, "--operators", operators,
                    "--exclude", names, "--per-channel",
                    *(["--calibration", args.calibration, "--tokenizer", tokenizer, "--samples", args.samples, "--trim",
                       "--activation", args.activation] if static else []))
                row = {"configuration": name, "assay": f1("assay", ours), "onnxruntime": f1("onnxruntime", theirs)}
                if args.cross:
                    row |= {"assay file in onnxruntime": f1("onnxruntime", ours), "onnxruntime file in assay": f1("assay", theirs)}
                print(json.dumps(row), flush=True)
                rows.append(row)
    worst = min(rows, key=lambda r: r["assay"] - r["onnxruntime"])
    print(f"least ahead of ONNX Runtime's tool: {worst['configuration']}, {worst['assay'] - worst['onnxruntime']:+.2f} F1")


if __name__ == "__main__":
    main()
