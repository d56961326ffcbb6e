"""Which layer or function of torch computes what a function of the engine computes.

`layer_of` gets a function of the engine with its inputs and returns a `Layer`, or None where torch has no equal one;
the function is then written as the ATen calls of which it consists. The frontends share the engine's functions, so this
table serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compatgrad.interop.native._gathered import Gathered

__all__ = ["Layer", "Seen", "layer_of", "put", "taken"]


@dataclass(frozen=True)
class Layer:
    """A layer of torch, or a call of one of its functions.

    kind: the class, such as nn.Linear; empty for a function. arguments: of the class, as text. call: the call, with
    {m} for the module and {0}, {1}, ... for the inputs. inputs: which inputs of the engine's function these are.
    state: for each parameter or buffer of the module its name, the legacy name, and the layout (`put`). extra: those
    that the legacy network does not have, with the value of all elements and the shape. spare: those of `extra` that
    must not be trained. mode: "train" or "eval" where the call computes the legacy result only in this mode. gathered:
    parameters of the module that consist of parts of legacy ones. results: if the call has several results, for each
    the text with {0} for the call's.
    """

    kind: str
    arguments: tuple[str, ...]
    call: str
    inputs: tuple[int, ...]
    state: tuple[tuple[str, str, str], ...] = ()
    extra: tuple[tuple[str, float, tuple[int, ...]], ...] = ()
    spare: tuple[str, ...] = ()
    mode: str = ""
    notes: tuple[str, ...] = ()
    gathered: tuple[tuple[str, Gathered], ...] = ()
    results: tuple[str, ...] = ()


@dataclass
class Seen:
    """A function of the engine that ran: its name, parameters, inputs and outputs, the mode of the run, the ATen calls
    since the function before it, and all calls so far."""

    op: str
    params: Mapping[str, Any]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    train: bool | None  # None: the frontend's layers have no modes
    calls: Sequence[Any] = ()
    before: Sequence[Any] = ()

    def shape(self, i: int) -> tuple[int, ...]:
        return tuple(self.inputs[i].fake.shape) if self.given(i) else ()

    def given(self, i: int) -> bool:
        return i < len(self.inputs) and self.inputs[i] is not None

    def name(self, i: int) -> str | None:
        """The legacy name of an input that is a parameter or buffer."""
        v = self.inputs[i] if i < len(self.inputs) else None
        return v.source if v is not None and v.kind == "state" else None


# ---- layouts ---------------------------------------------------------------------------------------------------------


def put(layout: str, t: torch.Tensor) -> torch.Tensor:
    """A legacy parameter in torch's layout."""
    how, _, rest = layout.partition(":")
    if how == "t":
        return t.t()
    if how in ("flat", "view"):
        return t.reshape([int(n) for n in rest.split("/")[-1].split(",")])
    assert how == "same", layout
    return t


def taken(layout: str, text: str) -> str:
    """Source of the legacy parameter, made from the source of torch's parameter."""
    how, _, rest = layout.partition(":")
    if how == "t":
        return f"{text}.t()"
    if how in ("flat", "view"):
        return f"{text}.view({rest.split('/')[0].replace(',', ', ')})"
    return text


def _view(old: Sequence[int], new: Sequence[int]) -> str:
    if tuple(old) == tuple(new):
        return "same"
    return f"view:{','.join(map(str, old))}/{','.join(map(str, new))}"


# ---- the table -------------------------------------------------------------------------------------------------------

_Writer = Callable[[Seen], "Layer | None"]
_TABLE: dict[str, _Writer] = {}


def _writes(*ops: str) -> Callable[[_Writer], _Writer]:
    def register(f: _Writer) -> _Writer:
        _TABLE.update(dict.fromkeys(ops, f))
        return f

    return register


def layer_of(seen: Seen) -> Layer | None:
    """The layer or call for a function of the engine, or None."""
    writer = _TABLE.get(seen.op)
    if writer is None or not seen.given(0):
        return None
    layer = writer(seen)
    if layer is None or any(not seen.given(i) for i in layer.inputs):
        return None
    return layer


def _several(values: Any, n: int, default: int) -> tuple[int, ...]:
    """`values` for n axes; one number stands for all."""
    given = tuple(int(v) for v in ((values,) if isinstance(values, int) else values or ()))
    if not given:
        return (default,) * n
    return given * n if len(given) == 1 else given


def _text(values: Sequence[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else str(tuple(values))


def _options(**given: tuple[Any, Any]) -> list[str]:
    """Keyword arguments that differ from their defaults."""
    return [f"{name}={value}" for name, (value, default) in given.items() if value != default]


def _number(x: float) -> str:
    """A number as text: a short one that single precision does not distinguish from it, or all digits."""
    short = f"{x:g}"
    return short if abs(float(short) - x) <= 6e-8 * abs(x) else repr(float(x))


def _function(call: str, *inputs: int) -> Layer:
    return Layer("", (), call, inputs or (0,))


# ---- convolutions and linear layers ----------------------------------------------------------------------------------


def _weights(s: Seen, weight: int, bias: int, layout: str = "same") -> tuple[tuple[str, str, str], ...] | None:
    """The state of a layer with a weight and a bias, if both are parameters."""
    w = s.name(weight)
    if w is None or (s.given(bias) and s.name(bias) is None):
        return None
    b = s.name(bias)
    return (("weight", w, layout),) + ((("bias", b, "same"),) if b is not None else ())


@_writes("convolution")
def _convolution(s: Seen) -> Layer | None:
    state, n = _weights(s, 1, 2), len(s.shape(0)) - 2
    p, w = s.params, s.shape(1)
    if state is None or n not in (1, 2, 3) or len(w) != n + 2:
        return None
    stride, pad, dilate = (_several(p[k], n, d) for k, d in (("stride", 1), ("pad", 0), ("dilate", 1)))
    size = [(i + 2 * a - d * (k - 1) - 1) // t + 1
            for i, a, d, k, t in zip(s.shape(0)[2:], pad, dilate, w[2:], stride, strict=True)]  # fmt: skip
    if list(s.outputs[0].fake.shape[2:]) != size:
        return None
    arguments = [str(w[1] * p["groups"]), str(w[0]), _text(w[2:])]
    arguments += _options(stride=(_text(stride), "1"), padding=(_text(pad), "0"), dilation=(_text(dilate), "1"),
                          groups=(p["groups"], 1), bias=(len(state) == 2, True))  # fmt: skip
    return Layer(f"nn.Conv{n}d", tuple(arguments), "{m}({0})", (0,), state)


@_writes("deconvolution", "transposed_convolution")
def _deconvolution(s: Seen) -> Layer | None:
    state, n = _weights(s, 1, 2), len(s.shape(0)) - 2
    p, w, groups = s.params, s.shape(1), s.params.get("groups", 1)
    if state is None or n not in (1, 2, 3) or len(w) != n + 2:
        return None
    stride, pad, dilate = (_several(p[k], n, d) for k, d in (("stride", 1), ("pad", 0), ("dilate", 1)))
    least = [(i - 1) * t - 2 * a + d * (k - 1) + 1
             for i, a, d, k, t in zip(s.shape(0)[2:], pad, dilate, w[2:], stride, strict=True)]  # fmt: skip
    more = [o - m for o, m in zip(s.outputs[0].fake.shape[2:], least, strict=True)]
    if any(not 0 <= m < max(t, d) for m, t, d in zip(more, stride, dilate, strict=True)):
        return None
    arguments = [str(w[0]), str(w[1] * groups), _text(w[2:])]
    arguments += _options(stride=(_text(stride), "1"), padding=(_text(pad), "0"), output_padding=(_text(more), "0"),
                          groups=(groups, 1), bias=(len(state) == 2, True), dilation=(_text(dilate), "1"))  # fmt: skip
    return Layer(f"nn.ConvTranspose{n}d", tuple(arguments), "{m}({0})", (0,), state)


@_writes("depthwise_convolution")
def _depthwise(s: Seen) -> Layer | None:
    n, w = len(s.shape(0)) - 2, s.shape(1)
    p, channels = s.params, s.shape(0)[1]
    if n not in (1, 2) or len(w) != n + 1 or w[0] % channels:
        return None
    state = _weights(s, 1, 2, _view(w, (w[0], 1, *w[1:])))
    if state is None:
        return None
    stride, pad, dilate = (_several(p[k], n, d) for k, d in (("stride", 1), ("pad", 0), ("dilate", 1)))
    arguments = [str(channels), str(w[0]), _text(w[1:])]
    arguments += _options(stride=(_text(stride), "1"), padding=(_text(pad), "0"), dilation=(_text(dilate), "1"),
                          groups=(channels, 1), bias=(len(state) == 2, True))  # fmt: skip
    return Layer(f"nn.Conv{n}d", tuple(arguments), "{m}({0})", (0,), state)


@_writes("linear")
def _linear(s: Seen) -> Layer | None:
    state = _weights(s, 1, 2)
    if state is None or len(s.shape(1)) != 2:
        return None
    n_out, n_in = s.shape(1)
    arguments = (str(n_in), str(n_out), *_options(bias=(len(state) == 2, True)))
    return Layer("nn.Linear", arguments, "{m}({0})", (0,), state)


@_writes("affine")
def _affine(s: Seen) -> Layer | None:
    """nnabla's weight has the shape (inputs, outputs)."""
    state, base = _weights(s, 1, 2, "t"), s.params["base_axis"]
    if state is None or len(s.shape(1)) != 2:
        return None
    n_in, n_out = s.shape(1)
    base %= len(s.shape(0))
    call = "{m}({0})" if base == len(s.shape(0)) - 1 else f"{{m}}({{0}}.flatten({base}))"
    arguments = (str(n_in), str(n_out), *_options(bias=(len(state) == 2, True)))
    return Layer("nn.Linear", arguments, call, (0,), state)


@_writes("embedding", "embed")
def _embedding(s: Seen) -> Layer | None:
    table, ids = (0, 1) if s.op == "embedding" else (1, 0)
    name = s.name(table)
    if name is None or len(s.shape(table)) != 2 or s.params.get("ignore_index") is not None or not s.given(ids):
        return None
    whole = not s.inputs[ids].fake.is_floating_point()
    arguments = tuple(str(n) for n in s.shape(table))
    return Layer("nn.Embedding", arguments, "{m}({0})" if whole else "{m}({0}.long())", (ids,),
                 (("weight", name, "same"),))  # fmt: skip


# ---- normalization ---------------------------------------------------------------------------------------------------


def _constant(s: Seen, i: int, value: float) -> bool:
    """Whether an input is absent, or an array of one constant number; a parameter may be overwritten with it first."""
    if not s.given(i):
        return True
    v = s.inputs[i]
    if (filled := _filled(s.before, v)) is not None:
        return bool(filled.args[1] == value)
    if v.kind == "result":
        op = str(getattr(v.source, "op", ""))
        made = {"aten.ones.default": 1, "aten.zeros.default": 0}
        return bool(
            made.get(op) == value or (op in ("aten.full.default", "aten.fill_.Scalar") and v.source.args[1] == value)
        )
    return v.kind == "constant" and bool((v.source == value).all())


def _filled(calls: Sequence[Any], v: Any) -> Any:
    """The last call that writes to a Value, if it fills it with one number."""
    last = next((c for c in reversed(calls) if any(w is v for w in c.written())), None)
    return last if last is not None and str(last.op) == "aten.fill_.Scalar" else None


def _copied(v: Any) -> Any:
    """The parameter or buffer of which a Value is a copy, or the Value itself."""
    while v.kind == "result" and str(getattr(v.source, "op", "")) == "aten.clone.default":
        v = v.source.args[0]
    return v


def _batch_norm(s: Seen, gamma: int, beta: int, mean: Any, var: Any, keep: float | None, batch: bool,
                axes: Sequence[int] | None) -> Layer | None:  # fmt: skip
    """keep: the weight of the old running statistics, None if it is not known. batch: whether the statistics are those
    of the batch. axes: the axes of the channels."""
    x, eps = s.shape(0), s.params["eps"]
    if len(x) not in (2, 3, 4, 5) or axes != [1] or (mean is None) != (var is None):
        return None
    if any(v is not None and v.kind != "state" for v in (mean, var)):
        return None
    channels, kind = x[1], f"nn.BatchNorm{max(len(x) - 2, 1)}d"
    arguments, spare = [str(channels)], []
    state: list[tuple[str, str, str]] = []
    extra: list[tuple[str, float, tuple[int, ...]]] = []
    if _number(eps) != "1e-05":  # nnabla's files contain numbers of single precision
        arguments.append(f"eps={_number(eps)}")
    if keep is not None and _number(1 - keep) != "0.1":
        arguments.append(f"momentum={_number(1 - keep)}")
    if _constant(s, gamma, 1) and _constant(s, beta, 0):
        arguments.append("affine=False")
    else:
        for i, own, value in ((gamma, "weight", 1), (beta, "bias", 0)):
            if (name := s.name(i)) is not None and not _constant(s, i, value):
                state.append((own, name, _view(s.shape(i), (channels,))))
            elif _constant(s, i, value):
                extra.append((own, float(value), (channels,)))
                spare.append(own)
            else:
                return None
    if mean is None:
        arguments.append("track_running_stats=False")
    else:
        for own, v in (("running_mean", mean), ("running_var", var)):
            state.append((own, v.source, _view(v.fake.shape, (channels,))))
        extra.append(("num_batches_tracked", 0.0, ()))
    call = "{m}({0})"
    if not batch and s.train:  # torch's layer would compute with the statistics of the batch
        affine = "None, None" if "affine=False" in arguments else "{m}.weight, {m}.bias"
        call = f"F.batch_norm({{0}}, {{m}}.running_mean, {{m}}.running_var, {affine}, eps={_number(eps)})"
    if batch and s.train is False:  # the network computes with the statistics of the batch in this mode, too
        affine = "None, None" if "affine=False" in arguments else "{m}.weight, {m}.bias"
        running = "None, None" if mean is None else "{m}.running_mean, {m}.running_var"
        momentum = f", momentum={_number(1 - keep)}" if mean is not None and keep is not None else ""
        call = f"F.batch_norm({{0}}, {running}, {affine}, training=True{momentum}, eps={_number(eps)})"
    mode = ("train" if batch else "eval") if mean is not None and call == "{m}({0})" else ""
    return Layer(kind, tuple(arguments), call, (0,), tuple(state), tuple(extra), tuple(spare), mode)


def _channel_axes(s: Seen, over: Sequence[int] | None) -> list[int]:
    """The axes of the channels; over: the axes of the statistics."""
    n = len(s.shape(0))
    if over is None:
        return [1] if len(s.shape(1)) == 1 else []
    return [a for a in range(n) if a not in [b % n for b in over]]


@_writes("batch_normalization")
def _batch_norm_chainer(s: Seen) -> Layer | None:
    p = s.params
    return _batch_norm(s, 1, 2, p["running_mean"], p["running_var"], p["decay"], True, _channel_axes(s, p["axis"]))


@_writes("fixed_batch_normalization")
def _fixed_batch_norm(s: Seen) -> Layer | None:
    if not s.given(3) or not s.given(4):
        return None
    return _batch_norm(
        s, 1, 2, _copied(s.inputs[3]), _copied(s.inputs[4]), None, False, _channel_axes(s, s.params["axis"])
    )


@_writes("batch_normalization_late")
def _batch_norm_mxnet(s: Seen) -> Layer | None:
    p = s.params
    return _batch_norm(s, 1, 2, p["moving_mean"], p["moving_var"], p["momentum"], True, [p["axis"] % len(s.shape(0))])


@_writes("batch_normalization_statistics")
def _batch_norm_nnabla(s: Seen) -> Layer | None:
    p, n = s.params, len(s.shape(0))
    if p["stats"] or s.given(5) or not s.given(3) or (p["batch_stat"] and not p["update"]):
        return None
    mean, var = s.inputs[3], s.inputs[4]
    layer = _batch_norm(s, 2, 1, mean, var, p["decay"], p["batch_stat"], [a % n for a in p["axes"]])
    if layer is None or not p["rectify"]:
        return layer
    return Layer(**{**layer.__dict__, "call": f"F.relu({layer.call})"})


@_writes("layer_normalization")
def _layer_norm(s: Seen) -> Layer | None:
    gamma, beta = s.name(1), s.name(2)
    if gamma is None or beta is None or len(s.shape(1)) != 1 or s.shape(1)[0] != s.shape(0)[-1]:
        return None
    arguments = (str(s.shape(1)[0]), *_options(eps=(_number(s.params["eps"]), "1e-05")))
    return Layer("nn.LayerNorm", arguments, "{m}({0})", (0,), (("weight", gamma, "same"), ("bias", beta, "same")))


@_writes("group_normalization")
def _group_norm(s: Seen) -> Layer | None:
    gamma, beta = s.name(1), s.name(2)
    if gamma is None or beta is None:
        return None
    channels = s.shape(0)[1]
    arguments = (str(s.params["groups"]), str(channels), *_options(eps=(_number(s.params["eps"]), "1e-05")))
    state = (("weight", gamma, _view(s.shape(1), (channels,))), ("bias", beta, _view(s.shape(2), (channels,))))
    return Layer("nn.GroupNorm", arguments, "{m}({0})", (0,), state)


@_writes("local_response_normalization")
def _local_response(s: Seen) -> Layer | None:
    p = s.params
    if p["n"] % 2 == 0:
        return None
    rest = f"alpha={_number(p['alpha'] * p['n'])}, beta={_number(p['beta'])}, k={_number(p['k'])}"
    return _function(f"F.local_response_norm({{0}}, {p['n']}, {rest})")


# ---- pooling ---------------------------------------------------------------------------------------------------------


def _windows(s: Seen) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...], list[bool]] | None:
    """The number of axes, sizes, strides and paddings of a pooling, and for floor and ceil whether torch's windows are
    as many as the network's."""
    n = len(s.shape(0)) - 2
    if n not in (1, 2, 3):
        return None
    size = _several(s.params["ksize"], n, 1)
    stride, pad = (_several(s.params[k], n, 0) for k in ("stride", "pad"))
    stride = size if not any(stride) else stride
    if len(size) != n or any(2 * a > k for a, k in zip(pad, size, strict=True)):
        return None
    found = [True, True]
    for i, k, t, a, o in zip(s.shape(0)[2:], size, stride, pad, s.outputs[0].fake.shape[2:], strict=True):
        floor = (i + 2 * a - k) // t + 1
        ceil = -((i + 2 * a - k) // -t) + 1
        ceil -= (ceil - 1) * t >= i + a  # torch leaves out a window that begins in the padding
        found = [found[0] and o == floor, found[1] and o == ceil]
    return n, size, stride, pad, found


@_writes("max_pooling")
def _max_pooling(s: Seen) -> Layer | None:
    windows = _windows(s)
    if windows is None or s.params["return_indices"] or not any(windows[4]):
        return None
    n, size, stride, pad, (floor, _) = windows
    rest = _options(stride=(_text(stride), _text(size)), padding=(_text(pad), "0"), ceil_mode=(not floor, False))
    return _function(f"F.max_pool{n}d({', '.join(['{0}', _text(size), *rest])})")


@_writes("average_pooling")
def _average_pooling(s: Seen) -> Layer | None:
    windows = _windows(s)
    if windows is None or not windows[4][0] or s.params["pad_value"] not in (0, None):
        return None
    n, size, stride, pad, _ = windows
    if tuple(s.shape(0)[2:]) == size and not any(pad):
        return _function(f"F.adaptive_avg_pool{n}d({{0}}, 1)")
    counted = s.params["pad_value"] is not None or not any(pad)
    rest = _options(stride=(_text(stride), _text(size)), padding=(_text(pad), "0"), count_include_pad=(counted, True))
    return _function(f"F.avg_pool{n}d({', '.join(['{0}', _text(size), *rest])})")


@_writes("window_pooling", "sum_pooling")
def _window_pooling(s: Seen) -> Layer | None:
    windows, divisor = _windows(s), s.params["divisor"]
    if windows is None or not windows[4][0]:
        return None
    n, size, stride, pad, _ = windows
    elements = 1
    for k in size:
        elements *= k
    if s.op == "sum_pooling" and divisor != elements:
        return None
    if s.op == "window_pooling" and divisor == "none":
        return None
    rest = _options(stride=(_text(stride), _text(size)), padding=(_text(pad), "0"),
                    count_include_pad=(divisor != "image" or not any(pad), True))  # fmt: skip
    return _function(f"F.avg_pool{n}d({', '.join(['{0}', _text(size), *rest])})")


# ---- activations -----------------------------------------------------------------------------------------------------


@_writes("relu", "sigmoid", "tanh", "log_sigmoid", "softplus", "gelu", "erf", "exp", "sqrt")
def _plain(s: Seen) -> Layer | None:
    if s.op == "gelu":
        return _function("F.gelu({0}, approximate='tanh')" if s.params["approximate"] else "F.gelu({0})")
    if s.op in ("relu", "log_sigmoid"):
        return _function(f"F.{s.op.replace('_', '')}({{0}})")
    return _function(f"torch.{s.op}({{0}})") if s.op != "softplus" else None


@_writes("softmax", "log_softmax")
def _softmax(s: Seen) -> Layer | None:
    return _function(f"F.{s.op}({{0}}, {s.params['axis']})")


@_writes("leaky_relu")
def _leaky_relu(s: Seen) -> Layer | None:
    slope = s.params["slope"]
    return _function("F.leaky_relu({0})" if slope == 0.01 else f"F.leaky_relu({{0}}, {_number(slope)})")


@_writes("elu")
def _elu(s: Seen) -> Layer | None:
    if s.params["scale"] != 1:
        return None
    alpha = s.params["alpha"]
    return _function("F.elu({0})" if alpha == 1 else f"F.elu({{0}}, {_number(alpha)})")


@_writes("prelu")
def _prelu(s: Seen) -> Layer | None:
    name, shape = s.name(1), s.shape(1)
    if name is None:
        return None
    count = 1
    for n in shape:
        count *= n
    if count != 1 and (len(s.shape(0)) < 2 or count != s.shape(0)[1] or len(shape) > 1 and shape[0] != count):
        return None
    return Layer("nn.PReLU", (str(count),) if count != 1 else (), "{m}({0})", (0,),
                 (("weight", name, _view(shape, (count,))),))  # fmt: skip


@_writes("clipped_relu")
def _clipped_relu(s: Seen) -> Layer | None:
    return _function("F.relu6({0})" if s.params["z"] == 6 else f"{{0}}.clamp(0, {_number(s.params['z'])})")


@_writes("dropout", "dropout_hashed", "dropout_drawn")
def _dropout(s: Seen) -> Layer | None:
    p = s.params.get("ratio", s.params.get("p"))
    return Layer("", (), f"F.dropout({{0}}, {_number(p)}, training=self.training)", (0,), mode="train")


@_writes("dropout_mask")
def _masked(s: Seen) -> Layer | None:
    """Chainer's dropout: its mask is drawn before, by `rand(...) >= ratio`."""
    for call in reversed(s.calls):
        if str(call.op) == "aten.ge.Scalar" and any(v.kind == "result" and v.source.is_random() for v in call.inputs()):
            return Layer(
                "", (), f"F.dropout({{0}}, {_number(call.args[1])}, training=self.training)", (0,), mode="train"
            )
    return None
