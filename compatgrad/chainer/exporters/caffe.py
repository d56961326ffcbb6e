"""Networks as Caffe's files: a text of the layers (`.prototxt`), and layers with parameters (`.caffemodel`)."""

from __future__ import annotations

import heapq
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer.links.caffe.protobuf3 import caffe_pb2
from compatgrad.chainer.variable import Variable
from compatgrad.core.files import replacing

_MAX, _AVE = 0, 1  # Caffe's numbers of the kinds of pooling
_ACROSS_CHANNELS = 0


class _InputArrays(chainer.FunctionHook):
    """Keeps the inputs of functions after the first one: parameters, which the model may release when its call ends."""

    name = "exporters.caffe"

    def __init__(self):
        self.of = {}

    def forward_preprocess(self, function, in_data):
        self.of[function] = in_data[1:]


def _data_inputs(func):
    """The inputs that Caffe's layer reads from other layers; the remaining ones are its parameters."""
    return func.inputs if func.label in ("Concat", "_ + _") else func.inputs[:1]


def _functions_in_order(outputs):
    """The functions that computed `outputs`, each after those whose results it takes. The functions of an unbranched
    chain follow each other."""
    readers = Counter()
    todo = [v.creator_node for v in outputs]
    while todo:
        func = todo.pop()
        if func is None:
            continue
        readers[func] += 1
        if readers[func] == 1:
            todo += [x.creator_node for x in _data_inputs(func)]
    order, seen, heap = [], set(), []

    def enter(nodes):
        creators = [v.creator_node for v in nodes if v.creator_node is not None]
        for func in creators:
            if func not in seen:
                in_chain = readers[func] == 1 and len(creators) == 1
                heapq.heappush(heap, (-len(seen) if in_chain else 1, -func.rank, -len(seen), func))
                seen.add(func)

    enter(outputs)
    while heap:
        *_, func = heapq.heappop(heap)
        order.append(func)
        enter(_data_inputs(func))
    return order[::-1]


class _Layer:
    """One of Caffe's layers: its fields in the text file, and the arrays of its parameters."""

    def __init__(self, kind, field=None, params=None, blobs=()):
        self.kind, self.field, self.params, self.blobs = kind, field, params or {}, blobs


def _linear(func, w, *b):
    params = {"num_output": w.shape[0], "bias_term": bool(b)}
    return [_Layer("InnerProduct", "inner_product_param", params, [w, *b])]


def _window(pad, stride, kernel):
    pairs = {"pad": pad, "stride": stride, "kernel": kernel}
    return {f"{name}_{side}": pair[side == "w"] for name, pair in pairs.items() for side in "wh"}


def _convolution(func, w, *b):
    transposed = func.label == "Deconvolution2DFunction"
    dilation = _pair(getattr(func, "dy", 1), getattr(func, "dx", 1))
    if dilation != (1, 1):
        raise NotImplementedError(f"exporters.caffe: {func.label} with dilation {dilation}")
    params = {
        "num_output": w.shape[1] * func.groups if transposed else w.shape[0],
        "bias_term": bool(b),
        **_window((func.ph, func.pw), (func.sy, func.sx), w.shape[2:]),
        "group": func.groups,
    }
    return [_Layer("Deconvolution" if transposed else "Convolution", "convolution_param", params, [w, *b])]


def _pair(a, b):
    return int(a), int(b)


def _pooling(kind, pad, stride, kernel):
    return [_Layer("Pooling", "pooling_param", {"pool": kind, **_window(pad, stride, kernel)})]


def _average_pooling(func, *_):
    return _pooling(_AVE, (func.ph, func.pw), (func.sy, func.sx), (func.kh, func.kw))


def _max_pooling(func, *_):
    if func.ndim != 2:
        raise _unknown(func)
    return _pooling(_MAX, func.pad, func.stride, func.ksize)


def _lrn(func, *_):
    k = int(func.k) if func.k == int(func.k) else func.k  # programs set an integer, but the function stores a double
    params = {"norm_region": _ACROSS_CHANNELS, "local_size": func.n, "k": k}
    return [_Layer("LRN", "lrn_param", {**params, "alpha": func.alpha * func.n, "beta": func.beta})]


def _batch_normalization(func, gamma, beta, mean, var):
    divisor = numpy.ones(1, "f")  # Caffe divides mean and variance by this number
    norm = _Layer("BatchNorm", "batch_norm_param", {"use_global_stats": True, "eps": func.eps}, [mean, var, divisor])
    return [norm, _Layer("Scale", "scale_param", {"axis": 1, "bias_term": True}, [gamma, beta])]


_LAYERS = {
    "LinearFunction": _linear,
    "Convolution2DFunction": _convolution,
    "Deconvolution2DFunction": _convolution,
    "AveragePooling2D": _average_pooling,
    "MaxPoolingND": _max_pooling,
    "LocalResponseNormalization": _lrn,
    "FixedBatchNormalization": _batch_normalization,
    "ReLU": lambda func, *_: [_Layer("ReLU")],
    "LeakyReLU": lambda func, *_: [_Layer("ReLU", "relu_param", {"negative_slope": func.slope})],
    "Concat": lambda func, *_: [_Layer("Concat", "concat_param", {"axis": func.axis})],
    "Softmax": lambda func, *_: [_Layer("Softmax")],
    "Sigmoid": lambda func, *_: [_Layer("Sigmoid")],
    "Reshape": lambda func, *_: [_Layer("Reshape", "reshape_param", {"shape": {"dim": list(func.shape)}})],
    "_ + _": lambda func, *_: [_Layer("Eltwise")],
}


def _unknown(func):
    inputs = ", ".join(str(x.shape) for x in func.inputs)
    return NotImplementedError(f"exporters.caffe: Caffe has no layer for {func.label} of {inputs}")


def _text(name, value, indent=""):
    """A field of a message in the text format of protocol buffers."""
    if isinstance(value, dict):
        inner = "".join(_text(k, v, indent + "  ") for k, v in value.items())
        return f"{indent}{name} {{\n{inner}{indent}}}\n"
    if isinstance(value, list):
        return "".join(_text(name, v, indent) for v in value)
    if isinstance(value, (bool, str)):
        value = str(value).lower() if isinstance(value, bool) else f'"{value}"'
    return f"{indent}{name}: {value}\n"


class _Writer:
    def __init__(self, arrays):
        self.arrays = arrays
        self.text, self.net = [], caffe_pb2.NetParameter()
        self._names, self._counts = {}, defaultdict(int)

    def name(self, func):
        """The name of a layer: label, rank and a number, because functions with the same label may have the same
        rank."""
        if func is None:
            return "data"
        if func not in self._names:
            kind = f"{func.label}-{func.rank}"
            self._counts[kind] += 1
            self._names[func] = f"{kind}-{self._counts[kind]}"
        return self._names[func]

    def add(self, func):
        if func.label not in _LAYERS:
            raise _unknown(func)
        layers = _LAYERS[func.label](func, *self.arrays.get(func, ()))
        bottom = [self.name(x.creator_node) for x in _data_inputs(func)]
        if func.label == "Reshape" and "Reshape" in bottom[0]:  # of two reshapes in a row, the second alone counts
            bottom = [self.name(func.inputs[0].creator_node.inputs[0].creator_node)]
        for layer in layers[:-1]:
            bottom = [self._write(layer, f"{self.name(func)}_bn", bottom)]
        self._write(layers[-1], self.name(func), bottom)

    def _write(self, layer, name, bottom):
        given = {layer.field: layer.params} if layer.field else {}
        self.text.append(_text("layer", {"type": layer.kind, "name": name, "bottom": bottom, "top": [name], **given}))
        message = self.net.layer.add(name=name, type=layer.kind, phase=caffe_pb2.TEST, bottom=bottom, top=[name])
        if layer.field:
            _fill(getattr(message, layer.field), layer.params)
        for array in layer.blobs:
            blob = message.blobs.add()
            blob.shape.dim.extend(array.shape)
            blob.data.frombytes(numpy.ascontiguousarray(array, numpy.float32).tobytes())
        return name


def _fill(message, values):
    for name, value in values.items():
        if isinstance(value, dict):
            _fill(getattr(message, name), value)
        elif isinstance(value, list):
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)


def export(
    model: Callable[..., Any],
    args: Sequence[Variable],
    directory: str | None = None,
    export_params: bool = True,
    graph_name: str = "Graph",
) -> None:
    """Writes a model, run in evaluation mode, in Caffe's formats: the layers to `chainer_model.prototxt`, and
    the layers with their parameters to `chainer_model.caffemodel`. Linear, convolution, deconvolution, pooling, batch
    and local response normalization, ReLU, leaky ReLU, sigmoid, softmax, concat, reshape and addition are layers of
    Caffe's.

    Args:
        model: the model, a function of Variables.
        args: its arguments, a list of one Variable, whose shape is that of the network's input.
        directory: folder of the files; None writes nothing, which only checks the model.
        export_params: False leaves out the parameters.
        graph_name: name of the network.

    Raises:
        AssertionError: `args` is no list of Variables, or the model returns none.
        NotImplementedError: `args` does not hold one Variable, or the model has a function that is no layer of Caffe's,
            which the error names.
        OSError: the files cannot be written.

    Example:
        >>> from compatgrad.chainer.exporters import caffe
        >>> model = chainer.Sequential(L.Linear(2, 3), F.relu)
        >>> caffe.export(model, [chainer.Variable(np.zeros((1, 2), np.float32))], ".", export_params=False)
        >>> [line for line in open("chainer_model.prototxt") if "type" in line]
        ['  type: "Input"\\n', '  type: "InnerProduct"\\n', '  type: "ReLU"\\n']

    Source: `chainer.exporters.caffe.export` of Chainer 7.8.1.
    """
    if not isinstance(args, (tuple, list)) or not all(isinstance(x, Variable) for x in args):
        kinds = ", ".join(type(x).__name__ for x in args) if isinstance(args, (tuple, list)) else type(args).__name__
        raise AssertionError(f"exporters.caffe.export: args must be a list of one Variable, got {kinds}")
    if len(args) != 1:
        raise NotImplementedError(f"exporters.caffe.export: args must hold one Variable, not {len(args)}")
    with _InputArrays() as arrays, chainer.force_backprop_mode(), chainer.using_config("train", False):
        outputs = model(*args)
    outputs = [outputs] if isinstance(outputs, Variable) else outputs
    if not isinstance(outputs, (tuple, list)) or not all(isinstance(y, Variable) for y in outputs):
        kind = type(outputs).__name__
        raise AssertionError(f"exporters.caffe.export: the model must return a Variable or a list of these, got {kind}")
    writer = _Writer(arrays.of)
    for func in _functions_in_order(outputs):
        writer.add(func)
    if directory is None:
        return
    dims = " ".join(f"dim: {n}" for n in args[0].shape)
    head = f'name: "{graph_name}"\nlayer {{\n  name: "data"\n  type: "Input"\n  top: "data"\n'
    head += f"  input_param {{ shape: {{ {dims} }} }}\n}}\n"
    path = os.path.join(directory, "chainer_model")
    with replacing(f"{path}.prototxt", "w") as f:
        f.write(head + "".join(writer.text))
    if export_params:
        with replacing(f"{path}.caffemodel") as f:
            f.write(writer.net.SerializeToString())
