"""Recurrent networks of several layers, in one direction or both.

One product multiplies the inputs of all time steps by their weights; the products with the states, which depend on each
other, are computed by one op for each layer and direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["gru", "lstm", "rnn"]

# The shared sections of the docstrings of these networks.
_SHARED = """
Args:
    x: (time, batch, inputs), computed in float32.
    h: the first states, (layers, directions, batch, units).
    num_layers: the number of layers.
    dropout: has no effect, as in nnabla on a CPU.
    bidirectional: whether each layer runs in both directions.
    training: whether the gradient can be computed.

Returns:
    Array (time, batch, directions * units), and the last states, of the shape of `h`.

Raises:
    RuntimeError: the shapes do not fit, or `weight` is missing for several layers or given for one.
"""


def _check(
    name: str,
    x: Any,
    states: dict[str, Any],
    weight_l0: Any,
    weight: Any,
    bias: Any,
    num_layers: int,
    directions: int,
    gates: tuple[int, ...],
    biases: tuple[int, ...],
) -> None:
    """Raises RuntimeError for shapes that do not fit. `gates`, `biases`: the lengths before the units in the shapes of
    weights and of bias.
    """
    h = states["h"]
    if x.ndim != 3 or h.ndim != 4:
        raise RuntimeError(
            f"{name}: x must have the axes (time, batch, inputs) and h (layers, directions, "
            f"batch, units), not shapes {tuple(x.shape)} and {tuple(h.shape)}"
        )
    units = h.shape[3]
    expected = {key: (v, (num_layers, directions, x.shape[1], units)) for key, v in states.items()}
    expected["weight_l0"] = (weight_l0, (directions, *gates, units, x.shape[2] + units))
    if num_layers > 1:
        if weight is None:
            raise RuntimeError(f"{name}: weight must be given where num_layers is {num_layers}")
        expected["weight"] = (weight, (num_layers - 1, directions, *gates, units, (directions + 1) * units))
    elif weight is not None:
        raise RuntimeError(f"{name}: weight must be None where num_layers is 1")
    if bias is not None:
        expected["bias"] = (bias, (num_layers, directions, *biases, units))
    for key, (v, shape) in expected.items():
        if tuple(v.shape) != shape:
            raise RuntimeError(f"{name}: {key} must have shape {shape}, not {tuple(v.shape)}")


def _optional(weight: Any, bias: Any, num_layers: int) -> tuple:
    """With one layer, a single optional input is the bias, because a list of inputs cannot have None for the weight."""
    return (None, weight) if num_layers == 1 and bias is None else (weight, bias)


def _layers(mode: str, x: Any, states: list, weight_l0: Any, weight: Any, bias: Any, training: bool) -> tuple:
    """Runs all layers and returns the outputs of the last one and the final states. `mode` is the argument of
    `rnn_layer`."""
    layers, directions, batch, units = states[0].shape
    time = x.shape[0]
    final: list[list] = [[] for _ in states]
    for i in range(layers):
        w = weight_l0 if i == 0 else weight[i - 1]
        sides = []
        for d in range(directions):
            width = x.shape[2]
            rows = op.reshape(w[d], shape=(-1, width + units))
            from_input, from_state = op.split(rows, indices=(width,), axis=1)
            b, b_state = None if bias is None else bias[i, d], None
            if mode == "gru" and b is not None:  # in n, the product with the state has its own bias
                b, b_state = b[:3], op.pad(b[3], pad_width=(2 * units, 0))
            b = None if b is None else op.reshape(b, shape=(-1,))
            z = op.linear(op.reshape(x, shape=(time * batch, width)), from_input, b)
            z = op.reshape(z, shape=(time, batch, rows.shape[0]))
            first = [s[i, d] for s in states]
            c = first[1] if len(first) == 2 else None
            y = op.rnn_layer(z, first[0], c, from_state, b_state, mode=mode, order="ifao", reverse=d == 1)
            ys = y if isinstance(y, tuple) else (y,)
            sides.append(ys[0])
            for of_state, v in zip(final, ys, strict=False):
                of_state.append(v[0 if d else time - 1])
        x = sides[0] if directions == 1 else op.concat(sides, axis=2)
    ys = [
        x,
        *(op.reshape(op.stack(of_state, axis=0), shape=s.shape) for of_state, s in zip(final, states, strict=True)),
    ]
    return tuple(ys if training else map(op.inference_only, ys))


@function("RNN", "x, h, weight_l0, weight?, bias?", shared=(_SHARED,), records=True)
def rnn(
    x: Array,
    h: Array,
    weight_l0: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    num_layers: int = 1,
    nonlinearity: str = "tanh",
    dropout: float = 0.0,
    bidirectional: bool = False,
    training: bool = True,
) -> tuple[Array, Array]:
    """Elman's recurrent network: h = f(w @ [x, h] + b).

    Args:
        weight_l0: weights of the first layer, (directions, units, inputs + units).
        weight: weights of the other layers, (layers - 1, directions, units, directions * units + units).
        bias: (layers, directions, units).
        nonlinearity: f: "tanh" or "relu".

    Raises:
        RuntimeError: the shapes do not fit, `weight` is missing for several layers or given for one, or the
            nonlinearity is unknown.

    Example:
        >>> x, h, w = (nn.NdArray.from_numpy_array(np.ones(shape)) for shape in ((3, 1, 1), (1, 1, 1, 1), (1, 1, 2)))
        >>> y, last = F.rnn(x, h, w, nonlinearity="relu")
        >>> y.data.ravel(), last.data.ravel()
        (array([2., 3., 4.], dtype=float32), array([4.], dtype=float32))
    """
    weight, bias = _optional(weight, bias, num_layers)
    _check("rnn", x, {"h": h}, weight_l0, weight, bias, num_layers, 2 if bidirectional else 1, (), ())
    if nonlinearity not in ("tanh", "relu"):
        raise RuntimeError(f"rnn: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
    return _layers(f"rnn_{nonlinearity}", x, [h], weight_l0, weight, bias, training)


@function("LSTM", "x, h, c, weight_l0, weight?, bias?", shared=(_SHARED,), records=True)
def lstm(
    x: Array,
    h: Array,
    c: Array,
    weight_l0: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    num_layers: int = 1,
    dropout: float = 0.0,
    bidirectional: bool = False,
    training: bool = True,
) -> tuple[Array, Array, Array]:
    """Long short-term memory: c = f * c + i * g, h = o * tanh(c) (Hochreiter and Schmidhuber, 1997).

    Args:
        c: the first cells, of the shape of `h`.
        weight_l0: weights of the first layer, (directions, 4, units, inputs + units), the gates being i, f, g, o.
        weight: weights of the other layers, (layers - 1, directions, 4, units, directions * units + units).
        bias: (layers, directions, 4, units).

    Returns:
        Array (time, batch, directions * units), the last states and the last cells, of the shape of `h`.

    Example:
        >>> x, h, w = (nn.NdArray.from_numpy_array(np.ones(shape)) for shape in ((2, 1, 1), (1, 1, 1, 1), (1, 4, 1, 2)))
        >>> y, last, cell = F.lstm(x, h, h, w)
        >>> y.data.ravel(), cell.shape
        (array([0.8271083, 0.8445453], dtype=float32), (1, 1, 1, 1))
    """
    weight, bias = _optional(weight, bias, num_layers)
    _check("lstm", x, {"h": h, "c": c}, weight_l0, weight, bias, num_layers, 2 if bidirectional else 1, (4,), (4,))
    return _layers("lstm", x, [h, c], weight_l0, weight, bias, training)


@function("GRU", "x, h, weight_l0, weight?, bias?", shared=(_SHARED,), records=True)
def gru(
    x: Array,
    h: Array,
    weight_l0: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    num_layers: int = 1,
    dropout: float = 0.0,
    bidirectional: bool = False,
    training: bool = True,
) -> tuple[Array, Array]:
    """Gated recurrent units: h = (1 - z) * n + z * h, n = tanh(w_n @ x + b_n + r * (u_n @ h + c_n)) (Cho et al., 2014).

    Args:
        weight_l0: weights of the first layer, (directions, 3, units, inputs + units), the gates being r, z, n.
        weight: weights of the other layers, (layers - 1, directions, 3, units, directions * units + units).
        bias: (layers, directions, 4, units): the biases of r, of z, of the inputs' product in n and of the states'
            product in n.

    Example:
        >>> x, h, w = (nn.NdArray.from_numpy_array(np.ones(shape)) for shape in ((2, 1, 1), (1, 1, 1, 1), (1, 3, 1, 2)))
        >>> y, last = F.gru(x, h, w)
        >>> y.data.ravel()
        array([0.9945838 , 0.98973334], dtype=float32)
    """
    weight, bias = _optional(weight, bias, num_layers)
    _check("gru", x, {"h": h}, weight_l0, weight, bias, num_layers, 2 if bidirectional else 1, (3,), (4,))
    return _layers("gru", x, [h], weight_l0, weight, bias, training)
