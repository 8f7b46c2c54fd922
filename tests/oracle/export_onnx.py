#!/usr/bin/env python3
"""Write a BERT, DistilBERT or RoBERTa model as ONNX in the spelling of a given exporter and year.

  export_onnx.py models/minilm-l6-squad model.onnx                        as transformers.onnx did in 2022
  export_onnx.py models/minilm-l6-squad model.onnx --style sdpa
  export_onnx.py --list
  export_onnx.py --tiny tests/data/exports                                every style as a tiny model with seeded random weights

Every file written is run by ONNX Runtime, optimised and not, and compared with the NumPy forward pass: more than 1e-4 apart is an error.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from bert_numpy import Bert, OnnxModel
from onnx_spelling import BOOL, FLOAT, INT64, STYLES, Writer


def spell_mask(b, mask):
    """The attention mask [batch, length] as the style's attention wants it: additive float, boolean, or as it is."""
    s, b.scope = b.s, b.bert.type
    if s.mask.startswith("where_distil"):
        return mask
    if s.mask == "mul_tf":  # ones [batch, length, 1] times mask [batch, 1, length], then one head axis
        wide = b.op("Cast", [b.reshape(mask, b.dim(mask, 0), 1, b.dim(mask, 1))], to=FLOAT)
        ones = b.op(
            "ConstantOfShape",
            [b.op("Concat", [b.dim(mask, 0), b.dim(mask, 1), b.ints(1)], axis=0)],
            value=onnx.numpy_helper.from_array(np.ones(1, np.float32)),
        )
        square = b.unsqueeze(b.op("Mul", [ones, wide]), 1)
        return b.op("Mul", [b.op("Sub", [b.const(1), square]), b.const(-10000)])
    if s.mask == "gather_and":  # flat index of every (batch, key), as vectorised indexing is exported
        flat = b.op("Cast", [b.op("Reshape", [mask, b.ints(-1)])], to=BOOL)
        batch, length = b.dim(mask, 0), b.dim(mask, 1)
        count = lambda n: b.op("Range", [b.const(0, np.int64), b.squeeze(n, 0), b.const(1, np.int64)])
        rows = b.op("Mul", [b.unsqueeze(count(batch), 1), length])
        index = b.op("Add", [rows, b.unsqueeze(count(length), 0)])
        picked = b.op("Gather", [flat, b.op("Reshape", [index, b.ints(-1)])], axis=0)
        keys = b.reshape(picked, batch, 1, 1, length)
        every = b.op("GreaterOrEqual", [b.unsqueeze(count(length), 0, 1, 3), b.const(0, np.int64)])
        allowed = b.op(
            "Expand", [b.op("And", [every, keys]), b.op("Concat", [batch, b.ints(1), length, length], axis=0)]
        )
        return b.op("Where", [allowed, b.const(0), b.const(s.lowest)])
    wide = b.unsqueeze(mask, 1, 2) if s.names == "dynamo" else b.unsqueeze(b.unsqueeze(mask, 1), 2)
    if s.mask == "mul":
        return b.op("Mul", [b.op("Sub", [b.const(1), b.op("Cast", [wide], to=FLOAT)]), b.const(s.lowest)])
    expanded = b.op(
        "Expand", [wide, b.op("Concat", [b.dim(mask, 0), b.ints(1), b.dim(mask, 1), b.dim(mask, 1)], axis=0)]
    )
    if s.mask == "where_add":
        inverted = b.op("Sub", [b.const(1), b.op("Cast", [expanded], to=FLOAT)])
        return b.op("Where", [b.op("Cast", [inverted], to=BOOL), b.const(s.lowest), inverted])
    boolean = b.op("Cast", [expanded], to=BOOL)
    return boolean if s.attention == "op" else b.op("Where", [boolean, b.const(0), b.const(-np.inf)])


def spell_positions(b, limit):
    """Position embeddings, [1 or batch, length, hidden] or the two-dimensional cut of the table."""
    s, w, t = b.s, b.w, b.bert.type
    table = b.param(f"{t}.embeddings.position_embeddings.weight", w[f"{t}.embeddings.position_embeddings.weight"])
    length = b.dim(b.ids, 1)
    if s.positions == "table":
        return b.unsqueeze(b.slice(table, 0, length, 0), 0)
    if s.positions == "cumsum":
        pad = b.const(b.bert.config["pad_token_id"], np.int64)
        same = pad if s.ids == INT64 else b.const(b.bert.config["pad_token_id"], np.int32)
        real = b.op("Cast", [b.op("Not", [b.op("Equal", [b.ids, same])])], to=onnx.TensorProto.INT32)
        counted = b.op("CumSum", [real, b.const(1, np.int64)])
        ids = b.op("Add", [b.op("Cast", [b.op("Mul", [counted, real])], to=INT64), pad])
    elif s.positions == "range":
        line = b.op("Range", [b.const(0, np.int64), b.squeeze(length, 0), b.const(1, np.int64)])
        ids = b.op("Expand", [b.unsqueeze(line, 0), b.op("Shape", [b.ids])])
    else:
        ids = b.slice(b.param(f"{t}.embeddings.position_ids", np.arange(limit, dtype=np.int64)[None]), 0, length, 1)
    return b.op("Gather", [table, ids], axis=0)


def spell_embeddings(b, types):
    s, w, t = b.s, b.w, b.bert.type
    b.scope = f"{t}/embeddings"
    name = lambda n: f"{t}.embeddings.{n}.weight"
    x = b.op("Gather", [b.param(name("word_embeddings"), w[name("word_embeddings")]), b.ids], axis=0)
    if t != "distilbert":
        table = w[name("token_type_embeddings")]
        if s.types == "onehot":
            depth = b.const([len(table)], np.int32)
            hot = b.op("OneHot", [b.reshape(types, -1), depth, b.const([0, 1])], axis=-1)
            flat = b.op("MatMul", [hot, b.param(name("token_type_embeddings"), table)])
            kinds = b.reshape(flat, b.dim(b.ids, 0), b.dim(b.ids, 1), b.bert.hidden)
        else:
            if t == "roberta":  # no such input: zeros of the shape of the ids, cut from a buffer
                zeros = b.slice(
                    b.param("roberta.embeddings.token_type_ids", np.zeros((1, 512), np.int64)), 0, b.dim(b.ids, 1), 1
                )
                types = b.op("Expand", [zeros, b.op("Shape", [b.ids])])
            kinds = b.op("Gather", [b.param(name("token_type_embeddings"), table), types], axis=0)
        x = b.op("Add", [x, kinds])
    x = b.op("Add", [x, spell_positions(b, len(w[name("position_embeddings")]))])
    return b.norm(x, f"{t}.embeddings.LayerNorm", f"{t}/embeddings/LayerNorm")


def scopes_of(b, i):
    """Name scopes of layer i in the order of Bert.names(i)."""
    return [
        n.replace(".layer.", "/layer.")
        .replace(".attention", "/attention")
        .replace(f".{i}.", f".{i}/")
        .replace(".self.", "/self/")
        .replace(".encoder", "/encoder")
        .replace(".output.", "/output/")
        .replace(".transformer", "/transformer")
        for n in b.bert.names(i)
    ]


def spell_layer(b, x, i, mask):
    names, scopes = b.bert.names(i), scopes_of(b, i)
    context = b.attention(x, i, mask, scopes[:3])
    if b.s.attention == "einsum":
        b.scope = scopes[3]
        kernel = b.w[names[3] + ".weight"].T.reshape(b.bert.heads, b.dim_head, -1)
        y = b.op("Einsum", [context, b.param(scopes[3] + "/kernel:0", kernel)], equation="abcd,cde->abe")
        y = b.op("Add", [y, b.param(names[3] + ".bias", b.w[names[3] + ".bias"])])
    else:
        y = b.linear(context, names[3], scopes[3])
    x = b.norm(b.op("Add", [y, x]), names[4], scopes[4])
    up = b.activation(b.linear(x, names[5], scopes[5]), scopes[5].replace("/dense", ""))
    return b.norm(b.op("Add", [b.linear(up, names[6], scopes[6]), x]), names[7], scopes[7])


def spell_head(b, x):
    """Outputs as (value, graph output name, shape) triples."""
    head, t, s = b.bert.head, b.bert.type, b.s
    batch, length = "batch_size", "sequence_length"
    if head == "qa":
        logits = b.linear(x, "qa_outputs", "qa_outputs")
        b.scope = ""
        if s.rank2:
            logits = b.reshape(logits, b.dim(b.ids, 0), b.dim(b.ids, 1), 2)
        if s.outputs == "single":
            return [(logits, "logits", [batch, length, 2])]
        if s.outputs == "unstack":
            start, end = b.split(b.op("Transpose", [logits], perm=[2, 0, 1]), 2, 0, 1)
            return [(b.squeeze(v, 0), f"unstack:{n}", [batch, length]) for n, v in enumerate((start, end))]
        start, end = b.split(logits, 2, -1, 1)
        return [(b.squeeze(v, -1), n, [batch, length]) for n, v in (("start_logits", start), ("end_logits", end))]
    labels = len(b.w["classifier.out_proj.weight" if (t, head) == ("roberta", "sequence") else "classifier.weight"])
    if head == "token":
        logits = b.linear(x, "classifier", "classifier")
        if s.rank2:
            logits = b.reshape(logits, b.dim(b.ids, 0), b.dim(b.ids, 1), labels)
        return [(logits, "logits", [batch, length, labels])]
    if s.rank2:
        x = b.reshape(x, b.dim(b.ids, 0), b.dim(b.ids, 1), b.bert.hidden)
    first = b.op("Gather", [x, b.const(0, np.int64)], axis=1)
    dense, act, out = {
        "bert": ("bert.pooler.dense", "Tanh", "classifier"),
        "distilbert": ("pre_classifier", "Relu", "classifier"),
        "roberta": ("classifier.dense", "Tanh", "classifier.out_proj"),
    }[t]
    gemm = lambda v, n: b.op(
        "Gemm",
        [v, b.param(n + ".weight", b.w[n + ".weight"]), b.param(n + ".bias", b.w[n + ".bias"])],
        alpha=1.0,
        beta=1.0,
        transB=1,
    )
    return [(gemm(b.op(act, [gemm(first, dense)]), out), "logits", [batch, labels])]


def local_functions(b):
    """The functions that a style with linear or norm 'function' calls."""
    opset, domain = [helper.make_opsetid("", b.s.opset)], "pkg.torch_lib"
    node, found = helper.make_node, []
    if "linear" in b.functions:
        body = [
            node("Transpose", ["w"], ["t"], perm=[1, 0]),
            node("MatMul", ["x", "t"], ["m"]),
            node("Add", ["m", "b"], ["y"]),
        ]
        found.append(helper.make_function(domain, "linear", ["x", "w", "b"], ["y"], body, opset))
    if "layer_norm" in b.functions:
        body = [
            node(
                "LayerNormalization",
                ["x", "g", "b"],
                ["y", "mean", "inv_std"],
                axis=-1,
                epsilon=b.functions["layer_norm"],
            )
        ]
        found.append(helper.make_function(domain, "layer_norm", ["x", "g", "b"], ["y"], body, opset))
    return found


def export(bert, style):
    """ModelProto of a Bert in a Spelling."""
    if style.positions == "cumsum" and bert.type != "roberta":
        style = replace(style, positions="slice")
    if bert.type == "roberta":
        if style.opset < 11:
            raise ValueError(f"RoBERTa needs CumSum, opset 11; the style is of opset {style.opset}")
        style = replace(style, positions="cumsum")
    b = Writer(style, bert)
    mask_name, types_name = (
        ("input_mask:0", "segment_ids:0") if style.names == "tf" else ("attention_mask", "token_type_ids")
    )
    inputs = [b.ids, mask_name] + ([types_name] if bert.type == "bert" else [])
    mask = spell_mask(b, mask_name)
    x = spell_embeddings(b, types_name)
    if style.rank2:
        x = b.reshape(x, -1, bert.hidden)
    for i in range(bert.layers):
        x = spell_layer(b, x, i, mask)
    outputs = []
    for value, name, shape in spell_head(b, x):  # the last node gets the output's name, as exporters give it
        last = next(n for n in b.nodes if value in n.output)
        last.output[list(last.output).index(value)] = name
        outputs.append(helper.make_tensor_value_info(name, FLOAT, shape))
    infos = [helper.make_tensor_value_info(n, style.ids, ["batch_size", "sequence_length"]) for n in inputs]
    if style.inputs_too:
        infos += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in b.inits]
    graph = helper.make_graph(
        b.nodes, "torch-jit-export" if style.producer[0] == "pytorch" else "tf2onnx", infos, outputs, b.inits
    )
    functions = local_functions(b)
    opsets = [helper.make_opsetid("", style.opset)] + ([helper.make_opsetid("pkg.torch_lib", 1)] if functions else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=style.ir, functions=functions)
    model.producer_name, model.producer_version = style.producer
    onnx.checker.check_model(model)
    return model


def tiny(
    model_type="bert",
    head="QuestionAnswering",
    seed=0,
    layers=2,
    hidden=16,
    heads=2,
    ffn=24,
    vocab=48,
    positions=40,
    labels=3,
    act="gelu",
):
    """A Bert with seeded random weights, a few KB."""
    prefix = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta"}[model_type]
    c = {
        "model_type": model_type,
        "architectures": [f"{prefix}For{head}"],
        "pad_token_id": 1 if model_type == "roberta" else 0,
    }
    if model_type == "distilbert":
        c |= {"n_layers": layers, "dim": hidden, "n_heads": heads, "activation": act}
    else:
        c |= {
            "num_hidden_layers": layers,
            "hidden_size": hidden,
            "num_attention_heads": heads,
            "hidden_act": act,
            "layer_norm_eps": 1e-5 if model_type == "roberta" else 1e-12,
        }
    rng, w = np.random.default_rng(seed), {}
    draw = lambda *shape, std=0.3: (rng.standard_normal(shape) * std).astype(np.float32)

    def dense(name, out, n):
        w[name + ".weight"], w[name + ".bias"] = draw(out, n), draw(out)

    def norm(name):
        w[name + ".weight"], w[name + ".bias"] = 1 + draw(hidden, std=0.1), draw(hidden, std=0.1)

    p = model_type + ".embeddings."
    w[p + "word_embeddings.weight"], w[p + "position_embeddings.weight"] = draw(vocab, hidden), draw(positions, hidden)
    if model_type != "distilbert":
        w[p + "token_type_embeddings.weight"] = draw(1 if model_type == "roberta" else 2, hidden)
    norm(p + "LayerNorm")
    bert = Bert(config=c, weights=w)
    for i in range(layers):
        q, k, v, out, norm1, up, down, norm2 = bert.names(i)
        for name in (q, k, v, out):
            dense(name, hidden, hidden)
        dense(up, ffn, hidden)
        dense(down, hidden, ffn)
        norm(norm1)
        norm(norm2)
    if head == "QuestionAnswering":
        dense("qa_outputs", 2, hidden)
    elif head == "TokenClassification":
        dense("classifier", labels, hidden)
    else:
        pre, out = {
            "bert": ("bert.pooler.dense", "classifier"),
            "distilbert": ("pre_classifier", "classifier"),
            "roberta": ("classifier.dense", "classifier.out_proj"),
        }[model_type]
        dense(pre, hidden, hidden)
        dense(out, labels, hidden)
    return bert


def sample(bert, batch=3, length=11, seed=1):
    """Random ids, mask and types with padding at the end of every row but the first."""
    rng = np.random.default_rng(seed)
    vocab = len(bert.weights[bert.type + ".embeddings.word_embeddings.weight"])
    pad = bert.config.get("pad_token_id", 0)
    ids = rng.integers(3, vocab, (batch, length))
    mask = (np.arange(length)[None] < np.array([length - 3 * i for i in range(batch)])[:, None]).astype(np.int64)
    ids = np.where(mask == 1, ids, pad)
    return ids, mask, (rng.integers(0, 2, (batch, length)) * mask if bert.type == "bert" else np.zeros_like(ids))


def verify(path, bert):
    """Largest difference between ONNX Runtime and NumPy on real tokens, over two shapes, optimised and not."""
    worst = 0.0
    for optimise in (True, False):
        model = OnnxModel(path, optimise=optimise)
        for batch, length in ((3, 11), (1, 5)):
            ids, mask, types = sample(bert, batch, length)
            got, want = model(ids, mask, types), bert(ids, mask, types)
            if want.ndim == 3:
                got, want = got[mask == 1], want[mask == 1]
            worst = max(worst, float(np.abs(got - want).max()))
    return worst


def write(bert, style, path):
    model = export(bert, style)
    onnx.save(model, path)
    worst = verify(path, bert)
    ops = sorted({n.op_type for n in model.graph.node})
    print(
        json.dumps(
            {
                "file": Path(path).name,
                "opset": style.opset,
                "nodes": len(model.graph.node),
                "bytes": Path(path).stat().st_size,
                "worst": worst,
                "ops": ops,
            }
        )
    )
    if not worst <= 1e-4:
        sys.exit(f"{path}: {worst} away from the NumPy forward pass")


# Beside one question-answering file a style: the other heads, families and activations.
EXTRAS = [
    ("hf", "bert", "SequenceClassification", "gelu"),
    ("hf", "distilbert", "SequenceClassification", "gelu"),
    ("hf", "roberta", "SequenceClassification", "gelu"),
    ("torch-2.0", "bert", "TokenClassification", "gelu"),
    ("sdpa", "roberta", "TokenClassification", "gelu"),
    ("sdpa", "distilbert", "SequenceClassification", "gelu"),
    ("sdpa", "bert", "QuestionAnswering", "gelu_new"),
    ("tf1-bert", "bert", "SequenceClassification", "gelu_new"),
]


def write_tiny(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        (name, s.model, "QuestionAnswering", "gelu_new" if s.gelu.startswith("tanh") else "gelu")
        for name, s in STYLES.items()
    ] + EXTRAS
    for n, (name, family, head, act) in enumerate(cases):
        stem = name if n < len(STYLES) else f"{name}-{family}-{head}" + ("-tanh" if act != "gelu" else "")
        bert = tiny(family, head, seed=n, act=act)
        write(bert, STYLES[name], folder / f"{stem}.onnx")
        ids, mask, types = sample(bert)
        logits = bert(ids, mask, types)
        expected = {
            "input_ids": ids.tolist(),
            "attention_mask": mask.tolist(),
            "token_type_ids": types.tolist(),
            "logits": logits.astype(float).round(7).tolist(),
        }
        (folder / f"{stem}.json").write_text(json.dumps(expected) + "\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", nargs="?", help="model folder")
    ap.add_argument("out", nargs="?", help="ONNX file to write")
    ap.add_argument("--style", choices=STYLES, default="hf", metavar="STYLE", help="see --list (default %(default)s)")
    ap.add_argument("--opset", type=int, help="another opset than the style's")
    ap.add_argument("--tiny", metavar="FOLDER", help="write the tiny models and their expected logits")
    ap.add_argument("--list", action="store_true", help="list the styles")
    args = ap.parse_args()
    if args.list:
        for name, s in STYLES.items():
            print(f"{name:16} opset {s.opset:2}  {s.model:10} {s.about}")
    elif args.tiny:
        write_tiny(args.tiny)
    elif args.out:
        style = STYLES[args.style]
        bert = Bert(args.model)
        write(bert, replace(style, opset=args.opset) if args.opset else style, args.out)
    else:
        ap.error("MODEL_DIR and OUT.onnx, --tiny or --list")


if __name__ == "__main__":
    main()
