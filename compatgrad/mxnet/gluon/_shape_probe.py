"""Infers shapes of parameters: a forward pass runs with stand-ins, whose shapes the operators that read them set."""

import inspect

from compatgrad import _C

from .. import ndarray as nd
from .._custom_op import prop_of
from ..util import is_np_shape
from .utils import shape_is_known


def is_known(param):
    """Whether the shape of the parameter has no open dimensions."""
    return shape_is_known(param.shape)


class Unknown(nd.NDArray):
    """Stands for a parameter of unknown shape, which the first operator that reads it sets.

    It is a subclass of NDArray, so that in `array + unknown` Python asks this class first.
    """

    def __init__(self, param):
        _C.Variable.__init__(self, None, False)
        self.param = param

    @property
    def shape(self):
        """The shape, once it is known (ValueError before)."""
        check_all_known([self.param])
        return self.param.shape

    def settled(self, shape=None):
        """Zeros of the parameter's shape, which is `shape` where that agrees with what is known."""
        if shape is not None and not is_known(self.param):
            self.param.shape = shape
        check_all_known([self.param])
        return stand_in(self.param)


def _arithmetic(name):
    def method(self, other):
        # operators are elementwise here: the parameter has the shape of the other side
        return getattr(self.settled(getattr(other, "shape", None)), name)(other)

    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "eq", "ne", "lt", "le", "gt", "ge"):
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(Unknown, _form, _arithmetic(_form))


def stand_in(param):
    """Zeros of the parameter's shape, or an Unknown."""
    if not is_known(param):
        return Unknown(param)
    return param._zeros(param.shape, param.dtype, None, "default")


def check_all_known(params):
    """Raises ValueError, which lists the parameters whose shape is not known yet."""
    missing = [param for param in params if not is_known(param)]
    if missing:
        mark = "-1s" if is_np_shape() else "0s"
        lines = "".join(f"\n\t{param.name}: {param.shape}" for param in missing)
        raise ValueError(
            f"Cannot decide shape for the following arguments ({mark} in shape means unknown dimensions). "
            f"Consider providing them as input:{lines}"
        )


# ---- operators ----
# name -> function(shape of the data, attributes) -> shapes of the parameters by the names of the operator's inputs


def _fully_connected(data, a):
    units = int(a["num_hidden"])
    width = data[-1]
    if _flag(a.get("flatten", True)):
        width = 1
        for size in data[1:]:
            width *= size
    return {"weight": (units, width), "bias": (units,)}


def conv_weight_shape(channels, in_channels, kernel, groups, layout, transposed=False):
    """Shape of a convolution's or (`transposed`) deconvolution's weight; 0 where it depends on unknown inputs."""
    channels, in_channels = (in_channels, channels) if transposed else (channels, in_channels)
    inner = in_channels // groups
    if layout is not None and layout.endswith("C"):
        return (channels, *kernel, inner)
    return (channels, inner, *kernel)


def _convolution(data, a, transposed=False):
    layout = a.get("layout")
    if layout in ("None", ""):
        layout = None
    in_channels = data[layout.find("C") if layout else 1]
    channels = int(a["num_filter"])
    weight = conv_weight_shape(
        channels, in_channels, _ints(a["kernel"]), int(a.get("num_group", 1)), layout, transposed
    )
    return {"weight": weight, "bias": (channels,)}


def _deconvolution(data, a):
    return _convolution(data, a, transposed=True)


def _per_channel(*names, axis):
    def shapes(data, a):
        return dict.fromkeys(names, (data[int(a.get("axis", axis))],))

    return shapes


def _leaky_relu(data, a):
    return {"gamma": (data[1] if len(data) > 1 else 1,)} if a.get("act_type") == "prelu" else {}


def _embedding(data, a):
    return {"weight": (int(a["input_dim"]), int(a["output_dim"]))}


_RULES = {
    "FullyConnected": _fully_connected,
    "Convolution": _convolution,
    "Deconvolution": _deconvolution,
    "BatchNorm": _per_channel("gamma", "beta", "moving_mean", "moving_var", axis=1),
    "LayerNorm": _per_channel("gamma", "beta", axis=-1),
    "InstanceNorm": _per_channel("gamma", "beta", axis=1),
    "LeakyReLU": _leaky_relu,
    "Embedding": _embedding,
}
_INPUTS = {
    "FullyConnected": ("data", "weight", "bias"),
    "Convolution": ("data", "weight", "bias"),
    "Deconvolution": ("data", "weight", "bias"),
    "BatchNorm": ("data", "gamma", "beta", "moving_mean", "moving_var"),
    "LayerNorm": ("data", "gamma", "beta"),
    "InstanceNorm": ("data", "gamma", "beta"),
    "LeakyReLU": ("data", "gamma"),
    "Embedding": ("data", "weight"),
}
_NUMPY_NAMES = {
    "fully_connected": "FullyConnected",
    "convolution": "Convolution",
    "deconvolution": "Deconvolution",
    "batch_norm": "BatchNorm",
    "layer_norm": "LayerNorm",
    "leaky_relu": "LeakyReLU",
    "embedding": "Embedding",
}


def _ints(value):
    if isinstance(value, str):
        value = [int(part) for part in value.strip("()[] ").split(",") if part.strip()]
    return tuple(value)


def _flag(value):
    return value not in (False, 0, "False", "0", "false")


class Operators:
    """The operators of a module (`mxnet.nd`); an operator that gets an Unknown first sets its shape."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if inspect.ismodule(found):
            return Operators(found)
        return _settling(name, found) if callable(found) and not inspect.isclass(found) else found


def _settling(name, function):
    def call(*args, **kwargs):
        everything = (*args, *kwargs.values())
        if not any(isinstance(value, Unknown) for value in everything):
            return function(*args, **kwargs)
        shapes = _custom(args, kwargs) if name == "Custom" else _shapes_for(name, args, kwargs)
        inputs = tuple(shapes) if name == "Custom" else _INPUTS.get(_NUMPY_NAMES.get(name, name), ())
        args = [
            _settle(value, shapes.get(inputs[i] if i < len(inputs) else None, shapes.get("")))
            for i, value in enumerate(args)
        ]
        kwargs = {key: _settle(value, shapes.get(key, shapes.get(""))) for key, value in kwargs.items()}
        return function(*args, **kwargs)

    return call


def _settle(value, shape):
    return value.settled(shape) if isinstance(value, Unknown) else value


def _custom(args, kwargs):
    """Shapes of all inputs and states by name, from the custom operator's infer_shape."""
    prop = prop_of({key: value for key, value in kwargs.items() if not isinstance(value, nd.NDArray)})
    names = prop.list_arguments()
    given = dict(zip(names, args, strict=False)) | kwargs
    known = [[] if isinstance(given[n], Unknown) else list(given[n].shape) for n in names]
    found = prop.infer_shape(known)
    shapes = (*found[0], *(found[2] if len(found) > 2 else ()))
    return {n: tuple(s) for n, s in zip([*names, *prop.list_auxiliary_states()], shapes, strict=True)}


def _shapes_for(name, args, kwargs):
    """Shapes of inputs by name; "" stands for all inputs of an elementwise operator."""
    name = _NUMPY_NAMES.get(name, name)
    if name in _RULES:
        data = kwargs.get("data", args[0] if args else None)
        return _RULES[name](data.shape, kwargs)
    if name.startswith("elemwise_") or name in ("add_n", "ElementWiseSum"):
        arrays = (v for v in (*args, *kwargs.values()) if isinstance(v, nd.NDArray) and not isinstance(v, Unknown))
        return {"": next(arrays).shape}
    return {}
