#!/usr/bin/env python3
"""Tests of the referees: metrics on cases worked by hand, windows, chunks, weights, every ONNX spelling, the quantizer's command."""

import json
import math
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from safetensors.numpy import save_file
from tokenizers import Tokenizer

import bert_numpy
import classify_eval
import qa_eval
from export_onnx import export, sample, tiny, verify
from onnx_spelling import STYLES
from squad_metric import f1, normalise, squad_metrics

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Metrics(unittest.TestCase):
    def test_normalise(self):
        self.assertEqual(normalise("  The Cat's,  an  U.S. a-b "), "cats us ab")
        self.assertEqual(normalise("Another theatre"), "another theatre")

    def test_f1_counts_repeated_words(self):
        self.assertAlmostEqual(f1("red red blue", "red blue blue"), 2 / 3)
        self.assertEqual(f1("x", "y"), 0.0)

    def test_best_reference_and_missing_prediction(self):
        got = squad_metrics({"1": "in 1904"}, {"1": ["1904", "in 1904."], "2": ["never"]})
        self.assertEqual((got["exact_match"], got["f1"], got["samples"]), (50.0, 50.0, 2))

    def test_chunks(self):
        self.assertEqual(classify_eval.chunks("B-x I-x O I-y I-y B-y".split()), {("x", 0, 1), ("y", 3, 4), ("y", 5, 5)})
        self.assertEqual(classify_eval.chunks("B-x I-y I-y".split()), {("x", 0, 0), ("y", 1, 2)})

    def test_entity_metrics(self):
        got = classify_eval.entity_metrics([["B-x", "I-x", "O", "B-y"]], [["B-x", "I-x", "O", "B-x"]])
        self.assertEqual((got["precision"], got["recall"], got["f1"], got["accuracy"]), (0.5, 0.5, 0.5, 0.75))


class Windows(unittest.TestCase):
    def setUp(self):
        self.tok = Tokenizer.from_file(str(ROOT / "models/minilm-l6-squad/tokenizer.json"))

    def test_long_passage(self):
        context = " ".join(f"word{i}" for i in range(400))
        count = len(self.tok.encode(context, add_special_tokens=False).ids)
        windows = list(qa_eval.Windows(self.tok).encode("Where is it?", context))
        self.assertGreater(len(windows), 3)
        owned = []
        for ids, types, first, offsets, best in windows:
            self.assertLessEqual(len(ids), 384)
            self.assertEqual((len(types), types[first - 1], types[first], ids[-1]), (len(ids), 0, 1, 102))
            owned += [o for o, b in zip(offsets, best) if b]
        self.assertEqual(len(owned), count)  # every token has exactly one window that owns it
        self.assertEqual(len(set(owned)), count)

    def test_question_is_cut(self):
        (ids, _, first, _, _), *rest = qa_eval.Windows(self.tok).encode("why " * 200, "Because it is short.")
        self.assertEqual((first, len(rest)), (66, 0))

    def test_best_span(self):
        logits = np.full((6, 2), -5.0, np.float32)
        logits[0], logits[2, 0], logits[4, 1], logits[1, 1] = (
            9.0,
            3.0,
            2.0,
            8.0,
        )  # [CLS] is no answer, an end before the start neither
        offsets = [(0, 3), (4, 7), (8, 11), (12, 15)]
        self.assertEqual(qa_eval.best_span(logits, 1, offsets, [True] * 4), (5.0, 4, 15))
        self.assertIsNone(qa_eval.best_span(logits, 1, [], []))


class Forward(unittest.TestCase):
    def test_erf(self):
        x = np.linspace(-6.5, 6.5, 20001).astype(np.float32)
        self.assertLess(np.abs(bert_numpy.erf(x) - np.array([math.erf(v) for v in x])).max(), 1e-7)

    def test_folder_types_and_shards(self):
        bert = tiny()
        names = sorted(bert.weights)
        ids, mask, types = sample(bert)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "config.json").write_text(json.dumps(bert.config))
            parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
            for file, part in parts.items():
                save_file({n: bert.weights[n].astype(ml_dtypes.bfloat16) for n in part}, folder / file)
            index = {"weight_map": {n: f for f, part in parts.items() for n in part}}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index))
            got = bert_numpy.Bert(folder)(ids, mask, types)
        rounded = {n: w.astype(ml_dtypes.bfloat16).astype(np.float32) for n, w in bert.weights.items()}
        np.testing.assert_array_equal(got, bert_numpy.Bert(config=bert.config, weights=rounded)(ids, mask, types))

    def test_padding_changes_nothing(self):
        bert = tiny("roberta", "TokenClassification")
        ids, mask, types = sample(bert)
        together = bert(ids, mask, types)
        for row in range(len(ids)):
            n = int(mask[row].sum())
            np.testing.assert_allclose(bert(ids[row : row + 1, :n])[0], together[row, :n], atol=2e-6)


class Spellings(unittest.TestCase):
    def check(self, style, bert):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(export(bert, style), path)
            return verify(path, bert)

    def test_styles_and_families(self):
        for name, style in STYLES.items():
            for family in ("bert", "distilbert", "roberta") if style.opset >= 11 else ("bert", "distilbert"):
                for head in ("QuestionAnswering", "SequenceClassification", "TokenClassification"):
                    act = "gelu_new" if style.gelu.startswith("tanh") else "gelu"
                    with self.subTest(style=name, family=family, head=head):
                        self.assertLess(self.check(style, tiny(family, head, act=act)), 1e-5)

    def test_roberta_needs_cumsum(self):
        with self.assertRaisesRegex(ValueError, "opset 11"):
            export(tiny("roberta"), STYLES["torch-1.3"])

    def test_a_wrong_spelling_is_noticed(self):
        self.assertGreater(self.check(replace(STYLES["hf"], scale="none"), tiny()), 1e-3)
        self.assertGreater(self.check(replace(STYLES["hf"], gelu="tanh"), tiny()), 1e-5)


class Quantizer(unittest.TestCase):
    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            bert = tiny(hidden=32, ffn=64)
            onnx.save(export(bert, replace(STYLES["hf"], opset=13)), folder / "in.onnx")
            ids, mask, types = sample(bert, 4, 9)
            np.savez(folder / "c.npz", input_ids=ids, attention_mask=mask, token_type_ids=types)
            run = lambda *args: json.loads(
                subprocess.run(
                    [sys.executable, HERE / "ort_quantize.py", folder / "in.onnx", folder / "out.onnx", *args],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout.splitlines()[-1]
            )
            self.assertEqual(run("--approach", "dynamic", "--operators", "MatMul")["after"]["MatMulInteger"], 13)
            calibrated = ("--calibration", folder / "c.npz", "--trim")
            after = run("--approach", "static", "--operators", "MatMul", "--per-channel", *calibrated)["after"]
            self.assertGreater(after["QuantizeLinear"], 10)
            product = next(n.name for n in onnx.load(folder / "in.onnx").graph.node if n.op_type == "MatMul")
            (folder / "names").write_text(product + "\n")
            less = run("--approach", "static", "--operators", "MatMul", "--exclude", folder / "names", *calibrated)[
                "after"
            ]
            self.assertLess(less["DequantizeLinear"], after["DequantizeLinear"])


if __name__ == "__main__":
    unittest.main()
