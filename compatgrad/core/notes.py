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
    "python": Reason(
        "slow",
        "Python",
        "the program computes it in Python",
        "write it with functions of the framework, which have kernels",
    ),
    "composed": Reason(
        "slow",
        "Python",
        "several functions that Python calls",
        "nothing: compatgrad has no single kernel for it",
        False,
    ),
    "numpy": Reason(
        "slow", "NumPy", "computed by NumPy, on copies", "call it less often, for example outside of the training step"
    ),
    "arrays": Reason(
        "slow", "NumPy", "computed by NumPy (on a GPU by CuPy)", "nothing: Chainer computes it in the same way", False
    ),
    "update": Reason(
        "slow", "Python", "parameters are updated one by one", "use an update rule and hooks that the framework has"
    ),
    "hook": Reason("slow", "Python", "a hook sees every function", "remove the hook where its output is not needed"),
    "debug": Reason(
        "slow", "Python", "debug mode looks for NaN after each function", "switch it off: chainer.set_debug(False)"
    ),
    "copy": Reason(
        "slow", "NumPy", "copied at each use: torch cannot share it", "copy it once, by numpy.ascontiguousarray(x)"
    ),
    "move": Reason("transfer", "", "copied between devices", "keep arrays that are used together on one device"),
    "difference": Reason("deviation", "", "differs from the original", "read docs/deviations.md"),
}


class Difference(NamedTuple):
    """A row of docs/deviations.md that a call can meet.

    Args:
        section: the anchor of the row's section.
        row: the text of its first column.
        words: what happens here, as a clause with subject and verb.

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
            "the communicator pure_nccl is used, because Chainer 7 removed the one that the program names",
        ),
        "chainermn": ("`chainermn` without mpi4py", "the processes communicate by torch.distributed"),
        "onnx_chainer": (
            "`onnx_chainer.export`", "torch's exporter writes the file, with another opset and other names of nodes"
        ),
        "concat": (
            "`concat`, `stack`, `hstack`, `vstack`, `dstack` of one Variable or array in place of a list",
            "the slices of the one array are joined",
        ),
    },
    "nnabla": {
        "no GPU": ("contexts `cuda`, `cudnn` without a GPU", "there is no GPU, and its context runs on the CPU"),
        "SwapInOutScheduler": ("`nnabla.lms.SwapInOutScheduler`", "the scheduler moves no arrays"),
        "memory cache": (
            "array classes, memory caches, `prefer_cached_array`",
            "these settings have no effect, because torch manages the memory",
        ),
    },
    "mxnet": {
        "hybridize": (
            "`hybridize`",
            "compatgrad compiles convolutions, large dense layers and attention only, for inference on CPUs",
        ),
        "register_op_hook": ("`register_op_hook` of a hybridized block", "compatgrad does not call the callback"),
        "Monitor": ("a `Monitor` of executors", "the monitor shows the operators of the symbol as it was written"),
        "profiler": ("`mx.profiler`", "the profiler records only the operators of the thread that starts it"),
        "random": (
            "random numbers, initial weights too",
            "the random numbers are torch's, so that a seed gives other numbers than with MXNet",
        ),
        "sparse": ("sparse arrays", "sparse arrays are stored as dense arrays"),
        "amp": ("`amp.init()` and hybridized blocks on the CPU", "on the CPU all operators compute in float32"),
        "export_model": (
            "`mx.onnx.export_model`", "torch's exporter writes the file, with another opset and other names of nodes"
        ),
        "import_model": (
            "`mx.contrib.onnx.import_model`", "the import follows the ONNX specification where MXNet does not"
        ),
        "quantize": (
            "graphs of `contrib.quantize_net`",
            "single operators run in place of fused ones, and numbers differ by some steps of 8 bits",
        ),
        "workers": ("`DataLoader` workers", "the workers draw torch's random numbers"),
        "mode auto": (
            "the Estimator's `mode='auto'`", "the name of the metric decides whether larger values are better"
        ),
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
