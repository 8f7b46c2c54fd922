#!/usr/bin/env python3
"""Referee for question answering: SQuAD v1.1 exact match and F1 of a model folder (NumPy) or an .onnx file (ONNX Runtime).

  qa_eval.py models/minilm-l6-squad examples/data/questions.json
  qa_eval.py model.onnx questions.json --tokenizer models/minilm-l6-squad/tokenizer.json --predictions out.json

Question cut to 64 tokens; windows of 384 tokens whose passage part advances by 128 tokens; 20 best starts x 20 best ends, answers of
at most 30 tokens; the best sum of logits over all windows wins; the text is cut from the passage by token offsets. One window a forward
pass, not padded (unless --pad), so that a dynamically quantized file sees nothing but the sample.

Prints {"exact_match", "f1", "samples", "windows", "max_context": {"exact_match", "f1"}}. The outer figures take any start in a window, as
the models' reference.json does; the inner ones only starts that have the most context in their window, as BERT's own script and MLPerf do.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bert_numpy import open_model
from squad_metric import squad_metrics


def read_squad(path, max_samples=None):
    """(id, question, context, accepted texts) in file order."""
    out = []
    for article in json.loads(Path(path).read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                out.append((qa["id"], qa["question"], paragraph["context"], [a["text"] for a in qa["answers"]]))
    return out[:max_samples]


class Windows:
    """Splits question and passage into model inputs."""

    def __init__(self, tokenizer, length=384, stride=128, question_limit=64, roberta=False):
        self.tok, self.length, self.stride, self.question_limit, self.roberta = (
            tokenizer,
            length,
            stride,
            question_limit,
            roberta,
        )
        ends = ("<s>", "</s>") if roberta else ("[CLS]", "[SEP]")
        self.cls, self.sep = (tokenizer.token_to_id(t) for t in ends)
        self.context_cache = (None, None)

    def encode(self, question, context):
        """Yields (ids, types, first, offsets, best): passage tokens sit at first..first+len(offsets), best marks max-context tokens."""
        q = self.tok.encode(question, add_special_tokens=False).ids[: self.question_limit]
        if self.context_cache[0] != context:
            self.context_cache = (context, self.tok.encode(context, add_special_tokens=False))
        e = self.context_cache[1]
        head = [self.cls, *q, self.sep] + ([self.sep] if self.roberta else [])
        room = self.length - len(head) - 1
        spans, start = [], 0
        while True:
            n = min(room, len(e.ids) - start)
            spans.append((start, n))
            if start + n >= len(e.ids):
                break
            start += min(n, self.stride)
        for i, (start, n) in enumerate(spans):
            best = [self.owner(spans, t) == i for t in range(start, start + n)]
            types = [0] * len(head) + [0 if self.roberta else 1] * (n + 1)
            yield head + e.ids[start : start + n] + [self.sep], types, len(head), e.offsets[start : start + n], best

    @staticmethod
    def owner(spans, token):
        """The span in which the token has the most context on its poorer side (ties to the first)."""
        scores = [min(token - s, s + n - 1 - token) + 0.01 * n if s <= token < s + n else -1.0 for s, n in spans]
        return int(np.argmax(scores))


def best_span(logits, first, offsets, allowed, n_best=20, max_answer=30):
    """(score, start character, end character) of the best span of a window, or None."""
    start, end = logits[:, 0], logits[:, 1]
    top_start = np.argsort(-start, kind="stable")[:n_best]
    top_end = np.argsort(-end, kind="stable")[:n_best]
    found = None
    for s in top_start:
        for e in top_end:
            if s < first or e >= first + len(offsets) or e < s or e - s + 1 > max_answer or not allowed[s - first]:
                continue
            score = float(start[s]) + float(end[e])
            if found is None or score > found[0]:
                found = (score, offsets[s - first][0], offsets[e - first][1])
    return found


def evaluate(model, tokenizer, samples, pad=False, roberta=False, length=384, stride=128):
    """Metrics and predictions of a callable model; predictions by the outer rule of the module's text."""
    windows, count = Windows(tokenizer, length, stride, roberta=roberta), 0
    rules = {"any": {}, "max_context": {}}
    for key, question, context, _ in samples:
        winners = dict.fromkeys(rules)
        for ids, types, first, offsets, best in windows.encode(question, context):
            fill = length - len(ids) if pad else 0
            row = lambda v, p=0: np.array([v + [p] * fill], np.int64)
            logits = model(row(ids, 1 if roberta else 0), row([1] * len(ids)), row(types))[0][: len(ids)]
            count += 1
            for rule in rules:
                span = best_span(logits, first, offsets, best if rule == "max_context" else [True] * len(best))
                if span and (winners[rule] is None or span[0] > winners[rule][0]):
                    winners[rule] = span
        for rule, winner in winners.items():
            rules[rule][key] = context[winner[1] : winner[2]] if winner else ""
    accepted = {s[0]: s[3] for s in samples}
    inner = squad_metrics(rules["max_context"], accepted)
    inner.pop("samples")
    return {**squad_metrics(rules["any"], accepted), "windows": count, "max_context": inner}, rules["any"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", help="model folder or .onnx file")
    ap.add_argument("data", help="SQuAD v1.1 JSON")
    ap.add_argument("--tokenizer", help="tokenizer.json; default: beside the model")
    ap.add_argument("--max-samples", type=int)
    ap.add_argument("--length", type=int, default=384)
    ap.add_argument("--stride", type=int, default=128)
    ap.add_argument("--pad", action="store_true", help="pad every window to the full length")
    ap.add_argument("--roberta", action="store_true", help="<s> question </s></s> passage </s>")
    ap.add_argument("--no-optimise", action="store_true", help="ONNX Runtime without graph optimisations")
    ap.add_argument("--predictions", help="write id -> text here")
    args = ap.parse_args()
    path = Path(args.model)
    tokenizer = Tokenizer.from_file(args.tokenizer or str((path if path.is_dir() else path.parent) / "tokenizer.json"))
    options = {"optimise": not args.no_optimise} if path.suffix == ".onnx" else {}
    samples = read_squad(args.data, args.max_samples)
    metrics, predictions = evaluate(
        open_model(path, **options), tokenizer, samples, args.pad, args.roberta, args.length, args.stride
    )
    if args.predictions:
        Path(args.predictions).write_text(json.dumps(predictions, ensure_ascii=False, indent=1), encoding="utf-8")
    print(json.dumps(metrics))


if __name__ == "__main__":
    main()
