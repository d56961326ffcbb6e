"""CUDA graphs of nnabla's static graphs: passes that are captured once and repeated without Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from compatgrad import _C

__all__ = ["CudaGraph", "cuda_graph"]

_KEY = "compatgrad.interop.cuda_graph"


class Recording:
    """torch's CUDA graph of the work on one device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.graph = torch.cuda.CUDAGraph()

    @staticmethod
    def refusal(functions: dict[torch.device, Any]) -> str | None:
        """The reason why functions on these devices cannot be captured, or None."""
        if not torch.cuda.is_available():
            return "there is no CUDA device"
        for device, f in functions.items():
            if device.type != "cuda":
                return f"{f} runs on the CPU; make the network in a context of cuda or cudnn"
        if len(functions) == 1:
            return None
        (a, f), (b, g) = list(functions.items())[:2]
        return f"{f} runs on {a} and {g} on {b}; a CUDA graph can capture one device only"

    @contextmanager
    def warm(self) -> Iterator[None]:
        """A context for runs on a separate stream, as in the capture, in which libraries choose algorithms and load
        their code."""
        with torch.cuda.device(self.device):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                yield
            torch.cuda.current_stream().wait_stream(stream)

    @contextmanager
    def capture(self) -> Iterator[None]:
        with torch.cuda.device(self.device):
            stream = torch.cuda.current_stream()
            try:
                # thread_local: calls of other threads, such as those that load data, must not make the capture fail
                with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                    yield
            finally:
                torch.cuda.set_stream(stream)  # after a failed capture torch leaves its capture stream current

    def replay(self) -> None:
        with torch.cuda.device(self.device):
            self.graph.replay()


class CudaGraph:
    """A captured step, made by `cuda_graph`. It owns all memory that it works on; `replay` runs the step again.

    Args:
        step: the function that was captured.
        functions: the functions of the static graph that it runs.
        recording: torch's CUDA graph.
        warmup: number of runs before the capture.

    Raises:
        RuntimeError: the step cannot be captured; the message names the reason.

    Example:
        captured = interop.cuda_graph(step, loss)
        captured.replay()

    Source: `compatgrad/interop/_cuda_graph.py`.
    """

    def __init__(self, step: Callable[[], Any], functions: list[Any], recording: Recording, warmup: int) -> None:
        self._step, self._recording = step, recording
        self._leaves = {v.data: v for f in functions for v in f.inputs if v.parent is None}
        self._inner = [v for f in functions for v in f.outputs]
        self._solvers: list[tuple[Any, dict[str, Any], float, list[tuple[Any, ...]]]] = []
        self._saved: list[tuple[Any, torch.Tensor]] = []  # old values of leaves, to be restored
        self._static: list[tuple[Any, Any, torch.Tensor]] = []  # leaf, its array and the memory that the graph reads
        self._results: list[tuple[Any, torch.Tensor]] = []  # arrays and the memory that the graph writes
        self._phase = "warm-up"
        self._function: Any = None
        self._save(self._leaves)
        try:
            with _watched(self):
                with recording.warm():
                    for _ in range(warmup):
                        self._zero_gradients()
                        step()
                self._put_back()
                self._capture()
        finally:
            self._zero_gradients()
            self._put_back()
        self._saved.clear()

    def replay(self) -> None:
        """Runs the captured step again with the current values of the leaves; their gradients start from zero.

        New values of a leaf, on any device, are copied to the memory that the graph reads. Afterwards data and
        gradients of all Variables are those of this run. ValueError if a leaf has another shape than at the capture,
        RuntimeError if the numbers of a captured solver's update have changed, such as the learning rate.
        """
        for solver, states, decay, captured in self._solvers:
            if _numbers(solver, states, decay) != captured:
                raise RuntimeError(
                    f"replay: {solver.name}.update() was captured with other numbers, such as another learning rate or "
                    "decay, which a CUDA graph keeps; capture again, or leave update() out of the step and call it "
                    "after each replay"
                )
        for variable, array, memory in self._static:
            given = variable.data
            now = given.read()
            if now is memory or now.data_ptr() == memory.data_ptr() and now.device == memory.device:
                continue
            if now.shape != memory.shape:
                raise ValueError(
                    f"replay: a leaf has shape {tuple(now.shape)}, but was captured with {tuple(memory.shape)}; "
                    "capture again"
                )
            memory.copy_(now)
            array.tensor = memory
            if given != array:
                variable.data = array
        self._recording.replay()
        for array, memory in self._results:
            if array._lazy or array.read() is not memory:
                array.tensor = memory
        for solver, *_ in self._solvers:
            states = solver.get_states()
            for state in states.values():
                state.t += 1
            solver.set_states(states)

    # ---- capturing ------------------------------------------------------------------------------------------------
    def _save(self, arrays: Iterable[Any]) -> None:
        for array in arrays:
            if array._part:
                raise RuntimeError(
                    f"cuda_graph: leaf of shape {tuple(array.shape)}: expected an array with memory of its own, "
                    "got a part of another array, made by narrow"
                )
            self._saved.append((array, array.read().clone()))

    def _put_back(self) -> None:
        for array, value in self._saved:
            array.read().copy_(value)
        for solver, states, *_ in self._solvers:
            solver.set_states(states)

    def _zero_gradients(self) -> None:
        for variable in self._leaves.values():
            variable.grad.zero()

    def entered(self, function: Any) -> None:
        """Called before a function runs."""
        self._function = function

    def updating(self, solver: Any) -> None:
        """Called before a solver updates its parameters."""
        if all(solver is not known for known, *_ in self._solvers):
            if self._phase == "capture":
                raise RuntimeError(f"{solver.name}.update() was not called in the runs before")
            states = solver.get_states()
            self._solvers.append((solver, states, solver._decay, _numbers(solver, states, solver._decay)))
            fresh = {v.data: v for state in states.values() for v in state.pstate.values()}
            self._save(fresh)
            self._leaves.update(fresh)

    def _capture(self) -> None:
        memory = [(v, array, array.read()) for array, v in self._leaves.items()]
        self._zero_gradients()
        self._phase = "capture"
        failure = None
        was = _C.set_capturing(True)
        try:
            with self._recording.capture():
                try:
                    self._step()
                    # If a run moves a leaf to other memory, the next run must read it from the old memory.
                    for _, array, begin in memory:
                        if array.read().data_ptr() != begin.data_ptr():
                            begin.copy_(array.read())
                except Exception as error:
                    failure = error
                    raise
        except Exception as error:
            where = "" if self._function is None else f" In or after {self._function}:"
            raise RuntimeError(
                f"cuda_graph: the step cannot be captured.{where} {failure or error}\n"
                "A step that waits for the GPU, copies from or to the host, or branches on values cannot be captured"
            ) from (failure or error)
        finally:
            _C.set_capturing(was)
            failure = None  # avoids a reference cycle with the traceback
        for _, array, begin in memory:
            array.tensor = begin
        self._static = memory
        arrays = dict.fromkeys(v.grad for v in self._leaves.values())
        arrays.update(dict.fromkeys(a for v in self._inner for a in (v.data, v.grad)))
        self._results = [(array, array.read()) for array in arrays if not (array._lazy or array.clear_called)]


def _numbers(solver: Any, states: dict[str, Any], decay: float) -> list[tuple[Any, ...]]:
    """The numbers that the solver's update uses, with the weight decay `decay`.

    RuntimeError if they differ between updates.
    """
    from compatgrad.nnabla.solver import Solver

    if type(solver)._step is not Solver._step:
        raise RuntimeError(f"{solver.name}.update() computes on the host; call it after each replay")
    steps = sorted({state.t for state in states.values()})
    now, solver._decay = solver._decay, decay
    try:
        found, later = ([tuple(solver._hypers(t + k)) for t in steps] for k in (1, 2))
    finally:
        solver._decay = now
    if found != later:
        raise RuntimeError(
            f"{solver.name}.update() depends on the number of updates, which a CUDA graph would keep; leave it out of "
            "the step and call it after each replay"
        )
    return found


@contextmanager
def _watched(graph: CudaGraph) -> Iterator[None]:
    """Reports functions that run and solvers that update to the graph, so that errors can name them."""
    from compatgrad.nnabla import _solver, callback

    callback.set_function_pre_hook(_KEY, graph.entered)
    before, _solver.before_update = _solver.before_update, graph.updating
    try:
        yield
    finally:
        _solver.before_update = before
        callback.unset_function_pre_hook(_KEY)


def cuda_graph(step: Callable[[], Any], *outputs: Any, warmup: int = 3) -> CudaGraph:
    """Captures the work of a function on a GPU as a CUDA graph, whose `replay()` repeats it in one launch.

    Gradients of leaves start from zero in each run. `weight_decay`, `clip_grad_by_norm` and `scale_grad` may be
    captured; so may `update` of a solver, unless its numbers depend on how often it ran, as Adam's do: call that after
    `replay`, where it takes one launch for all parameters. Results of Python code in the step keep their captured
    values. Before a replay, assign new values to leaves as usual (`x.d = batch`). Random functions draw new numbers
    from torch's generator of the device in each replay. See docs/devices.md.

    Args:
        step: a function without arguments that runs passes of nnabla's static graph, usually
            `loss.forward(clear_no_need_grad=True); loss.backward(clear_buffer=True)`. It runs `warmup` times and is
            then captured; afterwards parameters, running means and states of solvers have their old values.
        *outputs: Variables that depend on all functions of the passes.
        warmup: number of runs before the capture, at least 1.

    Returns:
        The captured graph.

    Raises:
        RuntimeError: there is no GPU, a function does not run on it, or the step cannot be captured because it reads
            values on the host, or uses values that the host computes in each run. The message names the reason.
        TypeError: `step` is not callable, or an output is not an nnabla Variable.
        ValueError: there are no outputs, one has no parent, or `warmup` is less than 1.

    Example:
        captured = interop.cuda_graph(step, loss)  # in a context of CUDA
        for x.d, t.d in batches:
            captured.replay()
            solver.update()

    Source: `compatgrad/interop/_cuda_graph.py`.
    """
    from compatgrad.nnabla.auto_forward import get_auto_forward
    from compatgrad.nnabla.context import device_of
    from compatgrad.nnabla.variable import Variable

    functions: dict[Any, None] = {}
    if not callable(step):
        raise TypeError(f"cuda_graph: step: expected a function without arguments, got {type(step).__name__}")
    if not outputs:
        raise ValueError("cuda_graph: outputs: expected at least one Variable after the step, got none")
    if warmup < 1:
        raise ValueError(f"cuda_graph: warmup: expected 1 or more, got {warmup}")
    for k, y in enumerate(outputs):
        if not isinstance(y, Variable):
            raise TypeError(f"cuda_graph: output {k}: expected an nnabla Variable, got {type(y).__name__}")
        if y.parent is None:
            raise ValueError(f"cuda_graph: output {k} has no parent, so there is nothing to compute")
        y.visit(lambda f: functions.update({f: None}))
    if get_auto_forward():
        raise RuntimeError("cuda_graph: functions run at once (auto_forward); only a static graph can be run again")
    devices: dict[torch.device, Any] = {}
    for f in functions:
        device = device_of(f.info.context) if hasattr(f.info, "context") else torch.device("cpu")
        devices.setdefault(device, f)
        for x in _C.function_inputs(f):
            if not isinstance(x, Variable):
                raise RuntimeError(f"cuda_graph: {f} has an input of another frontend, which runs at once")
    if why := Recording.refusal(devices):
        raise RuntimeError(f"cuda_graph: {why}")
    return CudaGraph(step, list(functions), Recording(next(iter(devices))), warmup)
