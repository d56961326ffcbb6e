"""The array that holds all parameters of a recurrent network in one operator."""

from __future__ import annotations

from typing import Any

GATES = {"rnn_relu": [""], "rnn_tanh": [""], "lstm": ["_i", "_f", "_c", "_o"], "gru": ["_r", "_z", "_o"]}


def parts_of(arr: Any, size: int, num_layers: int, mode: str, directions: list[str], prefix: str) -> dict[str, Any]:
    """Views of the parts of the array by name, for states of `size`; the inputs' size is what is left for them."""
    parts, end = {}, 0
    sides = len(directions)
    per_row = arr.size // sides // size // len(GATES[mode])
    num_input = per_row - (num_layers - 1) * (size + sides * size + 2) - size - 2
    for kind in ("weight", "bias"):
        for layer in range(num_layers):
            width = num_input if layer == 0 else sides * size
            for direction in directions:
                for group, columns in (("i2h", width), ("h2h", size)):
                    for gate in GATES[mode]:
                        shape = (size, columns) if kind == "weight" else (size,)
                        begin, end = end, end + (size * columns if kind == "weight" else size)
                        parts[f"{prefix}{direction}{layer}_{group}{gate}_{kind}"] = arr[begin:end].reshape(shape)
    assert end == arr.size, "Invalid parameters size for FusedRNNCell"
    return parts
