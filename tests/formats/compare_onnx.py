#!/usr/bin/env python3
"""Checks that rewritten ONNX files mean what the originals mean.

  compare_onnx.py LIST        LIST holds lines "original<TAB>rewritten"

Compared: opsets, IR version, functions, inputs, outputs, value types, constants (initializers and Constant nodes alike) bit for
bit, nodes in order with names, edges and attributes, subgraphs included. Every rewritten file must pass onnx.checker where its
original does. Prints each difference and fails if there is one.
"""
import sys

import onnx
from onnx import AttributeProto, TensorProto, numpy_helper


def tensor(t):
    """Type, shape and bytes, whichever field holds them."""
    if t.data_type == TensorProto.STRING:
        content = tuple(t.string_data)
    elif t.HasField("raw_data"):
        content = t.raw_data
    else:
        packed = TensorProto()
        packed.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t)))
        content = packed.raw_data if packed.data_type == t.data_type else tuple(t.int32_data)
    return t.data_type, tuple(t.dims), content


def attribute(a):
    if a.ref_attr_name:
        return "ref", a.type, a.ref_attr_name
    kind = a.type
    if kind == AttributeProto.GRAPH:
        return kind, graph(a.g)
    if kind == AttributeProto.GRAPHS:
        return kind, tuple(str(graph(g)) for g in a.graphs)
    if kind == AttributeProto.TENSOR:
        return kind, tensor(a.t)
    if kind == AttributeProto.TENSORS:
        return kind, tuple(tensor(t) for t in a.tensors)
    copy = AttributeProto()
    copy.CopyFrom(a)
    copy.ClearField("doc_string")
    return kind, copy.SerializeToString(deterministic=True)


SIMPLE = {
    "value_float": lambda a: (TensorProto.FLOAT, (), onnx.helper.make_tensor("", TensorProto.FLOAT, [], [a.f])),
    "value_floats": lambda a: (TensorProto.FLOAT, (len(a.floats),), onnx.helper.make_tensor("", TensorProto.FLOAT, [len(a.floats)], a.floats)),
    "value_int": lambda a: (TensorProto.INT64, (), onnx.helper.make_tensor("", TensorProto.INT64, [], [a.i])),
    "value_ints": lambda a: (TensorProto.INT64, (len(a.ints),), onnx.helper.make_tensor("", TensorProto.INT64, [len(a.ints)], a.ints)),
    "value_string": lambda a: (TensorProto.STRING, (), onnx.helper.make_tensor("", TensorProto.STRING, [], [a.s])),
    "value_strings": lambda a: (TensorProto.STRING, (len(a.strings),), onnx.helper.make_tensor("", TensorProto.STRING, [len(a.strings)], a.strings)),
}


def constant(node):
    """What a Constant node holds, or None when it is another node or refers to a function's attribute."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.attribute) != 1:
        return None
    a = node.attribute[0]
    if a.ref_attr_name:
        return None
    return tensor(a.t) if a.name == "value" else tensor(SIMPLE[a.name](a)[2])


def nodes(items):
    out, constants = [], {}
    for n in items:
        c = constant(n)
        if c is not None:
            constants[n.output[0]] = c
            continue
        domain = "" if n.domain == "ai.onnx" else n.domain
        out.append((n.name, domain, n.op_type, n.overload, tuple(n.input), tuple(n.output), n.doc_string,
                    sorted((a.name, attribute(a)) for a in n.attribute)))
    return out, constants


def info(v):
    return v.name, v.type.SerializeToString(deterministic=True)


def graph(g):
    items, constants = nodes(g.node)
    constants.update({t.name: tensor(t) for t in g.initializer})
    produced = {o for n in items for o in n[5]} - {o.name for o in g.output}
    types = sorted(info(v) for v in g.value_info if v.name in produced and v.type.WhichOneof("value"))
    return {"inputs": [info(v) for v in g.input], "outputs": [info(v) for v in g.output], "nodes": items,
            "constants": sorted(constants.items()), "types": types}


def function(f):
    items, constants = nodes(f.node)
    return {"name": (f.domain, f.name, f.overload), "inputs": list(f.input), "outputs": list(f.output), "nodes": items,
            "constants": sorted(constants.items()), "attributes": list(f.attribute),
            "defaults": sorted((a.name, attribute(a)) for a in f.attribute_proto),
            "opsets": sorted((o.domain, o.version) for o in f.opset_import)}


def model(m):
    out = graph(m.graph)
    out["functions"] = [function(f) for f in m.functions]
    out["opsets"] = sorted(("" if o.domain == "ai.onnx" else o.domain, o.version) for o in m.opset_import)
    out["ir"] = m.ir_version
    out["metadata"] = sorted((p.key, p.value) for p in m.metadata_props)
    return out


def passes_checker(m):
    try:
        onnx.checker.check_model(m)
        return None
    except Exception as e:  # the checker's own error types vary by version
        return str(e)


def main():
    differences = 0
    count = 0
    for line in open(sys.argv[1]):
        original, rewritten = line.rstrip("\n").split("\t")
        a, b = onnx.load(original), onnx.load(rewritten)
        ca, cb = model(a), model(b)
        if a.ir_version < 4:  # where every initializer is an input too, also those that were Constant nodes before
            for c in (ca, cb):
                names = {name for name, _ in c["constants"]}
                c["inputs"] = [i for i in c["inputs"] if i[0] not in names]
        for part in ca:
            if ca[part] != cb[part]:
                differences += 1
                print(f"{original}: {part}:\n  {str(ca[part])[:600]}\n  {str(cb[part])[:600]}")
        if passes_checker(a) is None and passes_checker(b) is not None:
            differences += 1
            print(f"{original}: rewritten, it fails the checker: {passes_checker(b)}")
        count += 1
    print(f"{count} files compared, {differences} differences")
    return 1 if differences or not count else 0


if __name__ == "__main__":
    sys.exit(main())
