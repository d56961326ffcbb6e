"""CUDA graphs of nnabla's static graphs: passes that are launched once and repeated without Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from compatgrad import _C

__all__ = ["CudaGraph", "cuda_graph"]

_KEY = "compatgrad.interop.cuda_graph"


class Recording:
    """torch's CUDA graph of work on one device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.graph = torch.cuda.CUDAGraph()

    @staticmethod
    def refusal(functions: dict[torch.device, Any]) -> str | None:
        """Why functions that run on these devices cannot be captured, or None."""
        if not torch.cuda.is_available():
            return "there is no CUDA device"
        for device, f in functions.items():
            if device.type != "cuda":
                return f"{f} runs on the CPU; make the network in a context of cuda or cudnn"
        if len(functions) == 1:
            return None
        (a, f), (b, g) = list(functions.items())[:2]
        return f"{f} runs on {a} and {g} on {b}; one device can be captured"

    @contextmanager
    def warm(self) -> Iterator[None]:
        """Beside torch's default stream, as the capture will be: libraries choose algorithms and load their code."""
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
                # thread_local: what other threads do, such as those that load data, must not spoil it
                with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                    yield
            finally:
                torch.cuda.set_stream(stream)  # torch leaves its own in place where a capture fails

    def replay(self) -> None:
        with torch.cuda.device(self.device):
            self.graph.replay()


class CudaGraph:
    """What `cuda_graph` has captured. It holds all memory that it works on; `replay` does it again.

    Args:
        step: the function that was captured.
        functions: the functions of the static graph that it runs.
        recording: torch's CUDA graph.
        warmup: number of runs before the capture.

    Raises:
        RuntimeError: the step cannot be captured; the message names what cannot.

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
        self._saved: list[tuple[Any, torch.Tensor]] = []  # what leaves hold before, to be put back
        self._static: list[tuple[Any, Any, torch.Tensor]] = []  # leaf, its array and the memory that is read
        self._results: list[tuple[Any, torch.Tensor]] = []  # arrays and the memory that is written
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
        """Does again what was captured, on what the leaves hold now; their gradients start from zero.

        Values given to a leaf since, on whatever device, are copied to where they are read. Data and gradients of all
        Variables are those of this run afterwards. ValueError where a leaf has another shape than when it was captured,
        RuntimeError where a captured solver's update would now take other numbers, as a new learning rate.
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
                    f"replay: a leaf has shape {tuple(now.shape)}, and was captured with {tuple(memory.shape)}; "
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
                raise RuntimeError("cuda_graph: a leaf is a part of another array, made by narrow")
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
        """A function is about to run."""
        self._function = function

    def updating(self, solver: Any) -> None:
        """A solver is about to update its parameters."""
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
                    # Where a run leaves a leaf in other memory, the next run reads it where this one did.
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
                "What waits for the GPU, copies from or to the host, or decides by values cannot be part of it"
            ) from (failure or error)
        finally:
            _C.set_capturing(was)
            failure = None  # its traceback holds this frame
        for _, array, begin in memory:
            array.tensor = begin
        self._static = memory
        arrays = dict.fromkeys(v.grad for v in self._leaves.values())
        arrays.update(dict.fromkeys(a for v in self._inner for a in (v.data, v.grad)))
        self._results = [(array, array.read()) for array in arrays if not (array._lazy or array.clear_called)]


def _numbers(solver: Any, states: dict[str, Any], decay: float) -> list[tuple[Any, ...]]:
    """What the solver's update computes with besides arrays, its decay being `decay`.

    RuntimeError where that is not always the same.
    """
    from compatgrad.nnabla.solver import Solver

    if type(solver)._step is not Solver._step:
        raise RuntimeError(f"{solver.name}.update() has steps of its own on the host; call it after each replay")
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
    """Tells the graph which functions run and which solvers update, on the way to an error's words."""
    from compatgrad.nnabla import _solver, callback

    callback.set_function_pre_hook(_KEY, graph.entered)
    before, _solver.before_update = _solver.before_update, graph.updating
    try:
        yield
    finally:
        _solver.before_update = before
        callback.unset_function_pre_hook(_KEY)


def cuda_graph(step: Callable[[], Any], *outputs: Any, warmup: int = 3) -> CudaGraph:
    """Captures what a function does on a GPU as a CUDA graph, whose `replay()` does it again at the price of one
    launch.

    Gradients of leaves start from zero in each run. `weight_decay`, `clip_grad_by_norm` and `scale_grad` may be
    captured; `update` of a solver too, unless its numbers depend on how often it ran, as Adam's: call that after
    `replay`, where it is one launch for all parameters. What Python computes in the step stays as captured. Before a
    replay, give leaves new values as always (`x.d = batch`). Random functions draw from torch's generator of the
    device, in each replay anew. docs/devices.md has more.

    Args:
        step: a function without arguments that runs passes of nnabla's static graph, as a rule
            `loss.forward(clear_no_need_grad=True); loss.backward(clear_buffer=True)`. It runs `warmup` times and is
            then captured; parameters, running means and states of solvers are what they were afterwards.
        *outputs: Variables. All that the passes compute must be among what these depend on.
        warmup: number of runs before the capture, at least 1.

    Returns:
        The captured graph.

    Raises:
        RuntimeError: there is no GPU, a function is not on it, or something cannot be captured: what reads values on
            the host, and what the host makes anew in each run. The message names it.
        TypeError: `step` cannot be called, or an output is no Variable of nnabla.
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
