from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer.functions as functions
from compatgrad.chainer import configuration, initializer, link
from compatgrad.chainer.links.caffe.protobuf3 import caffe_pb2 as caffe_pb
from compatgrad.chainer.links.connection import convolution_2d, deconvolution_2d, linear, scale
from compatgrad.chainer.links.normalization import batch_normalization
from compatgrad.chainer.utils import argument
from compatgrad.core.files import naming

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_type_to_method = {}
_oldname_to_method = {}


def _layer(typ, oldname):
    """Registers a method that sets up layers of a type; `oldname` is its name in Caffe's first format, or
    None."""

    def decorator(meth):
        _type_to_method[typ] = meth
        if oldname is not None:
            _oldname_to_method[getattr(caffe_pb.V1LayerParameter, oldname)] = meth
        return meth

    return decorator


class _Blob(initializer.Initializer):
    def __init__(self, blob):
        super().__init__()
        self.data = numpy.asarray(blob.data, numpy.float32)

    def __call__(self, array):
        array[...] = self.data[: array.size].reshape(array.shape)


class _ConvolutionBlob(_Blob):
    # The filters of a grouped convolution, as blocks on the diagonal of a dense filter.

    def __init__(self, blob, group):
        super().__init__(blob)
        self.group = group

    def __call__(self, array):
        n_out, n_in = (n // self.group for n in array.shape[:2])
        array[...] = 0
        for i, part in enumerate(numpy.split(self.data, self.group)):
            block = array[i * n_out : (i + 1) * n_out, i * n_in : (i + 1) * n_in]
            block[...] = part.reshape(block.shape)


# the errors that reading a layer with missing or malformed settings or blobs raises
_BROKEN = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, AssertionError)


class CaffeFunction(link.Chain):
    """A Caffe model as a link, read from a .caffemodel file: layers with weights are child links, named as the layers
    are. `link(inputs={"data": x}, outputs=["fc8"])` computes blobs by name.

    Args:
        model_path: path of the .caffemodel file.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> from compatgrad.chainer.links import caffe
        >>> caffe.CaffeFunction("missing.caffemodel")
        Traceback (most recent call last):
          ...
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.caffemodel'

    Source: `chainer.links.caffe.CaffeFunction` of Chainer 7.8.1.
    """

    def __init__(self, model_path: str) -> None:
        super().__init__()
        net = caffe_pb.NetParameter()
        with open(model_path, "rb") as model_file:
            content = model_file.read()
        try:
            net.MergeFromString(content)
        except ValueError as e:
            raise ValueError(f"{model_path} cannot be read as a Caffe model: {e}") from e
        self.forwards = {}
        self.split_map = {}
        self.layers = []
        methods = _type_to_method if net.layer else _oldname_to_method
        for layer in net.layer or net.layers:
            setup = methods.get(layer.type)
            if setup is not None:
                try:
                    with naming(model_path, to=RuntimeError):
                        setup(self, layer)
                except _BROKEN as e:
                    raise ValueError(
                        f"{model_path}: layer {layer.name!r} of type {layer.type} lacks settings or blobs of its "
                        f"type has: {e}"
                    ) from e
            else:
                warnings.warn(
                    f'Skip the layer "{layer.name}": CaffeFunction does not support {layer.type} layers.',
                    stacklevel=2,
                )

    def forward(
        self, inputs: Mapping[str, VariableOrArray], outputs: Sequence[str], disable: Sequence[str] = (), **kwargs: Any
    ) -> tuple[Variable, ...]:
        """A tuple of the `outputs` (names of blobs), computed from `inputs`, a dict of Variables by name.

        Layers named in `disable` are left out.
        """
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs, train="train argument is not supported anymore. Use chainer.using_config"
            )
            argument.assert_kwargs_empty(kwargs)
        variables = dict(inputs)
        for name, bottom, top in self.layers:
            known = all(blob in variables for blob in bottom)
            if name in disable or name not in self.forwards or not known:
                continue
            results = self.forwards[name](*[variables[blob] for blob in bottom])
            if not isinstance(results, (tuple, list)):
                results = (results,)
            variables.update(zip(top, results, strict=False))
        self.variables = variables
        return tuple([variables[blob] for blob in outputs])

    def _add_layer(self, layer, forward):
        self.forwards[layer.name] = forward
        bottom = [self.split_map.get(blob, blob) for blob in layer.bottom]
        self.layers.append((layer.name, bottom, list(layer.top)))

    def _add_child(self, layer, child):
        with self.init_scope():
            setattr(self, layer.name, child)
        # children are called by name, so that a copy of this link calls its own child
        return _CallChildLink(self, layer.name)

    @_layer("Concat", "CONCAT")
    def _setup_concat(self, layer):
        param = layer.concat_param
        axis = param.concat_dim if param.axis == 1 else param.axis
        concat = functions.concat
        self._add_layer(layer, lambda *xs: concat(xs, axis=axis))

    def _filters(self, layer, kind, transposed):
        param, blobs = layer.convolution_param, layer.blobs
        num, channels = _get_num(blobs[0]), _get_channels(blobs[0])
        n_in, n_out = (num, channels * param.group) if transposed else (channels * param.group, num)
        return kind(
            n_in,
            n_out,
            _get_ksize(param),
            _get_stride(param),
            _get_pad(param),
            nobias=not param.bias_term,
            initialW=_ConvolutionBlob(blobs[0], param.group),
            initial_bias=_Blob(blobs[1]) if param.bias_term else None,
        )

    @_layer("Convolution", "CONVOLUTION")
    def _setup_convolution(self, layer):
        child = self._filters(layer, convolution_2d.Convolution2D, False)
        self._add_layer(layer, self._add_child(layer, child))

    @_layer("Deconvolution", "DECONVOLUTION")
    def _setup_deconvolution(self, layer):
        child = self._filters(layer, deconvolution_2d.Deconvolution2D, True)
        self._add_layer(layer, self._add_child(layer, child))

    @_layer("Data", "DATA")
    def _setup_data(self, layer):
        pass

    @_layer("Dropout", "DROPOUT")
    def _setup_dropout(self, layer):
        forward = functools.partial(functions.dropout, ratio=layer.dropout_param.dropout_ratio)
        self._add_layer(layer, forward)

    @_layer("InnerProduct", "INNER_PRODUCT")
    def _setup_inner_product(self, layer):
        param, blobs = layer.inner_product_param, layer.blobs
        if param.axis != 1:
            raise RuntimeError("Non-default axis in InnerProduct is not supported")
        child = linear.Linear(
            _get_width(blobs[0]),
            _get_height(blobs[0]),
            nobias=not param.bias_term,
            initialW=_Blob(blobs[0]),
            initial_bias=_Blob(blobs[1]) if param.bias_term else None,
        )
        self._add_layer(layer, self._add_child(layer, child))

    @_layer("LRN", "LRN")
    def _setup_lrn(self, layer):
        param = layer.lrn_param
        if param.norm_region != 0:
            raise RuntimeError("Within-channel LRN is not supported")
        n = param.local_size
        options = {"n": n, "k": param.k, "alpha": param.alpha / n, "beta": param.beta}
        self._add_layer(layer, functools.partial(functions.local_response_normalization, **options))

    @_layer("Pooling", "POOLING")
    def _setup_pooling(self, layer):
        param = layer.pooling_param
        if param.pool > 1:
            raise RuntimeError("Stochastic pooling is not supported")
        pool = functions.average_pooling_2d if param.pool else functions.max_pooling_2d
        ksize = _get_ksize(param)
        options = {"stride": _get_stride(param), "pad": _get_pad(param)}
        if param.global_pooling and not ksize:
            self._add_layer(layer, lambda x: pool(x, x.shape[2:], **options))
        else:
            self._add_layer(layer, lambda x: pool(x, ksize, **options))

    @_layer("ReLU", "RELU")
    def _setup_relu(self, layer):
        slope = layer.relu_param.negative_slope
        forward = functools.partial(functions.leaky_relu, slope=slope) if slope else functions.relu
        self._add_layer(layer, forward)

    @_layer("Reshape", None)
    def _setup_reshape(self, layer):
        shape = list(layer.reshape_param.shape.dim)
        self._add_layer(layer, functools.partial(functions.reshape, shape=shape))

    @_layer("BatchNorm", None)
    def _setup_batchnorm(self, layer):
        param, blobs = layer.batch_norm_param, layer.blobs
        child = batch_normalization.BatchNormalization(
            int(blobs[0].shape.dim[0]),
            decay=param.moving_average_fraction,
            eps=param.eps,
            use_gamma=False,
            use_beta=False,
        )
        _Blob(blobs[0])(child.avg_mean)
        _Blob(blobs[1])(child.avg_var)
        if len(blobs) >= 3:  # Caffe stores sums and the number of their terms, so that the mean is a quotient
            child.avg_mean /= blobs[2].data[0]
            child.avg_var /= blobs[2].data[0]
        forward = functools.partial(self._add_child(layer, child), finetune=False)
        self._add_layer(layer, _in_test_mode(forward) if param.use_global_stats else forward)

    @_layer("Eltwise", "ELTWISE")
    def _setup_eltwise(self, layer):
        param = layer.eltwise_param
        self._add_layer(layer, _EltwiseFunction(param.operation, param.coeff or None))

    @_layer("Scale", None)
    def _setup_scale(self, layer):
        blobs, axis, bias_term = list(layer.blobs), layer.scale_param.axis, layer.scale_param.bias_term
        if len(layer.bottom) == 1:
            child = scale.Scale(axis, tuple(blobs[0].shape.dim), bias_term)
            _Blob(blobs.pop(0))(child.W.data)
        else:
            shape = tuple(blobs[0].shape.dim) if bias_term else None
            child = scale.Scale(axis, bias_term=bias_term, bias_shape=shape)
        if bias_term:
            _Blob(blobs[0])(child.bias.b.data)
        self._add_layer(layer, self._add_child(layer, child))

    @_layer("Slice", "SLICE")
    def _setup_slice(self, layer):
        param = layer.slice_param
        options = {
            "indices_or_sections": list(param.slice_point) or len(layer.top),
            "axis": param.axis if param.HasField("axis") else param.slice_dim,
        }
        self._add_layer(layer, functools.partial(functions.split_axis, **options))

    @_layer("Softmax", "SOFTMAX")
    def _setup_softmax(self, layer):
        _check_softmax_axis(layer)
        self._add_layer(layer, _by_engine(functions.softmax, layer.softmax_param.engine))

    @_layer("Sigmoid", "SIGMOID")
    def _setup_sigmoid(self, layer):
        self._add_layer(layer, _by_engine(functions.sigmoid, layer.sigmoid_param.engine))

    @_layer("SoftmaxWithLoss", "SOFTMAX_LOSS")
    def _setup_softmax_with_loss(self, layer):
        _check_softmax_axis(layer)
        self._add_layer(layer, functions.softmax_cross_entropy)

    @_layer("Split", "SPLIT")
    def _setup_split(self, layer):
        for top in layer.top:
            self.split_map[top] = layer.bottom[0]


def _check_softmax_axis(layer):
    if layer.softmax_param.axis != 1:
        raise RuntimeError("Softmax along non-channel axis is not supported")


def _with_config(name, value, f):
    def forward(*xs):
        with configuration.using_config(name, value):
            return f(*xs)

    return forward


def _in_test_mode(f):
    return _with_config("train", False, f)


def _by_engine(f, engine):
    # the engines DEFAULT, CAFFE and CUDNN
    return f if engine == 0 else _with_config("use_cudnn", engine == 2, f)


def _per_axis(param, name, key, default):
    # Caffe stores one number or a list for all axes, or one field for each axis.
    by_axis = getattr(param, f"{key}_h"), getattr(param, f"{key}_w")
    if by_axis[0] > 0 or (name == "pad" and by_axis[1] > 0):
        return by_axis
    value = getattr(param, name)
    if isinstance(value, int):
        return value
    return value[0] if len(value) == 1 else list(value) or default


def _get_ksize(param):
    return _per_axis(param, "kernel_size", "kernel", [])


def _get_stride(param):
    return _per_axis(param, "stride", "stride", 1)


def _get_pad(param):
    return _per_axis(param, "pad", "pad", 0)


def _get_num(blob):
    return blob.num if blob.num > 0 else blob.shape.dim[0]


def _get_channels(blob):
    return blob.channels if blob.channels > 0 else blob.shape.dim[1]


def _get_matrix_size(blob, size, axis):
    if size > 0:
        return size
    dim = blob.shape.dim
    if len(dim) not in (2, 4):
        raise RuntimeError(f"{len(dim)}-dimensional array is not supported")
    return dim[axis - 2]


def _get_height(blob):
    return _get_matrix_size(blob, blob.height, 0)


def _get_width(blob):
    return _get_matrix_size(blob, blob.width, 1)


class _CallChildLink:
    def __init__(self, caffe_func, name):
        self.name = name
        self.caffe_func = caffe_func

    def __call__(self, *xs, **kwargs):
        return self.caffe_func[self.name](*xs, **kwargs)


class _EltwiseFunction:
    def __init__(self, operation, coeffs=None):
        self.operation = operation
        self.coeffs = coeffs

    def __call__(self, *xs):
        if self.operation == 0:
            return functools.reduce(lambda x, y: x * y, xs)
        if self.operation == 1:
            if self.coeffs is not None:
                assert len(xs) == len(self.coeffs), f"Eltwise has {len(self.coeffs)} coefficients for {len(xs)} inputs"
                xs = [x * coeff for x, coeff in zip(xs, self.coeffs, strict=True)]
            return functools.reduce(lambda x, y: x + y, xs)
        if self.operation == 2:
            return functools.reduce(lambda x, y: functions.maximum(x, y), xs)
        raise ValueError("Invalid EltwiseParameter.EltwiseOp value.")
