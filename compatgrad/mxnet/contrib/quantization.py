"""`mx.contrib.quantization`: networks whose convolutions and dense layers multiply 8-bit numbers.

`quantize_model` and `quantize_net` replace convolutions, dense layers and the operators between them by operators on
int8 or uint8 (`mx.nd.contrib.quantized_...`). Ranges come from a calibration, or from each batch.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any

import numpy as np

from compatgrad.core import notes

from .. import model
from .. import ndarray as nd
from ..context import Context, cpu
from ..gluon import SymbolBlock
from ..io import DataBatch, DataIter
from ..symbol import Symbol, load, var
from ..symbol._evaluate import run_node
from ..symbol._graph import order
from ._quantized_graph import _calibrate_quantized_sym, _list_of, _quantize_symbol

__all__ = ["calib_graph", "combine_histogram", "quantize_graph", "quantize_model", "quantize_net", "quantize_net_v2"]


def _quantize_params(qsym: Symbol, params: dict[str, Any], th_dict: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a quantized graph: int8 weights and biases with their ranges, and the others unchanged."""
    result = {}
    for name in qsym.list_arguments():
        if name.endswith(("weight_quantize", "bias_quantize")):
            x = params[name.removesuffix("_quantize")]
            triple = nd.contrib.quantize(x, nd.min(x), nd.max(x), out_type="int8")
            result.update(zip((name, f"{name}_min", f"{name}_max"), triple, strict=True))
        elif name in params:
            result[name] = params[name]
    return result


# ---- ranges
def combine_histogram(old_hist: Any, arr: Any, new_min: float, new_max: float, new_th: float) -> tuple[Any, ...]:
    """A histogram that counts the numbers of another array too, over a wider range where it needs one.

    Args:
        old_hist: the histogram: counts, ends of the bins, smallest and largest number, and the threshold t of its range
            from -t to t.
        arr: the array.
        new_min, new_max: its smallest and largest number.
        new_th: the larger of their absolute values.

    Returns:
        The histogram, in the form of `old_hist`.

    Raises:
        ValueError: `old_hist` has not five parts.

    Example:
        >>> counts, ends = np.histogram([-1.0, 0.5, 1.0], bins=2, range=(-1, 1))
        >>> mx.contrib.quantization.combine_histogram((counts, ends, -1.0, 1.0, 1.0), np.array([1.5]), 1.5, 1.5, 1.5)[0]
        array([0, 1, 2, 1])

    Source: `mxnet.contrib.quantization.combine_histogram` of MXNet 1.9.1.
    """
    counts, ends, low, high, threshold = old_hist
    if new_th <= threshold:
        more, _ = np.histogram(arr, bins=len(counts), range=(-threshold, threshold))
        return counts + more, ends, min(low, new_min), max(high, new_max), threshold
    step = 2 * threshold / len(counts)
    extra = int((new_th - threshold) // step + 1)
    wide = threshold + extra * step
    found, ends = np.histogram(arr, bins=len(counts) + 2 * extra, range=(-wide, wide))
    found[extra : len(found) - extra] += counts
    return found, ends, min(low, new_min), max(high, new_max), wide


def _smooth_distribution(p: Any, eps: float = 0.0001) -> np.ndarray:  # programs call it for their own calibrations
    """Counts of a histogram without zeros: an empty bin gets `eps`, which is taken from the other bins in equal shares.

    Raises:
        ValueError: all bins are empty.
        AssertionError: the share exceeds a bin's count.
    """
    empty = p == 0
    others = p.size - int(empty.sum())
    if not others:
        raise ValueError("The discrete probability distribution is malformed. All entries are 0.")
    share = eps * float(empty.sum()) / others
    assert share < 1.0, f"{int(empty.sum())} of {p.size} entries are 0, too many for eps={eps}"
    smooth = np.where(empty, eps, p - share).astype(np.float32)
    assert (smooth > 0).all(), f"a bin has fewer counts than the {share} to be taken from it"
    return smooth


class _LayerOutputMinMaxCollector:
    """The smallest and largest number of each layer's outputs."""

    def __init__(self, quantized_dtype: str, include_layer: Any = None, logger: Any = None) -> None:
        self.min_max_dict: dict[str, tuple[float, float]] = {}
        self.include_layer = include_layer

    def collect(self, name: str, arr: Any) -> None:
        """Adds the values of output `name`."""
        if self.include_layer is None or name in self.include_layer:
            a = arr.asnumpy()
            low, high = self.min_max_dict.get(name, (np.inf, -np.inf))
            self.min_max_dict[name] = (min(low, float(a.min())), max(high, float(a.max())))

    def ranges(self, quantized_dtype: str) -> dict[str, Any]:
        """(smallest, largest) by name of the output."""
        return self.min_max_dict


def _get_optimal_threshold(
    hist_data: tuple[Any, ...], quantized_dtype: str, num_quantized_bins: int = 255
) -> tuple[float, ...]:
    """(min, max, threshold, divergence) of a histogram as `combine_histogram` makes it."""
    counts, ends, low, high, _ = hist_data
    if low >= 0 and quantized_dtype in ("auto", "uint8"):
        num_quantized_bins = num_quantized_bins * 2 + 1  # uint8 has all its numbers on one side of 0
    found = nd.contrib.calibrate_entropy(nd.array(counts), nd.array(ends), num_quantized_bins=num_quantized_bins)
    return (low, high, *(value.asscalar() for value in found))


def _get_optimal_thresholds(
    hist_dict: dict[str, Any], quantized_dtype: str, num_quantized_bins: int = 255, logger: Any = None
) -> dict[str, Any]:
    """Ranges by name, from histograms by name, which are removed from `hist_dict` to free memory."""
    result = {}
    for name in list(hist_dict):
        low, _, threshold, _ = _get_optimal_threshold(hist_dict.pop(name), quantized_dtype, num_quantized_bins)
        result[name] = (0 if low >= 0 and quantized_dtype in ("auto", "uint8") else -threshold, threshold)
    return result


class _LayerHistogramCollector:
    """Collects a histogram of each layer's outputs; the range of least KL divergence is chosen from it."""

    def __init__(self, num_bins: int = 8001, include_layer: Any = None, logger: Any = None) -> None:
        self.hist_dict: dict[str, tuple[Any, ...]] = {}
        self.num_bins = num_bins
        self.include_layer = include_layer

    def collect(self, name: str, arr: Any) -> None:
        """Adds the values of output `name`."""
        if self.include_layer is None or name in self.include_layer:
            a = arr.asnumpy()
            low, high = a.min(), a.max()
            reach = max(abs(low), abs(high))
            if name in self.hist_dict:
                self.hist_dict[name] = combine_histogram(self.hist_dict[name], a, low, high, reach)
            else:
                counts, ends = np.histogram(a, bins=self.num_bins, range=(-reach, reach))
                self.hist_dict[name] = (counts, ends, low, high, reach)

    def ranges(self, quantized_dtype: str) -> dict[str, Any]:
        """The ranges by `nd.contrib.calibrate_entropy`, which takes some tenths of a second for each layer."""
        return _get_optimal_thresholds(dict(self.hist_dict), quantized_dtype)


def _collect(
    sym: Symbol, params: dict[str, Any], data: Any, collector: Any, limit: int | None, names: Any, labels: Any = ()
) -> int:
    """Runs the graph on batches and passes each output to the collector; returns the number of examples."""
    known, seen = sym.list_inputs(), 0
    for name in (names,) if isinstance(names, str) else names:
        if name not in known:
            raise ValueError(f"quantization: data_names: there is no input {name!r}; the inputs are {known}")
    for name in known:
        if name not in (*params, *names, *(labels or ())) and not name.endswith("label"):
            raise RuntimeError(f"quantization: {name} is not presented: it is neither a parameter nor among data_names")
    data.reset()
    for batch in data:
        arrays = {**params, **dict(zip(names, batch.data, strict=False))}
        values: dict[int, list[Any]] = {}
        for node in order(sym._outputs):
            if node.op is None:
                if node.name not in arrays:  # a label, which only the loss reads
                    arrays[node.name] = nd.zeros(batch.data[0].shape[:1])
                values[id(node)] = [arrays[node.name]]
            else:
                values[id(node)] = run_node(node, [values[id(n)][i] for n, i in node.inputs])
            for name, value in zip(node.output_names(), values[id(node)], strict=False):
                collector.collect(name, value)
        seen += batch.data[0].shape[0]
        if limit is not None and seen >= limit:
            break
    return seen


def _collector_of(calib_mode: str, quantized_dtype: str, include: list[str], own: Any, logger: Any) -> Any:
    if calib_mode == "entropy":
        return _LayerHistogramCollector(include_layer=include, logger=logger)
    if calib_mode == "naive":
        return _LayerOutputMinMaxCollector(quantized_dtype, include_layer=include, logger=logger)
    if calib_mode == "customize" and own is not None:
        return own
    raise _unknown_mode(calib_mode)


def _unknown_mode(calib_mode: str) -> ValueError:
    return ValueError(
        f"unknown calibration mode {calib_mode} received, expected `none`, `naive`, `entropy` or `customize`"
    )


def _single(ctx: Any) -> None:
    if not isinstance(ctx or cpu(), Context):
        raise ValueError(f"currently only supports single ctx, while received {ctx}")


# ---- public functions
def quantize_graph(
    sym: Symbol, arg_params: dict[str, Any], aux_params: dict[str, Any], ctx: Any = None,
    excluded_sym_names: Any = None, excluded_op_names: Any = None, calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full", quantize_granularity: str = "tensor-wise", LayerOutputCollector: Any = None,
    logger: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """A graph with 8-bit convolutions and dense layers, and a collector of the ranges of their outputs.

    Args:
        sym: the symbol.
        arg_params, aux_params: its arguments and auxiliary states by name.
        ctx: accepted, without effect.
        excluded_sym_names: names of layers that stay as they are, a list.
        excluded_op_names: names of operators that stay as they are, a list.
        calib_mode: what `quantize_model` takes, or "customize", where `LayerOutputCollector` collects.
        quantized_dtype: "int8", "uint8" or "auto".
        quantize_mode: "full" or "smart", the same here.
        quantize_granularity: "tensor-wise".
        LayerOutputCollector: an object with `collect(name, arr)` and `min_max_dict`, ranges by names of outputs.
        logger: accepted, without effect.

    Returns:
        The symbol without ranges, its parameters, its states, and the collector, None if there is no calibration.

    Raises:
        ValueError: an argument has another value, or names are no list.
        MXNetError: `quantize_mode` has another value.
        NotImplementedError: `quantize_granularity` is "channel-wise".

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
        >>> qsym, qargs, aux, collector = mx.contrib.quantization.quantize_graph(
        ...     y, {"fc_weight": nd.ones((2, 3))}, {}, calib_mode="naive")
        >>> collector.include_layer
        ['data', 'fc_output']

    Source: `mxnet.contrib.quantization.quantize_graph` of MXNet 1.9.1.
    """
    return _quantized(sym, arg_params, aux_params, ctx, excluded_sym_names, excluded_op_names, calib_mode,
                      quantized_dtype, quantize_mode, quantize_granularity, LayerOutputCollector, logger,
                      fused=False)  # fmt: skip


def _quantized(
    sym: Symbol, arg_params: dict[str, Any], aux_params: dict[str, Any], ctx: Any, excluded_sym_names: Any,
    excluded_op_names: Any, calib_mode: str | None, quantized_dtype: str, quantize_mode: str, quantize_granularity: str,
    LayerOutputCollector: Any, logger: Any, *, fused: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """`quantize_graph`, with ranges for single operators or as in MXNet's fused ones."""
    if quantized_dtype not in ("int8", "uint8", "auto"):
        raise ValueError(f"unknown quantized_dtype {quantized_dtype} received, expected `int8`, `uint8` or `auto`")
    if quantize_granularity not in ("tensor-wise", "channel-wise"):
        raise ValueError(f"unknown quantize_granularity {quantize_granularity}, expected `tensor-wise`")
    qsym, outputs = _quantize_symbol(sym, ctx, excluded_sym_names, excluded_op_names, list(arg_params),
                                     quantized_dtype, quantize_mode, quantize_granularity, fused)  # fmt: skip
    collector = None
    if calib_mode not in (None, "none"):
        collector = _collector_of(calib_mode, quantized_dtype, outputs, LayerOutputCollector, logger)
    return qsym, _quantize_params(qsym, arg_params, {}), aux_params, collector


def calib_graph(
    qsym: Symbol, arg_params: dict[str, Any], aux_params: dict[str, Any], collector: Any, calib_mode: str = "entropy",
    quantized_dtype: str = "int8", logger: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Puts the ranges that a collector has seen into a graph of `quantize_graph`.

    Args:
        qsym: the symbol.
        arg_params: arguments of the symbol that was quantized, by name.
        aux_params: its auxiliary states by name.
        collector: the collector.
        calib_mode: "naive", "entropy" or "customize", as in `quantize_graph`.
        quantized_dtype: "int8", "uint8" or "auto".
        logger: accepted, without effect.

    Returns:
        The symbol, its parameters and its states.

    Raises:
        ValueError: `calib_mode` has another value.
        AttributeError: the collector has no ranges.
        KeyError: a weight is missing.

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
        >>> args = {"fc_weight": nd.ones((2, 3))}
        >>> qsym, qargs, aux, collector = mx.contrib.quantization.quantize_graph(y, args, {}, calib_mode="naive")
        >>> collector.collect("fc_output", nd.array([-1, 2]))
        >>> qsym, qargs, aux = mx.contrib.quantization.calib_graph(qsym, args, {}, collector, calib_mode="naive")
        >>> sorted(qargs)
        ['fc_weight_quantize', 'fc_weight_quantize_max', 'fc_weight_quantize_min']

    Source: `mxnet.contrib.quantization.calib_graph` of MXNet 1.9.1.
    """
    if calib_mode not in ("naive", "entropy", "customize"):
        raise _unknown_mode(calib_mode)
    ranges = collector.min_max_dict if calib_mode == "customize" else collector.ranges(quantized_dtype)
    qsym = _calibrate_quantized_sym(qsym, ranges)
    return qsym, _quantize_params(qsym, arg_params, ranges), aux_params


def quantize_model(
    sym: Symbol, arg_params: dict[str, Any], aux_params: dict[str, Any], data_names: Any = ("data",),
    label_names: Any = ("softmax_label",), ctx: Any = None, excluded_sym_names: Any = None,
    excluded_op_names: Any = None, calib_mode: str | None = "entropy", calib_data: Any = None,
    num_calib_examples: int | None = None, quantized_dtype: str = "int8", quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise", logger: Any = None,
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:  # fmt: skip
    """A symbol and its parameters with 8-bit convolutions and dense layers.

    Args:
        sym: the symbol.
        arg_params, aux_params: its arguments and auxiliary states by name.
        data_names: names of the inputs.
        label_names: names of the labels, which `calib_data` does not have to give.
        ctx: a context; None is the CPU.
        excluded_sym_names: names of layers that stay as they are, a list.
        excluded_op_names: names of operators that stay as they are, a list.
        calib_mode: "none" or None, the ranges of each batch; "naive", the ranges of `calib_data`; "entropy", the
            ranges that lose the least information (KL divergence) of the histograms of `calib_data`.
        calib_data: a DataIter.
        num_calib_examples: samples that are read at most; None for all.
        quantized_dtype: dtype of the layers' inputs, "int8", "uint8" or "auto".
        quantize_mode: "smart" or "full", the same here.
        quantize_granularity: "tensor-wise".
        logger: accepted, without effect.

    Returns:
        The symbol, its parameters and its states.

    Raises:
        ValueError: an argument has another value, names are no list, `ctx` is a list, `calib_data` is missing, or
            `data_names` has the name of no input.
        RuntimeError: a parameter is missing when the ranges are collected.
        MXNetError: `quantize_mode` has another value; `quantized_dtype` is "uint8" and the data has negative numbers.
        NotImplementedError: `quantize_granularity` is "channel-wise".

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
        >>> args = {"fc_weight": nd.array([[1, 2], [3, 4]])}
        >>> qsym, qargs, aux = mx.contrib.quantization.quantize_model(y, args, {}, calib_mode="none")
        >>> qsym.eval(data=nd.array([[1, 1]]), **qargs)[0].asnumpy().round(1)
        array([[3., 7.]], dtype=float32)

    Source: `mxnet.contrib.quantization.quantize_model` of MXNet 1.9.1.
    """
    notes.note_difference("quantize")
    qsym, qargs, aux, collector = quantize_graph(
        sym, arg_params, aux_params, ctx, excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype,
        quantize_mode, quantize_granularity, None, logger,
    )  # fmt: skip
    if collector is None:
        return qsym, qargs, aux
    _single(ctx)
    if not isinstance(calib_data, DataIter):
        raise ValueError(f"calib_data must be a DataIter when calib_mode={calib_mode}, got {type(calib_data)}")
    _collect(sym, {**arg_params, **aux_params}, calib_data, collector, num_calib_examples, data_names, label_names)
    return calib_graph(qsym, arg_params, aux, collector, calib_mode or "none", quantized_dtype, logger)


class _Batches(DataIter):
    """A DataLoader as a DataIter."""

    def __init__(self, loader: Any) -> None:
        super().__init__()
        self._loader = loader

    def __iter__(self) -> Any:
        for batch in self._loader:
            yield DataBatch(data=[batch[0]] if isinstance(batch, (list, tuple)) else [batch])

    def reset(self) -> None:
        """Does nothing, as each iteration over a DataLoader starts from the beginning."""


def quantize_net_v2(
    network: Any, quantized_dtype: str = "auto", quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise", exclude_layers: Any = None, exclude_layers_match: Any = None,
    exclude_operators: Any = None, calib_data: Any = None, data_shapes: Any = None, calib_mode: str | None = "none",
    num_calib_examples: int | None = None, ctx: Any = None, LayerOutputCollector: Any = None, logger: Any = None,
) -> Any:  # fmt: skip
    """A block with 8-bit convolutions and dense layers, made from a HybridBlock.

    Args:
        network: the HybridBlock, initialized.
        quantized_dtype: dtype of the layers' inputs, "int8", "uint8" or "auto".
        quantize_mode: "full" or "smart", the same here.
        quantize_granularity: "tensor-wise".
        exclude_layers: names of layers that stay as they are, a list.
        exclude_layers_match: parts of names of layers that stay as they are, a list.
        exclude_operators: names of operators that stay as they are, a list.
        calib_data: a DataIter or DataLoader for the ranges, which also gives the shapes.
        data_shapes: DataDescs or shapes of the inputs, if there is no `calib_data`.
        calib_mode: "none" or None, "naive", "entropy" or "customize", as in `quantize_model` and `quantize_graph`.
        num_calib_examples: samples that are read at most; None for all.
        ctx: context of the parameters; None is the CPU.
        LayerOutputCollector: what collects in the mode "customize"; see `quantize_graph`.
        logger: accepted, without effect.

    Returns:
        A SymbolBlock.

    Raises:
        ValueError: there are neither data nor shapes, an argument has another value, or names are no list.
        TypeError: `calib_data` is no iterator.
        MXNetError: `quantize_mode` has another value; `quantized_dtype` is "uint8" and the data has negative numbers.
        NotImplementedError: `quantize_granularity` is "channel-wise".

    Example:
        >>> net = gluon.nn.Dense(1, use_bias=False, in_units=2)
        >>> net.initialize(mx.init.One())
        >>> quantized = mx.contrib.quantization.quantize_net_v2(net, data_shapes=[(1, 2)])
        >>> quantized(nd.array([[1, 2]])).asnumpy().round(1)
        array([[3.]], dtype=float32)

    Source: `mxnet.contrib.quantization.quantize_net_v2` of MXNet 1.9.1.
    """
    if calib_data is not None and not isinstance(calib_data, DataIter):
        try:
            first = next(iter(calib_data))
        except (TypeError, StopIteration) as e:
            raise TypeError(f"calib_data is not a valid iterator. {str(e) or 'it is empty'}") from None
        shapes = [(first[0] if isinstance(first, (list, tuple)) else first).shape]
        calib_data = _Batches(calib_data)
    else:
        shapes = [] if calib_data is None else [getattr(d, "shape", d) for d in calib_data.provide_data]
    shapes = [getattr(d, "shape", d) for d in data_shapes] if data_shapes else shapes
    if not shapes:
        raise ValueError("data_shapes required")
    for s in shapes:
        if not isinstance(s, tuple) or not all(isinstance(n, (int, np.integer)) for n in s):
            raise ValueError(f"data_shapes: expected DataDescs or tuples of ints, got {s!r}")
    network.hybridize()
    network(*[nd.zeros(s) for s in shapes])
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "net")
        network.export(prefix, epoch=0)
        sym = load(f"{prefix}-symbol.json")
        args, aux = model.load_params(prefix, 0)
    names = [n for n in sym.list_arguments() if n not in args]
    excluded = list(_list_of("exclude_layers", exclude_layers))
    for part in _list_of("exclude_layers_match", exclude_layers_match):
        excluded += [n.name for n in sym._nodes() if part in n.name]
    qsym, qargs, aux, collector = _quantized(
        sym, args, aux, ctx, excluded, exclude_operators, calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity, LayerOutputCollector, logger, fused=True,
    )  # fmt: skip
    if collector is not None:
        _single(ctx)
        if calib_data is None:
            raise ValueError(f"calib_data must be provided when calib_mode={calib_mode}")
        _collect(sym, {**args, **aux}, calib_data, collector, num_calib_examples, names)
        qsym, qargs, aux = calib_graph(qsym, args, aux, collector, calib_mode or "none", quantized_dtype, logger)
    net = SymbolBlock(qsym, [var(n) for n in names])
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "net.params")
        nd.save(file, {**{f"arg:{k}": v for k, v in qargs.items()}, **{f"aux:{k}": v for k, v in aux.items()}})
        net.collect_params().load(file, ctx or cpu(), cast_dtype=True, dtype_source="saved")
    return net


def quantize_net(
    network: Any, quantized_dtype: str = "auto", quantize_mode: str = "full", exclude_layers: Any = None,
    exclude_layers_match: Any = None, exclude_operators: Any = None, calib_data: Any = None, data_shapes: Any = None,
    calib_mode: str | None = "none", num_calib_examples: int | None = None, ctx: Any = None, logger: Any = None,
) -> Any:  # fmt: skip
    """`quantize_net_v2` under its first name, which warns of it.

    Args:
        network, quantized_dtype, quantize_mode, exclude_layers, exclude_layers_match: as in `quantize_net_v2`.
        exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples, ctx, logger: as in
            `quantize_net_v2`.

    Returns:
        A SymbolBlock.

    Raises:
        ValueError: there are neither data nor shapes, an argument has another value, or names are no list.
        TypeError: `calib_data` is no iterator.
        MXNetError: `quantize_mode` has another value; `quantized_dtype` is "uint8" and the data has negative numbers.

    Example:
        >>> net = gluon.nn.Dense(1, use_bias=False, in_units=2)
        >>> net.initialize(mx.init.One())
        >>> quantized = mx.contrib.quantization.quantize_net(net, data_shapes=[(1, 2)])
        >>> quantized(nd.array([[1, 2]])).asnumpy().round(1)
        array([[3.]], dtype=float32)

    Source: `mxnet.contrib.quantization.quantize_net` of MXNet 1.9.1.
    """
    warnings.warn("quantize_net will be deprecated after MXNet 2.0, please use quantize_net_v2.", stacklevel=2)
    return quantize_net_v2(network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers,
                           exclude_layers_match, exclude_operators, calib_data, data_shapes, calib_mode,
                           num_calib_examples, ctx, None, logger)  # fmt: skip
