"""Notes for the report of a run: slow paths that calls take, copies between devices, differences from an original.

The code that decides for such a path writes a note if there is a listener::

    if notes.listener is not None:
        notes.listener("python", self.label)

`compatgrad run --report` sets the listener. Without one, a note costs the lookup of a module's attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["DIFFERENCES", "REASONS", "Difference", "Reason", "note_difference", "note_move"]

#: A function that is called with a reason, a name and what else is known: for "move" the devices `source`, `target` and
#: `nbytes`. For "difference" the name is one of `DIFFERENCES`. A function of the program may be passed in place of its
#: name. None if there is no listener.
listener: Callable[..., object] | None = None


class Reason(NamedTuple):
    """Why a call is worth a line in a report.

    Args:
        kind: "slow", "transfer" or "deviation".
        where: what computes it.
        why: what happens.
        remedy: what a program can do about it.
        avoidable: whether a program can do something about it.

    Example:
        >>> from compatgrad.core.notes import REASONS
        >>> REASONS["move"].kind
        'transfer'

    Source: `compatgrad/core/notes.py`.
    """

    kind: str
    where: str
    why: str
    remedy: str
    avoidable: bool = True


REASONS = {
    "python": Reason("slow", "Python", "the program computes it in Python", "compose it of the framework's functions"),
    "composed": Reason(
        "slow", "Python", "several functions that Python calls", "nothing; no kernel computes it", False
    ),
    "numpy": Reason("slow", "NumPy", "computed by NumPy, on copies", "keep it out of the training step"),
    "arrays": Reason("slow", "NumPy", "computed by NumPy (on a GPU by CuPy)", "nothing; Chainer does so, too", False),
    "update": Reason("slow", "Python", "parameters are updated one by one", "a rule and hooks of the framework"),
    "hook": Reason("slow", "Python", "a hook sees every function", "remove the hook where it is not needed"),
    "debug": Reason("slow", "Python", "debug mode looks for NaN after each function", "switch debug mode off"),
    "copy": Reason("slow", "NumPy", "copied at each use: torch cannot share it", "numpy.ascontiguousarray(x), once"),
    "move": Reason("transfer", "", "copied between devices", "keep arrays on one device"),
    "difference": Reason("deviation", "", "differs from the original", "see docs/deviations.md"),
}


class Difference(NamedTuple):
    """A row of docs/deviations.md that a call can meet.

    Args:
        section: the anchor of the row's section.
        row: the text of its first column.
        words: what happens here, in a few words.

    Example:
        >>> from compatgrad.core.notes import DIFFERENCES
        >>> DIFFERENCES["hybridize"].section
        'mxnet-different'

    Source: `compatgrad/core/notes.py`.
    """

    section: str
    row: str
    words: str


_SECTIONS = {"chainer": "chainer-different", "nnabla": "nnabla-different", "mxnet": "mxnet-different"}
_ROWS = {
    "chainer": {
        "communicator": (
            "communicators `hierarchical`, `two_dimensional`, `single_node`",
            "communicator pure_nccl in place of one that Chainer 7 removed",
        ),
        "chainermn": ("`chainermn` without mpi4py", "processes communicate by torch.distributed"),
        "onnx_chainer": ("`onnx_chainer.export`", "torch's exporter writes the file: other opset, other names"),
        "concat": (
            "`concat`, `stack`, `hstack`, `vstack`, `dstack` of one Variable or array in place of a list",
            "the slices of one array are joined",
        ),
    },
    "nnabla": {
        "no GPU": ("contexts `cuda`, `cudnn` without a GPU", "a context of a GPU runs on the CPU"),
        "SwapInOutScheduler": ("`nnabla.lms.SwapInOutScheduler`", "the scheduler moves nothing"),
        "memory cache": (
            "array classes, memory caches, `prefer_cached_array`", "settings of the allocator have no effect"
        ),
    },
    "mxnet": {
        "hybridize": ("`hybridize`", "nothing is compiled; hybrid_forward runs in each call"),
        "register_op_hook": ("`register_op_hook` of a hybridized block", "the callback is not called"),
        "Monitor": ("a `Monitor` of executors", "sees the symbol's own operators"),
        "profiler": ("`mx.profiler`", "records the operators of this thread"),
        "random": (
            "random numbers, initial weights too", "torch's random numbers: a seed gives other numbers than MXNet's"
        ),
        "sparse": ("sparse arrays", "stored as dense arrays"),
        "amp": ("`amp.init()` and hybridized blocks on the CPU", "on the CPU operators stay in float32"),
        "export_model": ("`mx.onnx.export_model`", "torch's exporter writes the file: other opset, other names"),
        "import_model": ("`mx.contrib.onnx.import_model`", "follows the ONNX specification where MXNet does not"),
        "quantize": (
            "graphs of `contrib.quantize_net`", "single operators in place of fused ones; numbers differ by some steps"
        ),
        "workers": ("`DataLoader` workers", "workers draw torch's random numbers"),
        "mode auto": ("the Estimator's `mode='auto'`", "the metric's name decides what is better"),
    },
}  # fmt: skip
DIFFERENCES: dict[str, Difference] = {
    name: Difference(_SECTIONS[frontend], row, words)
    for frontend, rows in _ROWS.items()
    for name, (row, words) in rows.items()
}
DIFFERENCES["static_graph"] = Difference(
    "chainer-right-where-the-original-refuses-or-is-wrong",
    "`static_graph`",
    "the decorated chain runs again at each call",
)


def note_difference(name: Any) -> None:
    """Tells the listener that a call meets a difference.

    Args:
        name: a key of `DIFFERENCES`.

    Raises:
        Nothing of its own; the listener may end the call by an exception.

    Example:
        >>> from compatgrad.core.notes import note_difference
        >>> note_difference("hybridize")

    Source: `compatgrad/core/notes.py`.
    """
    if listener is not None:
        listener("difference", name)


def note_move(array: Any, target: Any) -> None:
    """Tells the listener that an array is copied to a device, unless it is there already.

    Args:
        array: a tensor, or an array of NumPy or CuPy.
        target: a torch device or its name.

    Raises:
        Nothing of its own; the listener may end the call by an exception.

    Example:
        >>> import numpy as np
        >>> from compatgrad.core.notes import note_move
        >>> note_move(np.zeros(3), "cuda:0")

    Source: `compatgrad/core/notes.py`.
    """
    if listener is None:
        return
    device = getattr(array, "device", "cpu")  # NumPy 1 has no devices
    source = f"cuda:{device.id}" if hasattr(device, "id") else str(device)
    if source != str(target):
        listener("move", f"{source} to {target}", source=source, target=str(target), nbytes=int(array.nbytes))
