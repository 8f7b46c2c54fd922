#!/usr/bin/env python3
"""Referee for text and token classification of a model folder (NumPy) or an .onnx file (ONNX Runtime).

  classify_eval.py MODEL dev.tsv             sentence<TAB>label lines: accuracy
  classify_eval.py MODEL emerging.dev.conll  word<TAB>label lines, blank line between sentences: entity precision, recall, F1

The head is told by the data file's ending (.conll: tokens). A word with several labels ("B-corporation,B-person") counts as the first.
Words are cut at 128 pieces; a word's label is that of its first piece; words beyond the cut are "O". Chunks follow conlleval: one begins
at B-, or at I- after O or after another type.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bert_numpy import open_model


def chunks(labels):
    """Set of (type, first, last) by conlleval's rules, for BIO and IOB2 labels."""
    found, start, kind = set(), None, None
    for i, label in enumerate([*labels, "O"]):
        tag, _, name = label.partition("-")
        begins = tag == "B" or (tag == "I" and (kind is None or name != kind))
        if kind is not None and (begins or tag == "O"):
            found.add((kind, start, i - 1))
            kind = None
        if begins:
            start, kind = i, name
    return found


def entity_metrics(gold, predicted):
    """Micro precision, recall and F1 over chunks, accuracy over words, of lists of label lists."""
    right = guessed = real = same = words = 0
    for g, p in zip(gold, predicted, strict=True):
        a, b = chunks(g), chunks(p)
        right, guessed, real = right + len(a & b), guessed + len(b), real + len(a)
        same, words = same + sum(x == y for x, y in zip(g, p, strict=True)), words + len(g)
    precision, recall = right / guessed if guessed else 0.0, right / real if real else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "accuracy": same / words if words else 0.0}


def read_conll(path):
    """Lists of (words, labels); blank or white lines end a sentence."""
    sentences, words, labels = [], [], []
    for line in [*Path(path).read_text(encoding="utf-8").split("\n"), ""]:
        if line.strip():
            word, label = line.rstrip("\r").split("\t")[:2]
            words.append(word)
            labels.append(label.split(",")[0])
        elif words:
            sentences.append((words, labels))
            words, labels = [], []
    return sentences


def forward(model, e):
    row = lambda v: np.array([v], np.int64)
    return model(row(e.ids), row(e.attention_mask), row(e.type_ids))[0]


def evaluate_tokens(model, tokenizer, names, path, max_samples):
    tokenizer.enable_truncation(128)
    gold, predicted = [], []
    for words, labels in read_conll(path)[:max_samples]:
        e = tokenizer.encode(words, is_pretokenized=True)
        best = forward(model, e).argmax(axis=-1)
        out = ["O"] * len(words)
        for i in reversed(range(len(e.ids))):  # the first piece of a word is written last
            if e.word_ids[i] is not None:
                out[e.word_ids[i]] = names[int(best[i])]
        gold.append(labels)
        predicted.append(out)
    return {**entity_metrics(gold, predicted), "samples": len(gold)}, predicted


def evaluate_text(model, tokenizer, names, path, max_samples):
    rows = [line.rsplit("\t", 1) for line in Path(path).read_text(encoding="utf-8").split("\n") if line.strip()][
        :max_samples
    ]
    tokenizer.enable_truncation(512)
    predicted = [int(forward(model, tokenizer.encode(text)).argmax()) for text, _ in rows]
    gold = [int(label) if label.strip().isdigit() else names.index(label.strip()) for _, label in rows]
    right = sum(p == g for p, g in zip(predicted, gold, strict=True))
    return {"accuracy": right / len(rows), "samples": len(rows)}, [names[p] for p in predicted]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", help="model folder or .onnx file")
    ap.add_argument("data", help=".tsv or .conll")
    ap.add_argument("--folder", help="where tokenizer.json and config.json are; default: the model folder")
    ap.add_argument("--max-samples", type=int)
    ap.add_argument("--predictions", help="write the predicted labels here, a JSON list")
    args = ap.parse_args()
    path = Path(args.model)
    folder = Path(args.folder) if args.folder else (path if path.is_dir() else path.parent)
    labels = json.loads((folder / "config.json").read_text())["id2label"]
    names = [labels[str(i)] for i in range(len(labels))]
    task = evaluate_tokens if args.data.endswith(".conll") else evaluate_text
    metrics, predicted = task(
        open_model(path), Tokenizer.from_file(str(folder / "tokenizer.json")), names, args.data, args.max_samples
    )
    if args.predictions:
        Path(args.predictions).write_text(json.dumps(predicted))
    print(json.dumps(metrics))


if __name__ == "__main__":
    main()
