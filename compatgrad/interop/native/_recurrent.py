"""Recurrent networks of the frontends as torch's: `nn.LSTM`, `nn.GRU`, `nn.RNN`, `nn.LSTMCell` and `nn.GRUCell`.

The engine runs a stack of recurrent layers as many functions. Therefore the functions of the frontends that run a whole
stack are replaced while a network is recorded: the original runs, and its calls become one call of a layer.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from compatgrad.interop.native._gathered import Gathered, Numbers
from compatgrad.interop.native._layers import Layer, Seen
from compatgrad.interop.native._multihead import nnabla_attention
from compatgrad.interop.native._watch import Watch, is_zero, tensor_of

__all__ = ["cell_of", "watching"]

_KINDS = {"lstm": "nn.LSTM", "gru": "nn.GRU", "rnn_tanh": "nn.RNN", "rnn_relu": "nn.RNN"}


@dataclass
class _Stack:
    """The parameters of a stack: for each layer and direction the numbers of the weights and biases."""

    mode: str
    directions: int
    weights: list[dict[str, torch.Tensor | None]]  # w_ih, w_hh, b_ih, b_hh
    dropout: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def layers(self) -> int:
        return len(self.weights) // self.directions

    def layer(self, numbers: Numbers, call: str, inputs: int, results: tuple[str, ...]) -> Layer | None:
        first = self.weights[0]
        if any(w["w_ih"] is None or w["w_hh"] is None for w in self.weights):
            return None
        if len({(w["b_ih"] is None, w["b_hh"] is None) for w in self.weights}) > 1:
            return None
        w_ih, w_hh = first["w_ih"], first["w_hh"]
        assert w_ih is not None and w_hh is not None
        arguments = [str(w_ih.shape[1]), str(w_hh.shape[1])]
        arguments += [str(self.layers)] if self.layers > 1 else []
        arguments += ["nonlinearity='relu'"] if self.mode == "rnn_relu" else []
        has_bias = first["b_ih"] is not None
        arguments += [] if has_bias else ["bias=False"]
        arguments += ["bidirectional=True"] if self.directions == 2 else []
        arguments += [f"dropout={self.dropout!r}"] if self.dropout and self.layers > 1 else []
        gathered: list[tuple[str, Gathered]] = []
        extra: list[tuple[str, float, tuple[int, ...]]] = []
        notes = list(self.notes)
        for k, w in enumerate(self.weights):
            suffix = f"l{k // self.directions}{'_reverse' if k % self.directions else ''}"
            for own, key in (("weight_ih", "w_ih"), ("weight_hh", "w_hh"), ("bias_ih", "b_ih"), ("bias_hh", "b_hh")):
                t = w[key]
                if t is not None:
                    gathered.append((f"{own}_{suffix}", numbers.gathered(t)))
                elif has_bias:
                    extra.append((f"{own}_{suffix}", 0.0, (w_hh.shape[0],)))
        if any(g.has_zeros for _, g in gathered):
            notes.append(
                "bias_hh of nn.GRU has elements that the network's GRU does not have: zeros, which training changes"
            )
        return Layer(_KINDS[self.mode], tuple(arguments), call, tuple(range(inputs)), (), tuple(extra),
                     tuple(own for own, _, _ in extra), "", tuple(notes), tuple(gathered), results)  # fmt: skip


@contextlib.contextmanager
def watching(trace: Any, numbers: Numbers, frontend: str) -> Iterator[None]:
    """A block in which stacks of recurrent layers of a frontend, and nnabla's attention, are recorded as torch's
    layers."""
    watch = Watch(trace, numbers)
    with contextlib.ExitStack() as stack:
        for module, owner, name, wrap in _WATCHED.get(frontend, ()):
            place: Any = importlib.import_module(f"compatgrad.{module}")
            place = getattr(place, owner) if owner else place
            original = getattr(place, name)
            setattr(place, name, wrap(watch, original))
            stack.callback(setattr, place, name, original)
        yield


# ---- Chainer ---------------------------------------------------------------------------------------------------------


def _chainer_stack(watch: Watch, mode: str, ws: Any, bs: Any, directions: int, dropout: float) -> _Stack:
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    weights: list[dict[str, torch.Tensor | None]] = []
    for own_w, own_b in zip(ws, bs, strict=True):
        found: dict[str, torch.Tensor | None] = {}
        for key, given in (("w", own_w), ("b", own_b)):
            numbers = [watch.names(v) for v in given]
            for part, chosen in (("ih", numbers[:gates]), ("hh", numbers[gates:])):
                whole = [t for t in chosen if t is not None]
                found[f"{key}_{part}"] = torch.cat(whole) if len(whole) == gates else None
        weights.append(found)
    return _Stack(mode, directions, weights, dropout)


def _mode_of_link(link: Any) -> str | None:
    found = {8: "lstm", 6: "gru"}.get(link.n_weights)
    if found is None:
        options = getattr(link._function, "keywords", {})
        found = f"rnn_{options['activation']}" if "activation" in options else None
    return found


def _chainer_link(watch: Watch, original: Callable[..., Any]) -> Callable[..., Any]:
    """A link of samples of different lengths: torch packs them."""

    def call(link: Any, hs: Any, xs: Any, **kwargs: Any) -> Any:
        mode = _mode_of_link(link)
        if mode is None or not isinstance(xs, (list, tuple)) or kwargs:
            return original(link, hs, xs, **kwargs)
        given = [watch.trace.value(tensor_of(x)) for x in xs]
        states = [] if any(h is None for h in hs) else hs
        if len(states) != len(hs) and any(h is not None for h in hs):
            return original(link, hs, xs, **kwargs)
        first, text = watch.states(states) if states else ([], "")

        def write(result: Any) -> list[Any] | None:
            stack = _chainer_stack(watch, mode, link.ws, link.bs, link.direction, link.dropout)
            many = ", ".join(f"{{{len(first) + 1 + k}}}" for k in range(len(given) - 1))
            samples = "{0}" + (f", {many}" if many else "")
            call = f"{{m}}(nn.utils.rnn.pack_sequence([{samples}], enforce_sorted=False){text})"
            last = ("{0}[1][0]", "{0}[1][1]") if mode == "lstm" else ("{0}[1]",)
            layer = stack.layer(watch.numbers, call, len(given) + len(first), ("{0}[0]", *last))
            if layer is None:
                return None
            hys, ys = result
            packed, ran = watch.new_call(layer, [given[0], *first, *given[1:]], [None, *(tensor_of(h) for h in hys)])
            unpack = Layer("", (), "nn.utils.rnn.unpack_sequence({0})", (0,))
            _, unpacked = watch.new_call(unpack, [packed[0]], [tensor_of(y) for y in ys])
            return [ran, unpacked]

        return watch.run(lambda: original(link, hs, xs), write)

    return call


def _chainer_function(watch: Watch, original: Callable[..., Any]) -> Callable[..., Any]:
    """The function of steps, of which each contains the samples that are long enough: the rows of a PackedSequence."""

    def call(mode: str, weights: Any, n_layers: int, dropout: float, hx: Any, cx: Any, ws: Any, bs: Any, xs: Any,
             both: bool) -> Any:  # fmt: skip
        given = [watch.trace.value(tensor_of(x)) for x in xs]
        batches = [x.shape[0] for x in xs]
        first, text = watch.states([hx] if cx is None else [hx, cx])

        def write(result: Any) -> list[Any] | None:
            stack = _chainer_stack(watch, mode, ws, bs, 2 if both else 1, dropout)
            many = "".join(f", {{{len(first) + 1 + k}}}" for k in range(len(given) - 1))
            equal = len(set(batches)) == 1
            rows = f"torch.stack([{{0}}{many}])" if equal else f"torch.cat([{{0}}{many}]), torch.tensor({batches})"
            rows = rows if equal else f"nn.utils.rnn.PackedSequence({rows})"
            last = ("{0}[1][0]", "{0}[1][1]") if mode == "lstm" else ("{0}[1]",)
            layer = stack.layer(watch.numbers, f"{{m}}({rows}{text})", len(given) + len(first), ("{0}[0]", *last))
            if layer is None:
                return None
            hy, cy, ys = result
            lasts = [tensor_of(hy)] + ([] if cy is None else [tensor_of(cy)])
            packed, ran = watch.new_call(layer, [given[0], *first, *given[1:]], [None, *lasts])
            apart = "{0}.unbind()" if equal else f"{{0}}.data.split({batches})"
            _, split = watch.new_call(Layer("", (), apart, (0,)), [packed[0]], [tensor_of(y) for y in ys])
            return [ran, split]

        return watch.run(lambda: original(mode, weights, n_layers, dropout, hx, cx, ws, bs, xs, both), write)

    return call


# ---- MXNet -----------------------------------------------------------------------------------------------------------


def _mxnet_run(watch: Watch, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(net: Any, x: Any, parameters: Any, states: Any, p: float, goes_on: Any, state_outputs: bool) -> Any:
        def whole() -> Any:
            return original(net, x, parameters, states, p, goes_on, state_outputs)

        numbers = watch.names(parameters)
        if goes_on is not None or net.projection or numbers is None:
            return whole()
        given = watch.trace.value(tensor_of(x))
        first, text = watch.states(states)

        def write(result: Any) -> list[Any] | None:
            rows = {"lstm": 4, "gru": 3}.get(net.mode, 1) * net.units
            cells = net.layers * net.directions
            weights: list[dict[str, torch.Tensor | None]] = []
            begin = 0
            for k in range(cells):
                width = net.inputs if k < net.directions else net.units * net.directions
                own: dict[str, torch.Tensor | None] = {}
                for key, columns in (("w_ih", width), ("w_hh", net.units)):
                    own[key] = numbers[begin : begin + rows * columns].reshape(rows, columns)
                    begin += rows * columns
                weights.append(own)
            for own in weights:
                for key in ("b_ih", "b_hh"):
                    own[key] = numbers[begin : begin + rows]
                    begin += rows
            stack = _Stack(net.mode, net.directions, weights, p)
            last = ("{0}[1][0]", "{0}[1][1]") if net.mode == "lstm" else ("{0}[1]",)
            layer = stack.layer(watch.numbers, f"{{m}}({{0}}{text})", 1 + len(first), ("{0}[0]", *last))
            if layer is None:
                return None
            results = result if isinstance(result, (list, tuple)) else [result]
            return [watch.new_call(layer, [given, *first], [tensor_of(y) for y in results])[1]]

        return watch.run(whole, write)

    return call


# ---- nnabla ----------------------------------------------------------------------------------------------------------


def _nnabla_layers(watch: Watch, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(mode: str, x: Any, states: Any, weight_l0: Any, weight: Any, bias: Any, training: bool) -> Any:
        def whole() -> Any:
            return original(mode, x, states, weight_l0, weight, bias, training)

        first_w, more_w, b = (None if v is None else watch.names(v) for v in (weight_l0, weight, bias))
        if first_w is None or (weight is not None and more_w is None) or (bias is not None and b is None):
            return whole()
        layers, directions, _, units = states[0].shape
        given = watch.trace.value(tensor_of(x))
        first, text = watch.states(states, ".flatten(0, 1)")

        def write(result: Any) -> list[Any] | None:
            weights: list[dict[str, torch.Tensor | None]] = []
            for i in range(layers):
                for d in range(directions):
                    w = first_w[d] if i == 0 or more_w is None else more_w[i - 1, d]
                    w = w.reshape(-1, w.shape[-1])
                    own: dict[str, torch.Tensor | None] = {"w_ih": w[:, :-units], "w_hh": w[:, -units:]}
                    own["b_ih"] = own["b_hh"] = None
                    if b is not None:
                        own["b_ih"] = b[i, d, : 3 if mode == "gru" else None].reshape(-1)
                    if b is not None and mode == "gru":
                        own["b_hh"] = torch.cat([torch.zeros(2 * units, dtype=torch.int64), b[i, d, 3]])
                    weights.append(own)
            stack = _Stack(mode, directions, weights)
            apart = f".unflatten(0, ({layers}, {directions}))"
            last = ("{0}[1][0]", "{0}[1][1]") if mode == "lstm" else ("{0}[1]",)
            layer = stack.layer(
                watch.numbers, f"{{m}}({{0}}{text})", 1 + len(first), ("{0}[0]", *(r + apart for r in last))
            )
            if layer is None:
                return None
            return [watch.new_call(layer, [given, *first], [tensor_of(y) for y in result])[1]]

        return watch.run(whole, write)

    return call


# frontend -> module, class, name, and what replaces it
_WATCHED: dict[str, tuple[tuple[str, str, str, Callable[..., Any]], ...]] = {
    "chainer": (
        ("chainer.links.rnn.n_step_rnn", "NStepRNNBase", "_call", _chainer_link),
        ("chainer.functions.rnn.n_step_rnn", "", "_run_layers", _chainer_function),
    ),
    "mxnet": (("mxnet.ndarray.nn_rnn", "", "_run", _mxnet_run),),
    "nnabla": (
        ("nnabla.functions.recurrent", "", "_layers", _nnabla_layers),
        ("nnabla.functions", "", "multi_head_attention", nnabla_attention),
    ),
}


# ---- cells -----------------------------------------------------------------------------------------------------------


def _product(v: Any) -> Any:
    """The call of nn.Linear of which a Value is the result, or None."""
    call = v.source if v is not None and v.kind == "result" else None
    layer = call.args[0] if call is not None and call.args and isinstance(call.args[0], Layer) else None
    return call if layer is not None and layer.kind == "nn.Linear" and layer.call == "{m}({0})" else None


def _parts(v: Any) -> list[Any] | None:
    """The one or two calls of nn.Linear whose sum a Value is."""
    own = _product(v)
    if own is not None:
        return [own]
    if v.kind != "result" or str(v.source.op) != "aten.add.Tensor" or v.source.kwargs:
        return None
    found = [_product(w) for w in v.source.args if hasattr(w, "kind")]
    return found if len(found) == 2 and all(c is not None for c in found) else None


def _named(call: Any) -> dict[str, str]:
    return {own: legacy for own, legacy, _ in call.args[0].state}


def _of_units(t: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    """Rows that are the gates of each unit in turn, as blocks of gates in torch's order."""
    return t.reshape(-1, len(order), *t.shape[1:]).transpose(0, 1)[list(order)].reshape(t.shape)


def cell_of(seen: Seen, numbers: Numbers) -> tuple[Layer, list[Any]] | None:
    """The cell for a function of the engine (lstm, gru) whose gates are sums of linear layers, with its inputs."""
    if seen.op == "lstm":
        return _lstm_cell(seen, numbers)
    return _gru_cell(seen, numbers) if seen.op == "gru" else None


def _lstm_cell(seen: Seen, numbers: Numbers) -> tuple[Layer, list[Any]] | None:
    memory, gates = seen.inputs
    parts = _parts(gates)
    order = {"": (1, 2, 0, 3), "ifao": None}.get(seen.params.get("order", ""), ())
    if parts is None or order == () or len(seen.outputs) != 2 or len(memory.fake.shape) != 2:
        return None
    units = memory.fake.shape[1]
    names = _named(parts[0])
    if len(parts) == 1:  # the first step: the state is zero
        name = names["weight"].replace("upward", "lateral")
        by_state, h = {"weight": name}, None
        t = numbers.named(name)
        if name == names["weight"] or t is None or tuple(t.shape) != (4 * units, units):
            return None
    else:
        by_state, h = _named(parts[1]), parts[1].args[1][0]
    keys = (("weight_ih", names, "weight"), ("weight_hh", by_state, "weight"), ("bias_ih", names, "bias"),
            ("bias_hh", by_state, "bias"))  # fmt: skip
    if "bias" not in names or (h is not None and tuple(h.fake.shape) != tuple(memory.fake.shape)):
        return None
    gathered, extra = [], []
    for own, of, leaf in keys:
        t = numbers.named(of[leaf]) if leaf in of else None
        if t is None:
            extra.append((own, 0.0, (4 * units,)))
        else:
            gathered.append((own, numbers.gathered(t if order is None else _of_units(t, order))))
    x = parts[0].args[1][0]
    if len(x.fake.shape) != 2 or len({tuple(t.shape) for t in (memory.fake, seen.outputs[0].fake)}) != 1:
        return None
    inputs, state = [x], ""
    if h is not None and not (is_zero(h) and is_zero(memory)):
        inputs, state = [x, h, memory], ", ({1}, {2})"
    elif h is None and not is_zero(memory):
        inputs, state = [x, memory], ", (torch.zeros_like({1}), {1})"
    layer = Layer("nn.LSTMCell", (str(x.fake.shape[1]), str(units)), f"{{m}}({{0}}{state})",
                  tuple(range(len(inputs))), (), tuple(extra), tuple(own for own, _, _ in extra), "", (),
                  tuple(gathered), ("{0}[1]", "{0}[0]"))  # fmt: skip
    return layer, inputs


def _gru_cell(seen: Seen, numbers: Numbers) -> tuple[Layer, list[Any]] | None:
    before = seen.inputs[0]
    products = [_product(v) for v in seen.inputs[1:]]
    if any(p is None for p in products) or len(before.fake.shape) != 2:
        return None
    of_input, of_state = map(_named, products)
    x, h = (p.args[1][0] for p in products)
    if h is not before or "bias" not in of_input or "bias" not in of_state or len(x.fake.shape) != 2:
        return None
    gathered = []
    for own, of, leaf in (("weight_ih", of_input, "weight"), ("weight_hh", of_state, "weight"),
                          ("bias_ih", of_input, "bias"), ("bias_hh", of_state, "bias")):  # fmt: skip
        t = numbers.named(of[leaf])
        if t is None:
            return None
        gathered.append((own, numbers.gathered(t)))
    units = before.fake.shape[1]
    layer = Layer("nn.GRUCell", (str(x.fake.shape[1]), str(units)), "{m}({0}, {1})", (0, 1), (), (), (), "", (),
                  tuple(gathered))  # fmt: skip
    return layer, [x, h]
