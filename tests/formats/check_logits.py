#!/usr/bin/env python3
"""Compares a converted model folder in ONNX Runtime with the independent NumPy forward pass.

  check_logits.py FOLDER MODEL.onnx [--tolerance 1e-4]

Batches of several lengths, with padding on the right and (where it has one) token types; real text where the folder has a
tokenizer.json. Prints the largest difference and fails beyond the tolerance.
"""
import argparse
import json
import sys
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
import bert_numpy  # noqa: E402

TEXTS = [
    ("What did the engineers replace?", "In 1931 the engineers replaced the cast-iron hinges of the lock gates with steel ones."),
    ("Who wrote the letter?", "The letter, long thought lost, was written by Ada to her brother in Zürich in the spring of 1843. " * 6),
    ("How many?", "Seventeen."),
]


def reference(folder):
    """The NumPy model of a folder, its head or its bare encoder."""
    config = json.loads((folder / "config.json").read_text())
    weights = bert_numpy.load_weights(folder)
    prefix = config["model_type"] + "."
    if not any(name.startswith(prefix) for name in weights):
        weights = {prefix + name: value for name, value in weights.items()}
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        weights = {name[: -len(old)] + new if name.endswith(old) else name: value for name, value in weights.items()}
    bare = config["architectures"][0].endswith("Model")
    if bare:
        config["architectures"] = ["XForTokenClassification"]
    model = bert_numpy.Bert(config=config, weights=weights)
    return config, (lambda ids, mask, types: model.encode(ids, mask, types)) if bare else model


def batches(folder, config):
    rng = np.random.default_rng(7)
    pad = config.get("pad_token_id", 0)
    pad = 0 if pad is None else pad
    if (folder / "tokenizer.json").exists():
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.enable_padding(pad_id=pad)
        encoded = tokenizer.encode_batch(TEXTS)
        yield tuple(np.array([getattr(e, field) for e in encoded], np.int64) for field in ("ids", "attention_mask", "type_ids"))
    most = config["max_position_embeddings"] - (pad + 1 if config["model_type"] == "roberta" else 0)
    for batch, length in ((1, 1), (2, 7), (3, min(33, most)), (1, most)):
        ids = rng.integers(pad + 1, config["vocab_size"], (batch, length))
        mask = np.ones_like(ids)
        for row in range(1, batch):
            mask[row, length - row * length // (batch + 1) :] = 0
        ids[mask == 0] = pad
        types = rng.integers(0, config.get("type_vocab_size", 1), ids.shape) if config["model_type"] == "bert" else np.zeros_like(ids)
        yield ids, mask, types


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", type=Path)
    ap.add_argument("onnx")
    ap.add_argument("--tolerance", type=float, default=1e-4)
    args = ap.parse_args()
    onnx.checker.check_model(args.onnx, full_check=True)
    config, want = reference(args.folder)
    got = bert_numpy.OnnxModel(args.onnx, threads=1)
    worst = 0.0
    count = 0
    for ids, mask, types in batches(args.folder, config):
        a, b = want(ids, mask, types), got(ids, mask, types)
        if a.shape != b.shape:
            print(f"shape {b.shape}, the reference has {a.shape}")
            return 1
        if a.shape[:2] == ids.shape:  # what stands at padding is nobody's answer
            a, b = a[mask == 1], b[mask == 1]
        worst = max(worst, float(np.abs(a - b).max()))
        count += len(ids)
    print(f"{count} sequences, largest difference {worst:.3g}")
    return 0 if worst <= args.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
