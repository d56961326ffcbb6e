"""Checkpoints of recurrent cells, which store the weights of each gate in a separate array."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._checkpoint import load_checkpoint, save_checkpoint
from .rnn_cell import BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]


def rnn_unroll(
    cell: BaseRNNCell, length: int, inputs: Any = None, begin_state: Any = None, input_prefix: str = "",
    layout: str = "NTC",
) -> Any:  # fmt: skip
    """The old name of `cell.unroll`, which warns of it.

    Args:
        cell: the cell.
        length: number of steps.
        inputs: a symbol of all steps, or a list with one for each.
        begin_state: the first states; None for zeros.
        input_prefix: accepted, without effect.
        layout: the layout of the inputs.

    Returns:
        The outputs and the last states.

    Raises:
        AssertionError: there are no `inputs`, or not as many as steps.

    Example:
        >>> outputs, states = mx.rnn.rnn_unroll(mx.rnn.RNNCell(4), 3, mx.sym.var("x"))
        >>> len(outputs)
        3

    Source: `mxnet.rnn.rnn_unroll` of MXNet 1.9.1.
    """
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    return cell.unroll(length, inputs, begin_state=begin_state, layout=layout)


def _listed(cells: Any) -> Any:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def save_rnn_checkpoint(
    cells: Any, prefix: str, epoch: int, symbol: Any, arg_params: dict[str, Any], aux_params: dict[str, Any]
) -> None:
    """`mx.model.save_checkpoint` with the weights of cells unpacked, an array for each gate.

    Args:
        cells: the cell, or a list of them.
        prefix: beginning of the files' names.
        epoch: the number in the name of the parameters' file.
        symbol: the symbol; None for none.
        arg_params, aux_params: parameters and auxiliary states by name.

    Raises:
        KeyError: a weight of a cell is missing.
        MXNetError: a file cannot be written.

    Example:
        >>> cell = mx.rnn.GRUCell(2, prefix="")
        >>> shapes = {"i2h_weight": (6, 3), "h2h_weight": (6, 2), "i2h_bias": 6, "h2h_bias": 6}
        >>> mx.rnn.save_rnn_checkpoint(cell, "cell", 1, None, {name: nd.ones(s) for name, s in shapes.items()}, {})
        >>> sorted(mx.model.load_params("cell", 1)[0])[:3]
        ['h2h_o_bias', 'h2h_o_weight', 'h2h_r_bias']

    Source: `mxnet.rnn.save_rnn_checkpoint` of MXNet 1.9.1.
    """
    for cell in _listed(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Any, prefix: str, epoch: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Reads what `save_rnn_checkpoint` wrote, and packs the weights again.

    Args:
        cells: the cell, or a list of them.
        prefix: beginning of the files' names.
        epoch: the number in the name of the parameters' file.

    Returns:
        The symbol, the parameters by name as the cells have them, and the auxiliary states by name.

    Raises:
        MXNetError: a file cannot be read.
        KeyError: a weight of a cell is missing.

    Example:
        >>> cell = mx.rnn.GRUCell(2, prefix="")
        >>> y, states = cell.unroll(1, mx.sym.var("x"), merge_outputs=True)
        >>> shapes = {"i2h_weight": (6, 3), "h2h_weight": (6, 2), "i2h_bias": 6, "h2h_bias": 6}
        >>> mx.rnn.save_rnn_checkpoint(cell, "cell", 1, y, {name: nd.ones(s) for name, s in shapes.items()}, {})
        >>> sorted(mx.rnn.load_rnn_checkpoint(cell, "cell", 1)[1])
        ['h2h_bias', 'h2h_weight', 'i2h_bias', 'i2h_weight']

    Source: `mxnet.rnn.load_rnn_checkpoint` of MXNet 1.9.1.
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells: Any, prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback at the end of an epoch that saves by `save_rnn_checkpoint`.

    Args:
        cells: the cell, or a list of them.
        prefix: beginning of the files' names.
        period: saves every `period` epochs; a number below 1 counts as 1.

    Returns:
        A function `(iter_no, sym, arg, aux)`, for `epoch_end_callback` of `fit`.

    Raises:
        ValueError: `period` is no number.

    Example:
        >>> callback = mx.rnn.do_rnn_checkpoint([], "net", period=2)
        >>> callback(1, None, {"w": nd.ones(1)}, {})
        >>> mx.model.load_params("net", 2)[0]["w"].asnumpy()
        array([1.], dtype=float32)

    Source: `mxnet.rnn.do_rnn_checkpoint` of MXNet 1.9.1.
    """
    period = max(1, int(period))

    def callback(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return callback
