"""What real MXNet 1.9.1 gives for 8-bit numbers, on a CPU with oneDNN: an interpreter that has it makes mxnet_int8.npz
of this file by `python -m tests.golden.mxnet_int8`.

NUMBERS: calls of `mx.nd.contrib`. GRAPHS: symbols of the operators that oneDNN fuses, which MXNet itself writes when it
quantizes a network; `symbol` makes their files.
"""

import json
from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
rng = np.random.default_rng(0)


def F(*values):
    return np.array(values, "float32")


def random(*shape, low=-1.0, high=1.0):
    return rng.uniform(low, high, shape).astype("float32")


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


# ---- calls: name, inputs, arguments
LOW, HIGH = F(-1), F(1)
X = np.concatenate([F(-1, -0.5, -0.1, 0, 0.1, 0.25, 0.5, 0.99, 1, 1.5), random(40)])
TIES = F(0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 300, -127.5, -300)
REACH = {"min_calib_range": -0.4, "max_calib_range": 0.8}
POSITIVE = {"min_calib_range": 0.0, "max_calib_range": 0.8}


def numbers():
    for out_type in ("int8", "uint8", "auto"):
        yield "quantize_v2", [X], {"out_type": out_type}
        yield "quantize_v2", [X], {"out_type": out_type, **REACH}
        yield "quantize_v2", [X], {"out_type": out_type, **POSITIVE}
        if out_type != "auto":
            yield "quantize", [X, LOW, HIGH], {"out_type": out_type}
            yield "quantize", [X, F(-0.2), F(2.5)], {"out_type": out_type}
        sums = np.array([-100000, 500000, 12700000, 2**30, -(2**31) + 1, 77], "int32")
        yield "requantize", [sums, LOW, HIGH], {"out_type": out_type, **REACH}
        yield "requantize", [sums, LOW, HIGH], {"out_type": out_type, **POSITIVE}
        yield "requantize", [sums[:3], F(-20), F(15)], {"out_type": out_type}
    yield "quantize_v2", [TIES], {"min_calib_range": -127.5, "max_calib_range": 127.5}
    yield "quantize_v2", [TIES], {"out_type": "uint8", "min_calib_range": 0.0, "max_calib_range": 255.5}
    yield "quantize_v2", [np.zeros(3, "float32")], {}
    for dtype in ("int8", "uint8"):
        everything = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
        yield "quantize_v2", [everything[::50]], {}
        yield "quantize_v2", [everything[::50]], REACH
        yield "dequantize", [everything, LOW, HIGH], {}
        yield "dequantize", [everything, F(-3), HIGH], {}
        image = integers(dtype, 2, 3, 7, 6)
        for pool_type in ("max", "avg"):
            for options in (
                {"kernel": (2, 2), "stride": (2, 2)},
                {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
                {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full", "count_include_pad": False},
                {"kernel": (1, 1), "global_pool": True},
            ):
                yield "quantized_pooling", [image, LOW, HIGH], {"pool_type": pool_type, **options}
        yield "quantized_flatten", [image, LOW, HIGH], {}
        if dtype == "int8":
            yield "quantized_act", [image, LOW, HIGH], {"act_type": "relu"}
        rows, weight, bias = integers(dtype, 3, 5), integers("int8", 4, 5), integers("int8", 4)
        ends = [F(-2 if dtype == "int8" else 0), F(1.7), F(-0.3), F(0.9)]
        yield "quantized_fully_connected", [rows, weight, *ends], {"num_hidden": 4, "no_bias": True}
        for reach in (F(0.2), F(4)):
            yield "quantized_fully_connected", [rows, weight, bias, *ends, -reach, reach], {"num_hidden": 4}
        for other in ("int8", "uint8"):
            pair = [image, integers(other, *image.shape), F(-1), F(1.5), F(-0.5), F(0.25)]
            yield "quantized_elemwise_add", pair, REACH
            if dtype == other:
                yield "quantized_elemwise_add", pair, {}
            lows = F(-1 if dtype == "int8" else 0), F(-0.5 if other == "int8" else 0)
            for low in (lows[1], F(-1.5) if other == "int8" else F(0)):
                ends = [lows[0], F(0.75), low, F(0.5)]
                yield "quantized_concat", [*pair[:2], *ends], {"num_args": 2, "dim": 1}


def odd_numbers():
    """Ranges without length, NaN and infinity, averages beyond the padding, and batch normalization."""
    odd = [F(0), F(np.nan, np.inf, -np.inf, 0, -0.0, 1e30, -1e30, 0.5), np.zeros(5, "float32"), random(33)]
    ranges = [(0, 0), (1, -1), (2, 2), (-2, -1), (np.nan, 1), (-1, np.nan), (np.inf, 1), (-np.inf, np.inf)]
    for out_type in ("int8", "uint8"):
        for low, high in ranges:
            for x in odd:
                yield "quantize", [x, F(low), F(high)], {"out_type": out_type}
            yield "dequantize", [integers(out_type, 5), F(low), F(high)], {}
            yield "requantize", [integers("int32", 9), F(low), F(high)], {"out_type": out_type}
        for x in odd:
            yield "quantize_v2", [x], {"out_type": out_type}
            yield "quantize_v2", [x], {"out_type": out_type, "min_calib_range": 0.0, "max_calib_range": 0.0}
        yield "requantize", [np.zeros(4, "int32"), LOW, HIGH], {"out_type": out_type}
        images, zero = [integers(out_type, 2, 3, 2, 3) for _ in range(2)], [F(0), F(0)]
        yield "quantized_concat", [images[0], images[1], *zero, *zero], {"num_args": 2, "dim": 1}
        yield "quantized_concat", [images[0], images[1], *zero, LOW, HIGH], {"num_args": 2, "dim": 1}
        image = integers(out_type, 2, 3, 7, 6)
        for options in ({"kernel": (2, 2)}, {"kernel": (3, 3), "pad": (1, 1)}):
            options = {"pool_type": "avg", "pooling_convention": "full", "stride": (2, 2), **options}
            yield "quantized_pooling", [image, LOW, HIGH], options
        rows, weight, bias = integers(out_type, 2, 3, 5), integers("int8", 4, 5), integers("int8", 4)
        ends = [LOW, HIGH, F(-0.3), F(0.9), F(-0.2), F(0.1)]
        yield "quantized_fully_connected", [rows, weight, bias, *ends], {"num_hidden": 4, "flatten": False}
        for shape in ((2, 3, 4, 5), (4, 20, 3, 3), (3, 16), (2, 3, 2, 2, 3)):
            n = shape[1]
            parts = [random(n, low=0.5, high=1.5), random(n), random(n), random(n, low=0.1, high=2)]
            for (low, high), reach in (((-1, 1), (-2, 3)), ((0, 2), (-0.5, 0.3)), ((1, -1), (4, 5)), ((0, 0), (-1, 1))):
                options = {"min_calib_range": reach[0], "max_calib_range": reach[1]}
                for more in ({}, {"fix_gamma": False, "eps": 0.1}):
                    x = [integers(out_type, *shape), *parts, F(low), F(high)]
                    yield "quantized_batch_norm", x, {**options, **more}


NUMBERS = [*numbers(), *odd_numbers()]


def call(mx, name, inputs, arguments):
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in inputs]
    ys = getattr(mx.nd.contrib, name)(*arrays, **arguments)
    return [y.asnumpy() for y in (ys if isinstance(ys, list) else [ys])]


# ---- graphs
class Graph:
    """A symbol on its way to the text of its file."""

    def __init__(self):
        self.nodes, self.places = [], {}

    def variable(self, name):
        return self.operator("null", name, [])[0]

    def operator(self, op, name, inputs, attrs=None, inner=None, outputs=1):
        node = {"op": op, "name": name, "inputs": [[i, k, 0] for i, k in inputs]}
        node |= {"attrs": {k: str(v) for k, v in attrs.items()}} if attrs else {}
        node |= {"subgraphs": [inner]} if inner else {}
        self.nodes.append(node)
        return [(len(self.nodes) - 1, k) for k in range(outputs)]

    def contents(self, heads):
        counts = [3 if n["op"] in ("BatchNorm", "_sg_mkldnn_conv", "_contrib_quantize_v2") else 1 for n in self.nodes]
        return {
            "nodes": self.nodes,
            "arg_nodes": [i for i, n in enumerate(self.nodes) if n["op"] == "null"],
            "node_row_ptr": np.cumsum([0, *counts]).tolist(),
            "heads": [[i, k, 0] for i, k in heads],
        }


ACTIVATIONS = {
    "relu": ("Activation", {"act_type": "relu"}),
    "leaky": ("LeakyReLU", {"act_type": "leaky", "slope": 0.3}),
    "clip": ("clip", {"a_min": 0, "a_max": 6}),
}


def _inside(case):
    """The graph that the operator stands for."""
    g = Graph()
    conv = {"kernel": (3, 3), "num_filter": 8, "no_bias": not case.get("bias"), **case.get("options", {})}
    parts = [g.variable(n) for n in ("data", "weight", *(["bias"] if case.get("bias") else []))]
    y = g.operator("Convolution", "conv", parts, conv)[0]
    if case.get("bn"):
        statistics = [g.variable(n) for n in ("gamma", "beta", "moving_mean", "moving_var")]
        y = g.operator("BatchNorm", "bn", [y, *statistics], {"eps": 1e-5, **case["bn"]}, outputs=3)[0]
    if case.get("sum"):
        y = g.operator("elemwise_add", "add", [y, g.variable("sum")])[0]
    if case.get("act"):
        op, attrs = ACTIVATIONS[case["act"]]
        y = g.operator(op, "act", [y], attrs)[0]
    return g.contents([y])


def symbol(case):
    """A graph of one fused convolution: `data`, and what is added, are quantized before it; all results, or, for one
    that stays float, the only one."""
    g = Graph()
    plain = case.get("plain")
    inner = _inside(case)
    reaches = {"int8": {"min_calib_range": -0.9, "max_calib_range": 1}, "float": {},
               "uint8": {"min_calib_range": 0, "max_calib_range": 1}}  # fmt: skip

    def quantized(name, dtype):
        x = g.variable(name)
        if plain:
            return [x, x, x]
        return g.operator("_contrib_quantize_v2", f"{name}_q", [x], {"out_type": "auto", **reaches[dtype]}, outputs=3)

    data = quantized("data", case["data"])
    names = [inner["nodes"][i]["name"] for i in inner["arg_nodes"]]
    others = [g.variable(n) for n in names[1:] if n != "sum"]
    added = quantized("sum", case["sum"]) if case.get("sum") else []
    inputs = [data[0], *others, *added[:1]]
    attrs = {}
    if not plain:
        inputs += [*data[1:], *added[1:]]
        attrs["quantized"] = "true"
    attrs |= {"with_bn": "true"} if case.get("bn") else {}
    word = "relu" if case.get("old") else "act"
    if case.get("act"):
        attrs[f"with_postsum_{word}" if case.get("sum") else f"with_{word}"] = "true"
    attrs |= {"with_sum": "true"} if case.get("sum") else {}
    if case.get("reach"):
        attrs |= dict(zip(("min_calib_range", "max_calib_range"), case["reach"], strict=True))
    ys = g.operator("_sg_mkldnn_conv", "fused", inputs, attrs, inner, outputs=1 if plain else 3)
    return json.dumps({**g.contents(ys), "attrs": {"mxnet_version": ["int", 10500 if case.get("old") else 10901]}})


GRAPHS = [
    {"data": "uint8"},
    {"data": "int8", "bias": True},
    {"data": "int8", "bias": True, "reach": (-2, 2)},
    {"data": "uint8", "bn": {"fix_gamma": False}, "act": "relu", "reach": (0, 3)},
    {"data": "uint8", "bias": True, "bn": {"fix_gamma": True}, "act": "relu", "old": True, "reach": (-0.0, 3)},
    {"data": "int8", "bn": {"fix_gamma": False}, "act": "leaky", "reach": (-1, 3)},
    {"data": "int8", "bn": {"fix_gamma": False}, "act": "clip", "reach": (0, 2)},
    {"data": "uint8", "bn": {"fix_gamma": False}, "sum": "uint8", "act": "relu", "reach": (0, 3)},
    {"data": "uint8", "bn": {"fix_gamma": False}, "sum": "int8", "act": "relu", "reach": (0, 3)},
    {"data": "uint8", "bn": {"fix_gamma": False}, "sum": "int8", "reach": (-3, 2)},
    {"data": "int8", "bn": {"fix_gamma": False}, "sum": "uint8", "reach": (-3, 2)},
    {"data": "uint8", "bn": {"fix_gamma": False}, "act": "relu", "reach": (0, 4),
     "options": {"stride": (2, 2), "pad": (1, 1), "num_group": 4, "num_filter": 4}},
    {"data": "uint8", "bn": {"fix_gamma": False}, "reach": (-3, 3), "options": {"pad": (2, 2), "dilate": (2, 2)}},
    {"data": "float", "plain": True, "bn": {"fix_gamma": False}, "sum": "float", "act": "relu"},
    {"data": "float", "plain": True, "bias": True},
]  # fmt: skip


DENSE_ACTIVATIONS = {
    **ACTIVATIONS, "sigmoid": ("Activation", {"act_type": "sigmoid"}), "tanh": ("Activation", {"act_type": "tanh"}),
    "abs": ("abs", {}),
}  # fmt: skip


def dense_symbol(case):
    """A graph of one fused dense layer, whose bytes and ranges are variables."""
    inner, g = Graph(), Graph()
    names = ["data", "weight", *(["bias"] if case.get("bias") else [])]
    y = inner.operator("FullyConnected", "fc", [inner.variable(n) for n in names],
                       {"num_hidden": 4, "no_bias": not case.get("bias"), **case.get("options", {})})[0]  # fmt: skip
    if case.get("act"):
        op, attrs = DENSE_ACTIVATIONS[case["act"]]
        y = inner.operator(op, "act", [y], attrs)[0]
    if not case.get("plain"):
        names += [f"{end}_{n}" for n in (names[:1] if case.get("by_row") else names) for end in ("min", "max")]
    attrs = {} if case.get("plain") else {"quantized": "True"}
    attrs |= {"with_eltwise": "True"} if case.get("act") else {}
    attrs |= {"channel_wise_quantize": "True"} if case.get("by_row") else {}
    attrs |= {"enable_float_output": "True"} if case.get("float") else {}
    if case.get("reach"):
        attrs |= dict(zip(("min_calib_range", "max_calib_range"), case["reach"], strict=True))
    inputs = [g.variable(n) for n in names]
    outputs = 1 if case.get("plain") or case.get("float") else 3
    ys = g.operator("_sg_mkldnn_fully_connected", "fused", inputs, attrs, inner.contents([y]), outputs)
    return json.dumps({**g.contents(ys), "attrs": {"mxnet_version": ["int", 10901]}})


DENSE = [
    {"data": "int8"},
    {"data": "uint8", "bias": True},
    {"data": "int8", "bias": True, "reach": (-2, 3)},
    {"data": "uint8", "bias": True, "act": "relu", "reach": (0, 2)},
    {"data": "uint8", "act": "leaky", "reach": (-1, 2)},
    {"data": "int8", "bias": True, "act": "clip", "reach": (0, 3)},
    {"data": "int8", "bias": True, "act": "abs", "reach": (0, 3)},
    {"data": "int8", "act": "tanh", "reach": (-1, 1)},
    {"data": "int8", "bias": True, "float": True},
    {"data": "uint8", "bias": True, "act": "sigmoid", "float": True},
    {"data": "int8", "bias": True, "by_row": True, "reach": (-2, 2)},
    {"data": "uint8", "bias": True, "by_row": True, "act": "relu", "float": True},
    {"data": "int8", "bias": True, "reach": (-2e7, 2e7), "huge": True},
    {"data": "uint8", "bias": True, "reach": (-3, 3), "options": {"flatten": False}},
    {"data": "float", "plain": True, "bias": True, "act": "relu"},
    {"data": "int8", "bias": True, "act": "relu"},
    {"data": "uint8", "act": "leaky"},
    {"data": "int8", "act": "abs"},
    {"data": "uint8", "bias": True, "act": "leaky", "reach": (0, 0)},
]


def run_dense(mx, case, seed):
    """The results of a fused dense layer."""
    r = np.random.default_rng(seed)
    arrays = {"data": (3, 2, 5), "weight": (4, 5 if case.get("options") else 10), "bias": (4,)}
    arrays = {name: r.normal(size=shape).astype("float32") for name, shape in arrays.items()}
    if not case.get("plain"):
        kinds = {"data": case["data"], **({} if case.get("by_row") else {"weight": "int8", "bias": "int8"})}
        for name, dtype in kinds.items():
            if dtype == "float32":
                continue
            info = np.iinfo(dtype)
            arrays[name] = r.integers(info.min, info.max, arrays[name].shape, endpoint=True).astype(dtype)
    ends = {"data": (-1.2 if case["data"] == "int8" else 0, 0.9), "weight": (-0.4, 0.7), "bias": (-0.8, 0.3)}
    ends |= {"bias": (-1.9e7, 1e7)} if case.get("huge") else {}
    arrays |= {f"{e}_{n}": F(v) for n, pair in ends.items() for e, v in zip(("min", "max"), pair, strict=True)}
    net = mx.sym.load_json(dense_symbol(case))
    arguments = {n: mx.nd.array(arrays[n], dtype=arrays[n].dtype) for n in net.list_arguments()}
    return [y.asnumpy() for y in net.bind(mx.cpu(), arguments, grad_req="null").forward(is_train=False)]


def arrays_of(case, seed):
    """Its parameters by name: those that the gradient changes, and the states."""
    r = np.random.default_rng(seed)
    channels, options = 4, case.get("options", {})
    n = options.get("num_filter", 8)
    weight = r.normal(0, 0.3, (n, channels // options.get("num_group", 1), 3, 3))
    sign = 0 if case["data"] == "uint8" else -1
    arrays = {"data": r.uniform(sign, 1, (2, channels, 6, 7)), "weight": weight, "bias": r.normal(size=n)}
    arrays |= {"gamma": r.uniform(0.5, 1.5, n), "beta": r.normal(size=n), "sum": r.uniform(sign, 1, (2, n, 4, 5))}
    states = {"moving_mean": r.normal(0, 0.3, n), "moving_var": r.uniform(0.5, 1.5, n)}
    return [{k: v.astype("float32") for k, v in part.items()} for part in (arrays, states)]


def run(mx, case, seed):
    """The results of a graph."""
    net = mx.sym.load_json(symbol(case))
    arrays, states = arrays_of(case, seed)
    known = net.list_arguments(), net.list_auxiliary_states()
    arguments, states = ({k: mx.nd.array(v) for k, v in part.items() if k in names}
                         for part, names in zip((arrays, states), known, strict=True))  # fmt: skip
    bound = net.bind(mx.cpu(), arguments, aux_states=states, grad_req="null")
    return [y.asnumpy() for y in bound.forward(is_train=False)]


if __name__ == "__main__":
    import mxnet

    found = {f"{k}_n{j}": y for k, one in enumerate(NUMBERS) for j, y in enumerate(call(mxnet, *one))}
    found |= {f"{k}_g{j}": y for k, case in enumerate(GRAPHS) for j, y in enumerate(run(mxnet, case, k))}
    found |= {f"{k}_d{j}": y for k, case in enumerate(DENSE) for j, y in enumerate(run_dense(mxnet, case, k))}
    files.write(GOLDEN, found, files.versions("mxnet"))
