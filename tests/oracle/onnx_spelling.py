"""How exporters of 2019 to 2026 spell the same encoder: names, constants, shape arithmetic, norms, activations, masks, attention.

A Spelling is a set of choices; a Writer turns a bert_numpy.Bert into an ONNX graph by them. Spellings were gathered from the graphs that
the exporters named in STYLES are known to write (their symbolic functions and the patterns that optimizers match), not from one file.
"""

import math
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
LOWEST = np.finfo(np.float32).min


@dataclass(frozen=True)
class Spelling:
    about: str
    opset: int
    producer: tuple = ("pytorch", "1.10")
    ir: int = 7
    model: str = "bert"  # family that the style belongs to; a tiny fixture is made of it
    names: str = "numbers"  # numbers | scoped | dynamo | tf | unnamed
    constants: str = "node"  # node: Constant nodes; initializer
    dims: str = "gather"  # gather: Shape, Gather; slice: Shape, Cast, Slice; attribute: Shape(start, end)
    linear: str = "folded"  # folded: transposed weight; transpose: Transpose node; function: a local function
    bias_first: bool = False  # Add(bias, product)
    rank2: bool = False  # activations are [batch * length, hidden], reshaped around attention
    norm: str = "pow"  # pow | mul | two_sub | tf | op | op3 (three outputs) | function
    gelu: str = "erf"  # erf | erf_half_first | erf_mul | erf_sqrt | tanh | tanh_last | tanh_mul | op
    heads: str = "concat"  # concat: batch, length, heads, size; minus1: length as -1; zeros: [0, 0, heads, size]
    scale: str = "div"  # div | mul (of scores) | div_q | sdpa (square root on q and k) | key
    attention: str = "matmul"  # matmul | einsum | packed (one product for q, k, v) | op (opset 23 Attention)
    key: str = "perm"  # perm: one Transpose to [b, h, d, s]; two: Transpose twice; swap: einsum-free MatMul(transposed)
    mask: str = "mul"  # mul | mul_tf | where_add | where_distil | where_distil_cast | bool_inf | gather_and
    lowest: float = -10000.0
    positions: str = "slice"  # slice of ids | table (slice of the embedding) | range | cumsum
    types: str = "gather"  # gather | onehot
    outputs: str = "split"  # split | single | unstack
    ids: int = INT64
    inputs_too: bool = False  # initializers are listed as graph inputs (IR version 3)


STYLES = {
    "tf1-bert": Spelling(
        "TensorFlow 1 BERT by tf2onnx, 2019: 2-D products, one-hot types, moments, initializers as inputs",
        10,
        ("tf2onnx", "1.5.3"),
        3,
        names="tf",
        constants="initializer",
        dims="slice",
        rank2=True,
        norm="tf",
        gelu="tanh_last",
        scale="mul",
        mask="mul_tf",
        positions="table",
        types="onehot",
        outputs="unstack",
        ids=INT32,
        inputs_too=True,
        key="two",
    ),
    "torch-1.3": Spelling(
        "PyTorch 1.3, 2019: nodes without names, centred input computed twice",
        10,
        ("pytorch", "1.3"),
        4,
        names="unnamed",
        norm="two_sub",
    ),
    "keras2onnx": Spelling(
        "Keras TF2 BERT by keras2onnx, 2020: Sqrt of a constant in GELU, [0, 0, heads, size]",
        11,
        ("keras2onnx", "1.6.1"),
        6,
        names="tf",
        constants="initializer",
        dims="slice",
        norm="mul",
        gelu="erf_sqrt",
        heads="zeros",
        scale="mul",
        mask="mul_tf",
        positions="table",
        outputs="single",
        ids=INT32,
    ),
    "distilbert-2020": Spelling(
        "DistilBERT, PyTorch 1.5: masked_fill as Equal, Reshape, Expand, Where(-inf); q divided",
        11,
        ("pytorch", "1.5"),
        6,
        model="distilbert",
        heads="minus1",
        scale="div_q",
        mask="where_distil",
        lowest=-math.inf,
        positions="range",
        gelu="erf_half_first",
    ),
    "hf": Spelling(
        "transformers.onnx, PyTorch 1.11, 2022: the spelling of the Optimum run card's time",
        11,
        ("pytorch", "1.11"),
        7,
        bias_first=True,
        lowest=LOWEST,
    ),
    "distilbert-2022": Spelling(
        "DistilBERT, Optimum 1.4 and PyTorch 1.12: scoped names, Cast before Where, lowest float",
        13,
        ("pytorch", "1.12"),
        7,
        model="distilbert",
        names="scoped",
        heads="minus1",
        scale="div_q",
        mask="where_distil_cast",
        lowest=LOWEST,
        positions="range",
        bias_first=True,
    ),
    "roberta-2022": Spelling(
        "RoBERTa, PyTorch 1.12: positions by Equal, Not, Cast, CumSum, Mul",
        11,
        ("pytorch", "1.12"),
        7,
        model="roberta",
        names="scoped",
        bias_first=True,
        positions="cumsum",
        lowest=LOWEST,
    ),
    "tf2-einsum": Spelling(
        "TensorFlow 2 BERT with EinsumDense by tf2onnx, 2022",
        13,
        ("tf2onnx", "1.12.1"),
        7,
        names="tf",
        constants="initializer",
        dims="slice",
        norm="tf",
        gelu="erf_mul",
        attention="einsum",
        scale="key",
        mask="mul_tf",
        positions="table",
        outputs="single",
        ids=INT32,
    ),
    "packed": Spelling(
        "one product for q, k and v, then Split; tanh GELU by products",
        13,
        ("pytorch", "2.0"),
        8,
        names="scoped",
        attention="packed",
        scale="mul",
        gelu="tanh_mul",
        key="two",
        lowest=LOWEST,
        outputs="single",
    ),
    "torch-2.0": Spelling(
        "PyTorch 2.0, opset 17: LayerNormalization, everything else in pieces",
        17,
        ("pytorch", "2.0.1"),
        8,
        names="scoped",
        norm="op",
        bias_first=True,
        lowest=LOWEST,
    ),
    "optimum-sdpa": Spelling(
        "Optimum 1.21 and PyTorch 2.3, opset 14: SDPA in pieces, mask by Expand, Sub, Where",
        14,
        ("pytorch", "2.3.1"),
        7,
        names="scoped",
        bias_first=True,
        scale="sdpa",
        mask="where_add",
        lowest=LOWEST,
    ),
    "roberta-sdpa": Spelling(
        "RoBERTa, Optimum and PyTorch 2.4, opset 18: axes as inputs, SDPA",
        18,
        ("pytorch", "2.4"),
        8,
        model="roberta",
        names="scoped",
        norm="op",
        bias_first=True,
        scale="sdpa",
        mask="where_add",
        lowest=LOWEST,
        positions="cumsum",
    ),
    "functions": Spelling(
        "dynamo of PyTorch 2.3: linear layers and norms as local functions",
        18,
        ("pytorch", "2.3"),
        8,
        names="dynamo",
        constants="initializer",
        linear="function",
        norm="function",
        scale="sdpa",
        mask="bool_inf",
        dims="attribute",
        outputs="single",
    ),
    "dynamo": Spelling(
        "dynamo of PyTorch 2.6, opset 18: Transpose on weights, LayerNormalization with three outputs",
        18,
        ("pytorch", "2.6.0"),
        10,
        names="dynamo",
        constants="initializer",
        linear="transpose",
        norm="op3",
        scale="sdpa",
        mask="bool_inf",
        dims="attribute",
        heads="minus1",
    ),
    "sdpa": Spelling(
        "dynamo of PyTorch 2.9, opset 20: Gelu op, boolean mask, Where(-inf)",
        20,
        ("pytorch", "2.9.0"),
        10,
        names="dynamo",
        constants="initializer",
        norm="op",
        gelu="op",
        scale="sdpa",
        mask="bool_inf",
        dims="attribute",
        heads="minus1",
    ),
    "transformers5": Spelling(
        "transformers 5 eager: mask gathered by flat index, And, Expand, Where",
        18,
        ("pytorch", "2.10.0"),
        10,
        names="dynamo",
        constants="initializer",
        norm="op",
        scale="mul",
        mask="gather_and",
        lowest=LOWEST,
        dims="attribute",
        heads="minus1",
    ),
    "fused": Spelling(
        "LayerNormalization and Gelu as ops, constant shapes",
        20,
        ("pytorch", "2.9.0"),
        10,
        names="dynamo",
        constants="initializer",
        norm="op",
        gelu="op",
        heads="zeros",
        scale="mul",
        lowest=LOWEST,
        outputs="single",
    ),
    "attention-op": Spelling(
        "opset 23: the Attention op with a boolean mask",
        23,
        ("pytorch", "2.11.0"),
        11,
        names="dynamo",
        constants="initializer",
        norm="op",
        gelu="op",
        attention="op",
        mask="bool_inf",
        dims="attribute",
        outputs="single",
    ),
}


class Builder:
    """Nodes, initializers and names of a graph in the making."""

    def __init__(self, spelling):
        self.s, self.nodes, self.inits, self.used, self.count, self.scope = spelling, [], [], {}, 0, ""

    def name(self, kind):
        """(node name, output stem) of the next node."""
        self.count += 1
        if self.s.names == "numbers":
            return f"{kind}_{self.count}", str(1000 + self.count)
        if self.s.names == "unnamed":
            return "", str(200 + self.count)
        if self.s.names == "dynamo":
            return f"node_{kind}_{self.count}", f"val_{self.count}"
        tf = self.s.names == "tf"
        base = (self.scope.replace(".", "_") if tf else "/" + self.scope.replace("|", "/")).rstrip("/") + "/" + kind
        n = self.used[base] = self.used.get(base, -1) + 1
        base += f"_{n}" if n else ""
        return base, base

    def op(self, kind, inputs, count=1, domain="", **attrs):
        node, stem = self.name(kind)
        suffix = {"tf": ":{}", "scoped": "_output_{}"}.get(self.s.names, "" if count == 1 else "_{}")
        outs = [stem + suffix.format(i) for i in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, outs, name=node, domain=domain, **attrs))
        return outs[0] if count == 1 else outs

    def param(self, name, value):
        """A weight, stored once under its name."""
        if name not in self.used:
            self.used[name] = 0
            self.inits.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def const(self, value, dtype=np.float32):
        value = np.asarray(value, dtype)
        if self.s.constants == "node":
            return self.op("Constant", [], value=numpy_helper.from_array(value))
        return self.param(f"const_{value.dtype}_{value.shape}_{value.tolist()}".replace(" ", ""), value)

    def ints(self, *values):
        return self.const(values, np.int64)

    def with_axes(self, kind, x, axes, since):
        if self.s.opset >= since:
            return self.op(kind, [x, self.ints(*axes)])
        return self.op(kind, [x], axes=axes)

    def unsqueeze(self, x, *axes):
        return self.with_axes("Unsqueeze", x, axes, 13)

    def squeeze(self, x, *axes):
        return self.with_axes("Squeeze", x, axes, 13)

    def mean(self, x):
        if self.s.opset >= 18:
            return self.op("ReduceMean", [x, self.ints(-1)], keepdims=1)
        return self.op("ReduceMean", [x], axes=[-1], keepdims=1)

    def split(self, x, count, axis, size):
        if self.s.opset >= 18:
            return self.op("Split", [x], count, axis=axis, num_outputs=count)
        if self.s.opset >= 13:
            return self.op("Split", [x, self.ints(*[size] * count)], count, axis=axis)
        return self.op("Split", [x], count, axis=axis, split=[size] * count)

    def slice(self, x, start, end, axis):
        """x[start:end] along an axis; start is a number, end a name of an int64[1] or a number."""
        end = end if isinstance(end, str) else self.ints(end)
        return self.op("Slice", [x, self.ints(start), end, self.ints(axis)])

    def dim(self, x, axis):
        """Length of an axis as int64[1]."""
        if self.s.dims == "attribute":
            return self.op("Shape", [x], start=axis, end=axis + 1)
        shape = self.op("Shape", [x])
        if self.s.dims == "gather":
            return self.unsqueeze(self.op("Gather", [shape, self.const(axis, np.int64)], axis=0), 0)
        cut = self.squeeze(
            self.slice(self.op("Cast", [shape], to=INT32), axis, axis + 1, 0), 0
        )  # TensorFlow counts in int32
        return self.op("Cast", [self.unsqueeze(cut, 0)], to=INT64)

    def reshape(self, x, *dims):
        """Reshape to a mix of numbers and int64[1] names; all numbers become one constant."""
        if all(not isinstance(d, str) for d in dims):
            return self.op("Reshape", [x, self.ints(*dims)])
        parts = [d if isinstance(d, str) else self.ints(d) for d in dims]
        return self.op("Reshape", [x, self.op("Concat", parts, axis=0)])


class Writer(Builder):
    """Spells the parts of an encoder."""

    def __init__(self, spelling, bert):
        super().__init__(spelling)
        self.bert, self.w, self.functions = bert, bert.weights, {}
        self.dim_head = bert.hidden // bert.heads
        self.ids = "input_ids:0" if spelling.names == "tf" else "input_ids"

    def add_bias(self, y, bias):
        return self.op("Add", [bias, y] if self.s.bias_first else [y, bias])

    def linear(self, x, name, scope):
        self.scope = scope
        weight, bias = self.w[name + ".weight"], self.w[name + ".bias"]
        if self.s.linear == "function":
            self.functions["linear"] = True
            return self.op(
                "linear",
                [x, self.param(name + ".weight", weight), self.param(name + ".bias", bias)],
                domain="pkg.torch_lib",
            )
        if self.s.linear == "transpose":
            w = self.op("Transpose", [self.param(name + ".weight", weight)], perm=[1, 0])
        else:
            stem = {
                "tf": scope.replace(".", "_") + "/kernel:0",
                "numbers": name + ".weight.t",
                "unnamed": name + ".weight.t",
            }.get(self.s.names)
            w = self.param(stem or "onnx::MatMul_" + name, weight.T)
        return self.add_bias(self.op("MatMul", [x, w]), self.param(name + ".bias", bias))

    def norm(self, x, name, scope):
        self.scope, eps = scope, float(self.bert.eps)
        gamma, beta = (self.param(name + s, self.w[name + s]) for s in (".weight", ".bias"))
        kind = self.s.norm
        if kind == "function":
            self.functions["layer_norm"] = eps
            return self.op("layer_norm", [x, gamma, beta], domain="pkg.torch_lib")
        if kind in ("op", "op3"):
            out = self.op("LayerNormalization", [x, gamma, beta], 3 if kind == "op3" else 1, axis=-1, epsilon=eps)
            return out[0] if kind == "op3" else out
        mean = self.mean(x)
        centred = self.op("Sub", [x, mean])
        if kind == "tf":  # x * (gamma / sqrt(var + eps)) + (beta - mean * (gamma / sqrt(var + eps)))
            var = self.mean(self.op("Mul", [centred, centred]))
            inverse = self.op("Reciprocal", [self.op("Sqrt", [self.op("Add", [var, self.const(eps)])])])
            factor = self.op("Mul", [inverse, gamma])
            shift = self.op("Sub", [beta, self.op("Mul", [mean, factor])])
            return self.op("Add", [self.op("Mul", [x, factor]), shift])
        square = self.op("Mul", [centred, centred]) if kind == "mul" else self.op("Pow", [centred, self.const(2)])
        if kind == "two_sub":
            centred = self.op("Sub", [x, mean])
        root = self.op("Sqrt", [self.op("Add", [self.mean(square), self.const(eps)])])
        return self.op("Add", [self.op("Mul", [self.op("Div", [centred, root]), gamma]), beta])

    def gelu(self, x, scope):
        self.scope, kind = scope, self.s.gelu
        mul = lambda a, b: self.op("Mul", [a, b])
        add = lambda a, b: self.op("Add", [a, b])
        if kind == "op":
            tanh = self.bert.config.get("hidden_act") in ("gelu_new", "gelu_pytorch_tanh")
            return self.op("Gelu", [x], **({"approximate": "tanh"} if tanh else {}))
        if kind.startswith("tanh"):
            if kind == "tanh_mul":
                cube = mul(mul(x, x), x)
            else:
                cube = self.op("Pow", [x, self.const(3)])
            inner = mul(self.const(math.sqrt(2 / math.pi)), add(x, mul(self.const(0.044715), cube)))
            one = add(self.op("Tanh", [inner]), self.const(1))
            return mul(mul(x, self.const(0.5)), one) if kind == "tanh" else mul(x, mul(one, self.const(0.5)))
        if kind == "erf_mul":
            return mul(
                x, mul(add(self.op("Erf", [mul(x, self.const(math.sqrt(0.5)))]), self.const(1)), self.const(0.5))
            )
        if kind == "erf_sqrt":
            erf = self.op("Erf", [self.op("Div", [x, self.op("Sqrt", [self.const(2)])])])
            return mul(mul(add(erf, self.const(1)), self.const(0.5)), x)
        half = mul(x, self.const(0.5)) if kind == "erf_half_first" else None
        one = add(self.op("Erf", [self.op("Div", [x, self.const(math.sqrt(2))])]), self.const(1))
        return mul(half, one) if half else mul(mul(x, one), self.const(0.5))

    def activation(self, x, scope):
        act = self.bert.config.get("hidden_act", self.bert.config.get("activation"))
        return self.op("Relu", [x]) if act == "relu" else self.gelu(x, scope)

    def split_heads(self, x):
        """[batch, length, hidden] or [batch * length, hidden] to [batch, length, heads, size]."""
        h, d = self.bert.heads, self.dim_head
        if self.s.heads == "zeros" and not self.s.rank2:
            return self.reshape(x, 0, 0, h, d)
        if self.s.rank2:
            return self.reshape(x, self.dim(self.ids, 0), self.dim(self.ids, 1), h, d)
        return self.reshape(x, self.dim(x, 0), -1 if self.s.heads == "minus1" else self.dim(x, 1), h, d)

    def merge_heads(self, x):
        hidden = self.bert.hidden
        if self.s.rank2:
            return self.reshape(x, -1, hidden)
        if self.s.heads == "zeros":
            return self.reshape(x, 0, 0, hidden)
        return self.reshape(x, self.dim(x, 0), -1 if self.s.heads == "minus1" else self.dim(x, 1), hidden)

    def masked(self, scores, mask):
        """Scores with the mask applied; DistilBERT builds its condition in every layer."""
        if self.s.mask.startswith("where_distil"):
            zero = self.op("Equal", [mask, self.const(0, np.int64)])
            shaped = self.reshape(zero, self.dim(scores, 0), 1, 1, self.dim(scores, 3))
            if self.s.mask == "where_distil":
                wide = self.op("Expand", [shaped, self.op("Shape", [scores])])
            else:
                wide = self.op("Cast", [self.op("Expand", [shaped, self.op("Shape", [scores])])], to=BOOL)
            return self.op("Where", [wide, self.const(self.s.lowest), scores])
        return self.op("Add", [scores, mask])

    def attention(self, x, i, mask, scopes):
        """Context [.., hidden] of layer i before its output product."""
        query, key, value = self.bert.names(i)[:3]
        h, d, s = self.bert.heads, self.dim_head, self.s
        if s.attention == "einsum":
            return self.attention_einsum(x, (query, key, value), mask, scopes)
        if s.attention == "packed":
            self.scope = scopes[0]
            weight = np.concatenate([self.w[n + ".weight"] for n in (query, key, value)]).T
            bias = np.concatenate([self.w[n + ".bias"] for n in (query, key, value)])
            y = self.add_bias(
                self.op("MatMul", [x, self.param(query + "_key_value.weight", weight)]),
                self.param(query + "_key_value.bias", bias),
            )
            q, k, v = self.split(y, 3, -1, self.bert.hidden)
        else:
            q, k, v = (self.linear(x, n, scope) for n, scope in zip((query, key, value), scopes, strict=True))
        self.scope = scopes[0].rsplit("/", 1)[0]
        if s.attention == "op":
            return self.op("Attention", [q, k, v, mask], q_num_heads=h, kv_num_heads=h, scale=1 / math.sqrt(d))
        q = self.op("Transpose", [self.split_heads(q)], perm=[0, 2, 1, 3])
        if s.key == "two" or s.scale == "sdpa":
            k = self.op(
                "Transpose", [self.op("Transpose", [self.split_heads(k)], perm=[0, 2, 1, 3])], perm=[0, 1, 3, 2]
            )
        else:
            k = self.op("Transpose", [self.split_heads(k)], perm=[0, 2, 3, 1])
        v = self.op("Transpose", [self.split_heads(v)], perm=[0, 2, 1, 3])
        if s.scale == "div_q":
            q = self.op("Div", [q, self.const(math.sqrt(d))])
        if s.scale == "sdpa":
            if s.constants == "node":  # the script exporter derives the scale from the shape of the query
                last = self.op("Cast", [self.slice(self.op("Shape", [q]), -1, 2**63 - 1, 0)], to=FLOAT)
                scale = self.op("Div", [self.const([1.0]), self.op("Sqrt", [last])])
                q, k = self.op("Mul", [q, self.op("Sqrt", [scale])]), self.op("Mul", [k, self.op("Sqrt", [scale])])
            else:
                root = d**-0.25
                q, k = self.op("Mul", [q, self.const(root)]), self.op("Mul", [k, self.const(root)])
        scores = self.op("MatMul", [q, k])
        if s.scale == "div":
            scores = self.op("Div", [scores, self.const(math.sqrt(d))])
        elif s.scale == "mul":
            scores = self.op("Mul", [scores, self.const(1 / math.sqrt(d))])
        probs = self.op("Softmax", [self.masked(scores, mask)], axis=3 if s.opset < 13 else -1)
        return self.merge_heads(self.op("Transpose", [self.op("MatMul", [probs, v])], perm=[0, 2, 1, 3]))

    def attention_einsum(self, x, names, mask, scopes):
        h, d = self.bert.heads, self.dim_head
        parts = []
        for name, scope in zip(names, scopes, strict=True):
            self.scope = scope
            w = self.param(scope.replace(".", "_") + "/kernel:0", self.w[name + ".weight"].T.reshape(-1, h, d))
            y = self.op("Einsum", [x, w], equation="abc,cde->abde")
            parts.append(self.op("Add", [y, self.param(name + ".bias", self.w[name + ".bias"].reshape(h, d))]))
        q, k, v = parts
        k = self.op("Mul", [k, self.const(1 / math.sqrt(d))])
        scores = self.op("Einsum", [k, q], equation="aecd,abcd->acbe")
        return self.op(
            "Einsum", [self.op("Softmax", [self.op("Add", [scores, mask])], axis=3), v], equation="acbe,aecd->abcd"
        )
