#!/usr/bin/env python3
"""The command line as scripts rely on it: forms, JSON, exit statuses, messages, no partial files.

cli_test.py BINARY SOURCE_DIR    (run with the project's Python environment)
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BINARY, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
MODEL = "models/minilm-l6-squad"
TOKENIZER = f"{MODEL}/tokenizer.json"
QUESTIONS = "examples/data/questions.json"


def assay(*words, code=0, env=None):
    done = subprocess.run([BINARY, *map(str, words)], cwd=SOURCE, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, wanted {code}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


class Cli(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.tmp = Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def test_every_command_has_help_with_an_example(self):
        top = assay("--help").stdout
        for command in ["run", "quantize", "eval", "bench", "inspect", "convert", "report", "list", "completion"]:
            self.assertIn(command, top)
            self.assertIn("Example", assay(command, "--help").stdout)

    def test_convert_quantize_eval_bench(self):
        onnx, int8, static = self.tmp / "m.onnx", self.tmp / "int8.onnx", self.tmp / "static.onnx"
        assay("convert", MODEL, "-o", onnx)
        assay("quantize", onnx, "-o", int8, "--approach", "dynamic", "--operators", "MatMul")
        self.assertLess(int8.stat().st_size, 0.7 * onnx.stat().st_size)
        assay("quantize", onnx, "-o", static, "--approach", "static", "--operators", "MatMul", "--exclude", "layernorm,gelu", "--per-channel",
              "--activation", "uint8", "--calibration-data", "examples/data/calibration.json", "--calibration-samples", 4, "--tokenizer", TOKENIZER)
        for model in (onnx, int8, static):
            # Written files carry their tokenizer: no folder beside them is needed.
            result = json.loads(assay("eval", model, "--task", "question-answering", "--data", QUESTIONS, "--max-samples", 6, "--json", "-").stdout)
            self.assertEqual(result["samples"], 6)
            self.assertGreater(result["samples_per_s"], 0)
            self.assertEqual(set(result["metrics"]), {"exact_match", "f1"})
        result = json.loads(assay("bench", int8, "--batch", "1,2", "--length", "8,16", "--duration", "0.05", "--warmup", "1", "--threads", "1", "--json", "-").stdout)
        self.assertEqual([(t["batch_size"], t["input_length"]) for t in result["time"]], [(1, 8), (1, 16), (2, 8), (2, 16)])
        for t in result["time"]:
            self.assertGreater(t["latency_mean"], 0)
            self.assertAlmostEqual(t["samples_per_s"], t["throughput"] * t["batch_size"], places=3)
            self.assertIn("latency_50", t)
            self.assertIsNone(t["latency_999"])  # never enough passes for it here

    def test_the_same_file_gives_the_same_bytes(self):
        for name in ("a.onnx", "b.onnx"):
            assay("quantize", MODEL, "-o", self.tmp / name)
        self.assertEqual((self.tmp / "a.onnx").read_bytes(), (self.tmp / "b.onnx").read_bytes())

    def test_inspect_says_what_becomes_of_every_node(self):
        result = json.loads(assay("inspect", MODEL, "--approach", "dynamic", "--operators", "Add", "--json", "-").stdout)
        text = json.dumps(result["plan"])
        self.assertIn("no integer form", text)
        self.assertEqual(len(result["plan"]["nodes"]), sum(result["operators"].values()))
        self.assertTrue(any(f["matched"] and f["pass"] == "attention" for f in result["fusions"]))

    def test_errors_name_what_is_wrong_and_leave_nothing_behind(self):
        out = self.tmp / "out.onnx"
        cases = [
            (["convert", "no/such/model", "-o", out], 5, "no/such/model"),
            (["convert", "README.md", "-o", out], None, "README.md"),
            (["quantize", MODEL, "-o", out, "--approach", "static"], 2, "--calibration-data"),
            (["quantize", MODEL, "-o", out, "--exclude", "no-such-node"], None, ""),
            (["quantize", MODEL, "-o", out, "--approach", "sideways"], 2, "sideways"),
            (["eval", MODEL, "--task", "question-anwering", "--data", QUESTIONS], 2, "question-answering"),
            (["eval", MODEL, "--task", "question-answering", "--data", "missing.json"], 5, "missing.json"),
            (["bench", MODEL, "--isa", "avx9"], 2, "avx9"),
            (["bench", MODEL, "--threads", "0"], 2, "threads"),
            (["bench", MODEL, "--length", "600", "--duration", "0"], 2, ""),
            (["nonsense"], 2, ""),
        ]
        for words, code, said in cases:
            done = subprocess.run([BINARY, *map(str, words)], cwd=SOURCE, capture_output=True, text=True)
            if code is not None:
                self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertIn(said, done.stderr + done.stdout, words)
            self.assertGreaterEqual(done.returncode, 0, words)
        self.assertEqual([p.name for p in self.tmp.iterdir() if p.name != "out.onnx"], [])

    def test_a_forced_level_is_used_and_reported(self):
        words = ["bench", MODEL, "--batch", "1", "--length", "4", "--duration", "0", "--warmup", "0", "--json", "-"]
        self.assertEqual(json.loads(assay(*words, env={"ASSAY_ISA": "scalar"}).stdout)["isa"], "scalar")
        self.assertEqual(json.loads(assay(*words, "--isa", "scalar").stdout)["isa"], "scalar")

    def small_run(self, **fields):
        lines = {"model_name_or_path": MODEL, "task": "question-answering", "metrics": "[exact_match, f1]", "max_eval_samples": 4,
                 "dataset": "{path: examples/data, eval_split: questions.json, calibration_split: 'calibration.json[:4]', data_keys: {question: question, context: context}, ref_keys: [answers]}",
                 "calibration": "{method: minmax, num_calibration_samples: 4}", "batch_sizes": "[1, 2]", "input_lengths": "[8]",
                 "time_benchmark_args": "{duration: 0.02, warmup_runs: 1}", "operators_to_quantize": "[MatMul]",
                 "sweep": "{quantization_approach: [dynamic, static], node_exclusion: [[], [gelu]]}"}
        lines.update(fields)
        path = self.tmp / "run.yaml"
        path.write_text("".join(f"{k}: {v}\n" for k, v in lines.items() if v is not None))
        return path

    def test_a_run_writes_three_reports_that_agree_and_fit_the_schema(self):
        out = self.tmp / "out"
        assay("run", self.small_run(), "-o", out)
        results = json.loads((out / "results.json").read_text())
        import jsonschema
        jsonschema.validate(results, json.loads((SOURCE / "docs/schema/results.schema.json").read_text()))
        self.assertEqual(len(results["runs"]), 4)
        markdown, html = (out / "report.md").read_text(), (out / "report.html").read_text()
        for run in results["runs"]:
            f1 = f"{run['evaluation']['others']['optimized']['f1']:.3f}"
            self.assertIn(f1, markdown)
            self.assertIn(f1, html)
        self.assertNotIn("src=\"http", html)

    def test_a_failing_cell_is_reported_and_the_others_go_on(self):
        out = self.tmp / "out"
        path = self.small_run(sweep="{node_exclusion: [[], [gelu], [softmax]]}", quantization_approach="dynamic")
        (out / "models" / "002-gelu.onnx" / "in the way").mkdir(parents=True)
        done = assay("run", path, "-o", out, code=1)
        self.assertIn("failed", done.stderr)
        runs = json.loads((out / "results.json").read_text())["runs"]
        self.assertEqual([r["status"] for r in runs], ["ok", "failed", "ok"])
        self.assertIn("002-gelu.onnx", runs[1]["reason"])

    def test_settings_that_come_to_the_same_file_are_answered_once(self):
        out = self.tmp / "out"
        assay("run", self.small_run(sweep="{node_exclusion: [[], [gelu]]}", quantization_approach="dynamic"), "-o", out)
        first, second = json.loads((out / "results.json").read_text())["runs"]
        self.assertIn("the same file as 001", " ".join(second["notes"]))
        self.assertEqual(first["evaluation"]["others"], second["evaluation"]["others"])
        self.assertNotEqual(first["evaluation"]["time"], second["evaluation"]["time"])

    def test_a_name_that_is_no_operator_is_refused(self):
        self.assertIn("did you mean 'MatMul'", assay("quantize", MODEL, "-o", self.tmp / "x.onnx", "--operators", "Matmul", code=2).stderr)

    def test_an_interrupted_run_resumes(self):
        out = self.tmp / "out"
        path = self.small_run(time_benchmark_args="{duration: 0.5, warmup_runs: 1}")
        process = subprocess.Popen([BINARY, "run", path, "-o", out], cwd=SOURCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.time() + 120
        while time.time() < deadline and len(list((out / "cells").glob("*.json")) if (out / "cells").exists() else []) < 1:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        finished = {p.name: p.stat().st_mtime_ns for p in (out / "cells").glob("*.json")}
        self.assertTrue(1 <= len(finished) < 4, finished)
        assay("run", path, "-o", out, "--resume")
        self.assertEqual(len(list((out / "cells").glob("*.json"))), 4)
        for name, at in finished.items():
            self.assertEqual((out / "cells" / name).stat().st_mtime_ns, at, "a finished cell ran again")
        self.assertEqual({r["status"] for r in json.loads((out / "results.json").read_text())["runs"]}, {"ok"})
        self.assertFalse([p for p in out.rglob("*.partial")])

    def test_a_wrong_run_file_is_refused_before_any_work(self):
        path = self.small_run(batch_size="[1]")
        done = assay("run", path, "-o", self.tmp / "out", code=2)
        self.assertIn("did you mean 'batch_sizes'", done.stderr)
        self.assertFalse((self.tmp / "out").exists())

    def test_check_reads_model_and_data_too(self):
        for field, value, named in [("metrics", "[exactmatch]", "did you mean 'exact_match'"), ("input_lengths", "[600]", "512 positions"),
                                    ("model_name_or_path", "models/none", "models/none")]:
            done = subprocess.run([BINARY, "run", "--check", self.small_run(**{field: value})], cwd=SOURCE, capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0, field)
            self.assertIn(named, done.stderr)

    def test_two_runs_do_not_share_a_folder(self):
        out = self.tmp / "out"
        first = subprocess.Popen([BINARY, "run", self.small_run(), "-o", out], cwd=SOURCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (out / "cells").exists() and not (out / ".lock").exists():
            time.sleep(0.05)
        time.sleep(0.2)
        self.assertIn("another run is writing", assay("run", self.small_run(), "-o", out, code=2).stderr)
        first.send_signal(signal.SIGINT)
        self.assertEqual(first.wait(60), 130)

    def test_a_calibration_cache_is_of_its_data(self):
        cache = self.tmp / "ranges.json"

        def quantize(name, rows, *more):
            words = ["quantize", MODEL, "-o", self.tmp / name, "--approach", "static", "--operators", "MatMul", "--calibration-cache", cache]
            return assay(*words, "--calibration-data", "examples/data/calibration.json", "--calibration-samples", rows, *more).stderr
        quantize("a.onnx", 2)
        self.assertIn("ranges taken from", quantize("b.onnx", 2))
        self.assertEqual((self.tmp / "a.onnx").read_bytes(), (self.tmp / "b.onnx").read_bytes())
        self.assertIn("calibrating again", quantize("c.onnx", 3))
        self.assertIn("calibrating again", quantize("d.onnx", 3, "--calibration-moving-average"))

    def test_wrong_arguments_are_one_line_with_the_nearest_name(self):
        for words, named in [(("evall", "x"), "did you mean 'eval'"), (("eval", MODEL, "--daat", "x"), "did you mean '--data'"),
                             (("bench", MODEL, "--batch", "1,x"), "--batch"), (("quantize", MODEL), "--output"), ((), "subcommand")]:
            stderr = assay(*words, code=2).stderr
            self.assertIn(named, stderr)
            self.assertTrue(stderr.startswith("assay: InvalidArgument: ") and stderr.count("\n") == 1, stderr)

    def test_a_folder_is_no_output_and_nothing_quantized_is_said(self):
        self.assertIn("is a folder", assay("quantize", MODEL, "-o", self.tmp, code=2).stderr)
        weights = self.tmp / "folder"
        shutil.copytree(SOURCE / MODEL, weights)
        self.assertIn("overwrite the weights", assay("convert", weights, "-o", weights / "model.safetensors", code=2).stderr)
        self.assertEqual((weights / "model.safetensors").read_bytes(), (SOURCE / MODEL / "model.safetensors").read_bytes())
        self.assertIn("no node was quantized", assay("quantize", MODEL, "-o", self.tmp / "n.onnx", "--operators", "Conv").stderr)

    def test_reports_can_be_written_again_and_compared(self):
        out = self.tmp / "out"
        assay("run", self.small_run(sweep="{node_exclusion: [[], [gelu]]}", quantization_approach="dynamic"), "-o", out)
        before = (out / "report.md").read_text()
        (out / "report.md").unlink()
        assay("report", out)
        self.assertEqual((out / "report.md").read_text(), before)
        self.assertIn("f1", assay("report", out, out).stdout)

    def test_completion_knows_every_option(self):
        script = assay("completion", "bash").stdout
        for word in ["quantize", "--calibration-samples", "--per-channel", "--resume"]:
            self.assertIn(word, script)
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
