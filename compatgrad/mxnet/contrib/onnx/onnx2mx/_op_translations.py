"""`CONVERTERS`: for each ONNX operator a function that takes a `Node` and returns a symbol or a list of symbols."""

import functools

import numpy as np

from .... import symbol as S

_NO_END = 2**31 - 1  # ONNX writes the largest integer where a slice goes to the end


def _unary(function, **options):
    return lambda node: function(node.symbol(0), name=node.name, **options)


def _binary(function):
    return lambda node: function(node.symbol(0), node.symbol(1), name=node.name)


def _each(function):
    """The converter of an operator with any number of inputs, which a function of two symbols combines."""
    return lambda node: functools.reduce(function, node.symbols())


def _mean(node):
    return functools.reduce(S.broadcast_add, node.symbols()) / len(node)


def _axes(node, place):
    """Axes, which are an attribute or, in newer opsets, an input; None if they are not given."""
    if node.given(place):
        return tuple(int(a) for a in node.value(place))
    axes = node.attr("axes")
    return None if axes is None else tuple(axes)


# ---- layers ----------------------------------------------------------------------------------------------------------


def _dtype(number):
    from onnx import helper

    return helper.tensor_dtype_to_np_dtype(int(number)).name


def _pad_symbol(x, begin, end, value):
    widths = [0, 0, 0, 0, *(n for pair in zip(begin, end, strict=True) for n in pair)]
    return S.pad(x, mode="constant", pad_width=tuple(widths), constant_value=value)


def _padding(node, dimensions):
    """The padding before and after each spatial dimension."""
    if node.attr("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        node.refuse(f"auto_pad={node.attr('auto_pad')} depends on the input's size")
    pads = [int(p) for p in node.attr("pads", [0] * (2 * dimensions))]
    return pads[:dimensions], pads[dimensions:]


def _conv(node):
    weight = node.value(1)
    n = weight.ndim - 2
    begin, end = _padding(node, n)
    x = node.symbol(0)
    if begin != end:
        x, begin = _pad_symbol(x, begin, end, 0.0), [0] * n
    inputs = [x, *node.symbols()[1:]]
    return S.Convolution(
        *inputs, kernel=weight.shape[2:], stride=tuple(node.attr("strides", [1] * n)), pad=tuple(begin),
        dilate=tuple(node.attr("dilations", [1] * n)), num_filter=weight.shape[0], num_group=node.attr("group", 1),
        no_bias=len(inputs) == 2, name=node.name,
    )  # fmt: skip


def _deconv(node):
    weight = node.value(1)
    n, groups = weight.ndim - 2, node.attr("group", 1)
    begin, end = _padding(node, n)
    if begin != end or node.attr("output_shape"):
        node.refuse("padding that differs at the two ends, or output_shape")
    return S.Deconvolution(
        *node.symbols(), kernel=weight.shape[2:], stride=tuple(node.attr("strides", [1] * n)), pad=tuple(begin),
        dilate=tuple(node.attr("dilations", [1] * n)), adj=tuple(node.attr("output_padding", [0] * n)),
        num_filter=weight.shape[1] * groups, num_group=groups, no_bias=len(node) == 2, name=node.name,
    )  # fmt: skip


def _gemm(node):
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if (node.attr("transA", 0), node.attr("transB", 0), alpha, beta) == (0, 1, 1.0, 1.0) and node.is_constant(1):
        bias = node.value(2) if node.given(2) and node.is_constant(2) else None
        units = node.value(1).shape[0]
        if not node.given(2) or (bias is not None and bias.shape == (units,)):
            return S.FullyConnected(
                *node.symbols(), num_hidden=units, no_bias=not node.given(2), flatten=False, name=node.name
            )
    turned = {"transpose_a": bool(node.attr("transA", 0)), "transpose_b": bool(node.attr("transB", 0))}
    y = alpha * S.dot(node.symbol(0), node.symbol(1), **turned)
    return S.broadcast_add(y, beta * node.symbol(2)) if node.given(2) else y


def _matmul(node):
    if node.is_constant(1) and node.value(1).ndim == 2:
        return S.dot(node.symbol(0), node.symbol(1), name=node.name)
    return S.linalg_gemm2(node.symbol(0), node.symbol(1), name=node.name)


def _batch_norm(node):
    if node.attr("training_mode", 0):
        node.refuse("training_mode")
    momentum, eps = node.attr("momentum", 0.9), node.attr("epsilon", 1e-5)
    return S.BatchNorm(*node.symbols(), eps=eps, momentum=momentum, fix_gamma=False, name=node.name)


def _pool(kind):
    def convert(node):
        kernel = tuple(node.attr("kernel_shape"))
        n = len(kernel)
        if any(d != 1 for d in node.attr("dilations", [])) or len(node.outputs) > 1:
            node.refuse("dilations, or the places of the maxima")
        begin, end = _padding(node, n)
        counted = bool(node.attr("count_include_pad", 0))
        x = node.symbol(0)
        if begin != end:
            if kind == "avg" and not counted:
                node.refuse("an average over padding that differs at the two ends and is not counted")
            x, begin = _pad_symbol(x, begin, end, -np.inf if kind == "max" else 0.0), [0] * n
        options = {"p_value": node.attr("p", 2)} if kind == "lp" else {}
        return S.Pooling(
            x, kernel=kernel, pool_type=kind, stride=tuple(node.attr("strides", [1] * n)), pad=tuple(begin),
            pooling_convention="full" if node.attr("ceil_mode", 0) else "valid", count_include_pad=counted,
            name=node.name, **options,
        )  # fmt: skip

    return convert


def _global_pool(kind):
    def convert(node):
        options = {"p_value": node.attr("p", 2)} if kind == "lp" else {}
        return S.Pooling(node.symbol(0), global_pool=True, kernel=(1, 1), pool_type=kind, name=node.name, **options)

    return convert


def _roi_pool(node):
    size, scale = tuple(node.attr("pooled_shape")), node.attr("spatial_scale", 1.0)
    return S.ROIPooling(node.symbol(0), node.symbol(1), pooled_size=size, spatial_scale=scale, name=node.name)


def _dropout(node):
    ratio = float(node.value(1)) if node.given(1) else node.attr("ratio", 0.5)
    return S.Dropout(node.symbol(0), p=ratio, name=node.name)


def _softmax(function):
    def convert(node):
        axis = node.attr("axis", -1 if node.opset >= 13 else 1)
        if node.opset >= 13 or axis == -1:
            return function(node.symbol(0), axis=axis, name=node.name)
        if axis < 0:
            node.refuse("a negative axis before opset 13")
        rows = S.reshape(node.symbol(0), shape=(0,) * axis + (-1,))  # one row of all that follows the axis
        return S.reshape_like(function(rows, axis=-1), node.symbol(0), name=node.name)

    return convert


def _leaky(kind, slope=None):
    def convert(node):
        options = {} if slope is None else {"slope": node.attr("alpha", slope)}
        return S.LeakyReLU(node.symbol(0), act_type=kind, name=node.name, **options)

    return convert


def _prelu(node):
    slope = S.reshape(node.symbol(1), shape=(-1,))
    return S.LeakyReLU(node.symbol(0), slope, act_type="prelu", name=node.name)


def _lrn(node):
    alpha, beta, bias = node.attr("alpha", 1e-4), node.attr("beta", 0.75), node.attr("bias", 1.0)
    return S.LRN(node.symbol(0), alpha=alpha, beta=beta, knorm=bias, nsize=node.attr("size"), name=node.name)


def _instance_norm(node):
    return S.InstanceNorm(*node.symbols(), eps=node.attr("epsilon", 1e-5), name=node.name)


def _layer_norm(node):
    if len(node.outputs) > 1 or not node.given(2) or node.attr("axis", -1) != -1:
        node.refuse("more than one axis, more than one output, or no shift")
    return S.LayerNorm(*node.symbols(), axis=-1, eps=node.attr("epsilon", 1e-5), name=node.name)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def _reshape(node):
    shape = tuple(int(n) for n in node.value(1)) if node.given(1) else tuple(node.attr("shape"))
    if node.attr("allowzero", 0) and 0 in shape:
        node.refuse("allowzero")
    return S.reshape(node.symbol(0), shape=shape, name=node.name)


def _flatten(node):
    axis = node.attr("axis", 1)
    if axis not in (0, 1):
        node.refuse(f"axis={axis}: only 0 and 1")
    x = node.symbol(0)
    return S.Flatten(x, name=node.name) if axis else S.reshape(x, shape=(1, -1), name=node.name)


def _squeeze(node):
    return S.squeeze(node.symbol(0), axis=_axes(node, 1), name=node.name)


def _unsqueeze(node):
    axes = _axes(node, 1)
    if len(axes) > 1 and min(axes) < 0:
        node.refuse("several axes, of which one is negative")
    return functools.reduce(lambda x, axis: S.expand_dims(x, axis=axis), sorted(axes), node.symbol(0))


def _split(node):
    axis, parts = node.attr("axis", 0), len(node.outputs)
    sizes = [int(n) for n in node.value(1)] if node.given(1) else node.attr("split")
    if sizes is None or len(set(sizes)) == 1:
        made = S.SliceChannel(node.symbol(0), num_outputs=parts, axis=axis, name=node.name)
        return [made[i] for i in range(parts)]
    ends = np.cumsum(sizes).tolist()
    return [S.slice_axis(node.symbol(0), axis=axis, begin=e - n, end=e) for n, e in zip(sizes, ends, strict=True)]


def _slice(node):
    if node.given(1):
        begins, ends = ([int(n) for n in node.value(i)] for i in (1, 2))
        axes = [int(n) for n in node.value(3)] if node.given(3) else list(range(len(begins)))
        steps = [int(n) for n in node.value(4)] if node.given(4) else [1] * len(begins)
    else:
        begins, ends = list(node.attr("starts")), list(node.attr("ends"))
        axes, steps = list(node.attr("axes", range(len(begins)))), [1] * len(begins)
    x = node.symbol(0)
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        if step == 1:
            x = S.slice_axis(x, axis=axis, begin=begin, end=None if end >= _NO_END else end)
            continue
        if axis < 0 or step < 0:
            node.refuse("a step on a negative axis, or a negative step")
        before = (None,) * axis
        x = S.slice(x, begin=(*before, begin), end=(*before, None if end >= _NO_END else end), step=(*before, step))
    return x


def _pad(node):
    pads = [int(n) for n in (node.value(1) if node.given(1) else node.attr("pads"))]
    value = float(node.value(2).item()) if node.given(2) else node.attr("value", 0.0)
    n = len(pads) // 2
    widths = tuple(w for pair in zip(pads[:n], pads[n:], strict=True) for w in pair)
    mode = node.attr("mode", "constant")
    return S.pad(node.symbol(0), mode=mode, pad_width=widths, constant_value=value, name=node.name)


def _transpose(node):
    options = {"axes": tuple(node.attr("perm"))} if node.attr("perm") else {}
    return S.transpose(node.symbol(0), name=node.name, **options)


def _concat(node):
    return S.concat(*node.symbols(), dim=node.attr("axis", 1), name=node.name)


def _gather(node):
    return S.take(node.symbol(0), node.symbol(1), axis=node.attr("axis", 0), mode="wrap", name=node.name)


def _blocks(function):
    return lambda node: function(node.symbol(0), block_size=node.attr("blocksize"), name=node.name)


def _constant(node):
    from onnx import numpy_helper

    kind, value = next(iter(node.attrs.items()))
    dtypes = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    if kind != "value" and kind not in dtypes:
        node.refuse(kind)
    value = numpy_helper.to_array(value) if kind == "value" else np.array(value, dtypes[kind])
    return [node.set_value(node.outputs[0], value)]


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _clip(node):
    low = float(node.value(1).item()) if node.given(1) else node.attr("min", -np.inf)
    high = float(node.value(2).item()) if node.given(2) else node.attr("max", np.inf)
    return S.clip(node.symbol(0), a_min=low, a_max=high, name=node.name)


def _reduce(function, before=None, after=None):
    def convert(node):
        axes = _axes(node, 1)
        if not axes and node.attr("noop_with_empty_axes", 0):
            return node.symbol(0)
        x = node.symbol(0) if before is None else before(node.symbol(0))
        options = {"axis": axes} if axes else {}
        y = function(x, keepdims=bool(node.attr("keepdims", 1)), **options)
        return y if after is None else after(y)

    return convert


def _arg(function):
    def convert(node):
        if node.attr("select_last_index", 0):
            node.refuse("select_last_index")
        found = function(node.symbol(0), axis=node.attr("axis", 0), keepdims=bool(node.attr("keepdims", 1)))
        return S.cast(found, dtype="int64", name=node.name)

    return convert


def _top_k(node):
    k = int(node.value(1).item()) if node.given(1) else node.attr("k")
    options = {"is_ascend": not node.attr("largest", 1), "ret_typ": "both", "dtype": "int64"}
    made = S.topk(node.symbol(0), axis=node.attr("axis", -1), k=k, name=node.name, **options)
    return [made[0], made[1]]


def _lp_normalization(node):
    axis, p = node.attr("axis", -1), node.attr("p", 2)
    return S.broadcast_div(node.symbol(0), S.norm(node.symbol(0), ord=p, axis=axis, keepdims=True), name=node.name)


def _cast(node):
    return S.cast(node.symbol(0), dtype=_dtype(node.attr("to")), name=node.name)


def _hard_sigmoid(node):
    return S.hard_sigmoid(node.symbol(0), alpha=node.attr("alpha", 0.2), beta=node.attr("beta", 0.5), name=node.name)


def _random(kind, first, second, defaults):
    """Numbers of a shape, or with `like` of the shape of an input."""

    def convert(node):
        numbers = [node.attr(name, default) for name, default in zip((first, second), defaults, strict=True)]
        if len(node):
            like = {"uniform": S.random.uniform_like, "normal": S.random.normal_like}[kind]
            return like(node.symbol(0), *numbers, name=node.name)
        make = {"uniform": S.random.uniform, "normal": S.random.normal}[kind]
        return make(*numbers, shape=tuple(node.attr("shape")), dtype=_dtype(node.attr("dtype", 1)))

    return convert


def _multinomial(node):
    shape, dtype = node.attr("sample_size", 1), _dtype(node.attr("dtype", 6))
    return S.sample_multinomial(S.softmax(node.symbol(0)), shape=shape, dtype=dtype, name=node.name)


CONVERTERS = {
    "Abs": _unary(S.abs),
    "Acos": _unary(S.arccos),
    "Add": _binary(S.broadcast_add),
    "And": _binary(S.broadcast_logical_and),
    "ArgMax": _arg(S.argmax),
    "ArgMin": _arg(S.argmin),
    "Asin": _unary(S.arcsin),
    "Atan": _unary(S.arctan),
    "AveragePool": _pool("avg"),
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Ceil": _unary(S.ceil),
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "Conv": _conv,
    "ConvTranspose": _deconv,
    "Cos": _unary(S.cos),
    "DepthToSpace": _blocks(S.depth_to_space),
    "Div": _binary(S.broadcast_div),
    "Dropout": _dropout,
    "Elu": _leaky("elu", 1.0),
    "Equal": _binary(S.broadcast_equal),
    "Erf": _unary(S.erf),
    "Exp": _unary(S.exp),
    "Flatten": _flatten,
    "Floor": _unary(S.floor),
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_pool("avg"),
    "GlobalLpPool": _global_pool("lp"),
    "GlobalMaxPool": _global_pool("max"),
    "Greater": _binary(S.broadcast_greater),
    "HardSigmoid": _hard_sigmoid,
    "Identity": _unary(S.identity),
    "InstanceNormalization": _instance_norm,
    "LRN": _lrn,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _leaky("leaky", 0.01),
    "Less": _binary(S.broadcast_lesser),
    "Log": _unary(S.log),
    "LogSoftmax": _softmax(S.log_softmax),
    "LpNormalization": _lp_normalization,
    "LpPool": _pool("lp"),
    "MatMul": _matmul,
    "Max": _each(S.broadcast_maximum),
    "MaxPool": _pool("max"),
    "MaxRoiPool": _roi_pool,
    "Mean": _mean,
    "Min": _each(S.broadcast_minimum),
    "Mul": _binary(S.broadcast_mul),
    "Multinomial": _multinomial,
    "Neg": _unary(S.negative),
    "Not": _unary(S.logical_not),
    "Or": _binary(S.broadcast_logical_or),
    "PRelu": _prelu,
    "Pad": _pad,
    "Pow": _binary(S.broadcast_power),
    "RandomNormal": _random("normal", "mean", "scale", (0.0, 1.0)),
    "RandomNormalLike": _random("normal", "mean", "scale", (0.0, 1.0)),
    "RandomUniform": _random("uniform", "low", "high", (0.0, 1.0)),
    "RandomUniformLike": _random("uniform", "low", "high", (0.0, 1.0)),
    "Reciprocal": _unary(S.reciprocal),
    "ReduceL1": _reduce(S.sum, before=S.abs),
    "ReduceL2": _reduce(S.sum, before=S.square, after=S.sqrt),
    "ReduceLogSum": _reduce(S.sum, after=S.log),
    "ReduceLogSumExp": _reduce(S.sum, before=S.exp, after=S.log),
    "ReduceMax": _reduce(S.max),
    "ReduceMean": _reduce(S.mean),
    "ReduceMin": _reduce(S.min),
    "ReduceProd": _reduce(S.prod),
    "ReduceSum": _reduce(S.sum),
    "ReduceSumSquare": _reduce(S.sum, before=S.square),
    "Relu": _unary(S.relu),
    "Reshape": _reshape,
    "Selu": _leaky("selu"),
    "Shape": _unary(S.shape_array),
    "Sigmoid": _unary(S.sigmoid),
    "Sin": _unary(S.sin),
    "Size": _unary(S.size_array),
    "Slice": _slice,
    "Softmax": _softmax(S.softmax),
    "Softplus": _unary(S.Activation, act_type="softrelu"),
    "Softsign": _unary(S.softsign),
    "SpaceToDepth": _blocks(S.space_to_depth),
    "Split": _split,
    "Sqrt": _unary(S.sqrt),
    "Squeeze": _squeeze,
    "Sub": _binary(S.broadcast_sub),
    "Sum": _each(S.broadcast_add),
    "Tan": _unary(S.tan),
    "Tanh": _unary(S.tanh),
    "TopK": _top_k,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": lambda node: S.where(*node.symbols(), name=node.name),
    "Xor": _binary(S.broadcast_logical_xor),
}
