"""Float32 NumPy forward pass of BERT, DistilBERT and RoBERTa with question-answering, sequence- and token-classification heads.

Reads a Hugging Face folder (config.json and model.safetensors, single or sharded, fp32/fp16/bf16). Written as a referee: plain
formulas, no fusion, nothing shared with the library under test. As a script it prints the logits of one text or pair:

  bert_numpy.py MODEL_DIR "first text" ["second text"]
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import ml_dtypes  # noqa: F401  gives NumPy the bfloat16 type that safetensors may need

HEADS = {"QuestionAnswering": "qa", "SequenceClassification": "sequence", "TokenClassification": "token"}


def load_weights(folder):
    """All tensors of a model folder as float32, by name."""
    from safetensors.numpy import load_file

    folder = Path(folder)
    index = folder / "model.safetensors.index.json"
    files = (
        sorted(set(json.loads(index.read_text())["weight_map"].values())) if index.exists() else ["model.safetensors"]
    )
    weights = {}
    for file in files:
        weights.update({name: np.asarray(value, np.float32) for name, value in load_file(folder / file).items()})
    return weights


def erf(x):
    """Error function in float32: a table of knots 2^-10 apart and a third-order Taylor step from the nearest, error below 1e-12."""
    x64 = np.clip(x.astype(np.float64), -6.0, 6.0)
    knot = np.rint(x64 * 1024.0).astype(np.int64)
    a = knot / 1024.0
    d = x64 - a
    slope = 2.0 / math.sqrt(math.pi) * np.exp(-a * a)
    return (_ERF[knot + 6144] + slope * d * (1.0 - a * d + (2.0 * a * a - 1.0) * d * d / 3.0)).astype(np.float32)


_ERF = np.array([math.erf(i / 1024.0) for i in range(-6144, 6145)])

ACTIVATIONS = {
    "gelu": lambda x: x * np.float32(0.5) * (np.float32(1) + erf(x * np.float32(1 / math.sqrt(2)))),
    "gelu_new": lambda x: np.float32(0.5)
    * x
    * (np.float32(1) + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3))),
    "relu": lambda x: np.maximum(x, 0),
}
ACTIVATIONS["gelu_pytorch_tanh"] = ACTIVATIONS["gelu_fast"] = ACTIVATIONS["gelu_new"]


def softmax(x):
    """Softmax over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Bert:
    """A model folder (or a config and weights already in memory) with a forward pass."""

    def __init__(self, folder=None, config=None, weights=None):
        self.config = config or json.loads((Path(folder) / "config.json").read_text())
        self.weights = weights or load_weights(folder)
        c = self.config
        self.type = c["model_type"]
        if self.type not in ("bert", "distilbert", "roberta"):
            raise ValueError(f"model_type {self.type!r} is none of bert, distilbert, roberta")
        self.head = next(h for suffix, h in HEADS.items() if c["architectures"][0].endswith(suffix))
        distil = self.type == "distilbert"
        self.layers = c["n_layers" if distil else "num_hidden_layers"]
        self.hidden = c["dim" if distil else "hidden_size"]
        self.heads = c["n_heads" if distil else "num_attention_heads"]
        self.act = ACTIVATIONS[c["activation" if distil else "hidden_act"]]
        self.eps = np.float32(1e-12 if distil else c["layer_norm_eps"])

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        mean = x.mean(axis=-1, keepdims=True, dtype=np.float32)
        var = np.square(x - mean).mean(axis=-1, keepdims=True, dtype=np.float32)
        return (x - mean) / np.sqrt(var + self.eps) * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def embeddings(self, ids, types):
        prefix = self.type + ".embeddings."
        x = self.weights[prefix + "word_embeddings.weight"][ids]
        if (
            self.type == "roberta"
        ):  # positions start after the padding id and count only the tokens that are not padding
            pad = self.config["pad_token_id"]
            real = (ids != pad).astype(np.int64)
            positions = np.cumsum(real, axis=1) * real + pad
        else:
            positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        if self.type != "distilbert":
            x = x + self.weights[prefix + "token_type_embeddings.weight"][types]
        x = x + self.weights[prefix + "position_embeddings.weight"][positions]
        return self.norm(x, prefix + "LayerNorm")

    def names(self, i):
        """Parameter names of layer i: query, key, value, attention output, its norm, up, down, their norm."""
        if self.type == "distilbert":
            p = f"distilbert.transformer.layer.{i}."
            return [
                p + n
                for n in (
                    "attention.q_lin",
                    "attention.k_lin",
                    "attention.v_lin",
                    "attention.out_lin",
                    "sa_layer_norm",
                    "ffn.lin1",
                    "ffn.lin2",
                    "output_layer_norm",
                )
            ]
        p = f"{self.type}.encoder.layer.{i}."
        return [
            p + n
            for n in (
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
                "attention.output.dense",
                "attention.output.LayerNorm",
                "intermediate.dense",
                "output.dense",
                "output.LayerNorm",
            )
        ]

    def encode(self, ids, mask, types=None):
        """Last hidden state [batch, length, hidden] in float32 of int ids and mask [batch, length]."""
        batch, length = ids.shape
        dim = self.hidden // self.heads
        x = self.embeddings(ids, np.zeros_like(ids) if types is None else types)
        bias = np.where(mask[:, None, None, :] != 0, np.float32(0), np.finfo(np.float32).min)
        for i in range(self.layers):
            query, key, value, out, attention_norm, up, down, output_norm = self.names(i)
            q, k, v = (
                self.linear(x, n).reshape(batch, length, self.heads, dim).transpose(0, 2, 1, 3)
                for n in (query, key, value)
            )
            scores = q @ k.transpose(0, 1, 3, 2) / np.float32(math.sqrt(dim)) + bias
            context = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, length, self.hidden)
            x = self.norm(self.linear(context, out) + x, attention_norm)
            x = self.norm(self.linear(self.act(self.linear(x, up)), down) + x, output_norm)
        return x

    def __call__(self, ids, mask=None, types=None):
        """Logits: [batch, length, 2] for question answering, [batch, labels] for sequences, [batch, length, labels] for tokens."""
        ids = np.asarray(ids)
        x = self.encode(ids, np.ones_like(ids) if mask is None else np.asarray(mask), types)
        if self.head == "qa":
            return self.linear(x, "qa_outputs")
        if self.head == "token":
            return self.linear(x, "classifier")
        first = x[:, 0]
        if self.type == "bert":
            return self.linear(np.tanh(self.linear(first, "bert.pooler.dense")), "classifier")
        if self.type == "distilbert":
            return self.linear(np.maximum(self.linear(first, "pre_classifier"), 0), "classifier")
        return self.linear(np.tanh(self.linear(first, "classifier.dense")), "classifier.out_proj")


class OnnxModel:
    """The same call for an ONNX file, through ONNX Runtime on the CPU.

    Inputs are recognised by name; two outputs (start and end logits) are stacked into [batch, length, 2].
    """

    ROLES = {
        "input_ids": "ids",
        "attention_mask": "mask",
        "input_mask": "mask",
        "token_type_ids": "types",
        "segment_ids": "types",
    }

    def __init__(self, path, optimise=True, threads=0):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        # Without VNNI, ONNX Runtime's products of uint8 and int8 saturate in 16 bits; with this entry they are exact.
        options.add_session_config_entry("session.x64quantprecision", "1")
        if not optimise:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = []
        for i in self.session.get_inputs():
            name = i.name.split(":")[0]
            if name not in self.ROLES:
                raise ValueError(f"{path}: no meaning known for input {i.name!r}")
            self.inputs.append((i.name, self.ROLES[name], np.int32 if "int32" in i.type else np.int64))

    def __call__(self, ids, mask=None, types=None):
        ids = np.asarray(ids)
        values = {
            "ids": ids,
            "mask": np.ones_like(ids) if mask is None else mask,
            "types": np.zeros_like(ids) if types is None else types,
        }
        out = self.session.run(None, {name: np.asarray(values[role], dtype) for name, role, dtype in self.inputs})
        return np.stack(out, axis=-1) if len(out) == 2 and out[0].ndim == 2 else out[0]


def open_model(path, **options):
    """A callable for a model folder (NumPy) or an .onnx file (ONNX Runtime)."""
    return OnnxModel(path, **options) if str(path).endswith(".onnx") else Bert(path)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("text", nargs="+")
    args = ap.parse_args()
    from tokenizers import Tokenizer

    e = Tokenizer.from_file(str(Path(args.model) / "tokenizer.json")).encode(*args.text[:2])
    logits = Bert(args.model)(np.array([e.ids]), np.array([e.attention_mask]), np.array([e.type_ids]))
    print(json.dumps({"tokens": e.tokens, "logits": logits[0].tolist()}))


if __name__ == "__main__":
    main()
