"""The target of an export: running it, its state, and undoing the changes of a run."""

from __future__ import annotations

import contextlib
import functools
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from compatgrad import _C
from compatgrad.core.adapters import FRONTENDS, Adapter, frontend_of
from compatgrad.core.configuration import using_modes
from compatgrad.exporting._trace import ExportError, written_arguments
from compatgrad.exporting.module import _holders, as_torch_module

__all__ = ["Target"]


class Target:
    """A link, a block, a function of Variables, or a torch module, which may contain such."""

    def __init__(self, who: str, target: Any, parameters: Any, frontend: str | None, train: bool) -> None:
        if not callable(target):
            argument = "fn" if who == "interop.compile" else "target"
            hint = "; pass the function that computes it" if isinstance(target, _C.Variable) else ""
            kinds = "a link, a block, a module or a function"
            raise TypeError(f"{who}: {argument}: expected {kinds}, got {_kind(target)}{hint}")
        if frontend is not None and frontend not in FRONTENDS:
            raise ValueError(f"{who}: frontend: expected one of {', '.join(FRONTENDS)}, got {frontend!r}")
        self.who, self.target, self.train, self._named = who, target, train, frontend
        self.is_module = isinstance(target, torch.nn.Module)
        if self.is_module and (parameters is not None or frontend is not None):
            raise ValueError(f"{who}: parameters and frontend are for functions; a torch module has its own")
        # the owner of the state: the target, the object whose method it is, or the given `parameters`
        self.given: Mapping[str, Any] | None = parameters if isinstance(parameters, Mapping) else None
        self.holder: Any = target
        if parameters is not None and self.given is None:
            if not _has_parameters(parameters):
                hint = "; pass the block itself" if hasattr(parameters, "initialize") else ""
                if isinstance(parameters, (list, tuple, Iterator)):
                    hint = "; pass the link or the block itself, or a dict from names to Variables"
                if isinstance(parameters, torch.nn.Module):
                    hint = "; pass dict(module.named_parameters())"
                raise TypeError(f"{who}: parameters: expected a dict, a link or a block, got {_kind(parameters)}{hint}")
            self.holder = parameters
        elif parameters is None and _has_parameters(getattr(target, "__self__", None)):
            self.holder = target.__self__
        for name, v in (self.given or {}).items():
            if not isinstance(v, (_C.Variable, torch.nn.Parameter)):
                raise TypeError(f"{who}: parameters[{name!r}]: expected a Variable, got {_kind(v)}")
        self.frontend: Adapter | None = None
        self.leaves_gradients = False  # whether the first run put gradients into parameters
        self.at_once = False  # whether nnabla's functions run when they are called, whatever the code says
        self.computes = False  # whether the target itself computes nnabla's Variables that it returns
        self.records = True  # whether the run's mode records; code may choose otherwise
        self.left: Sequence[bool] = ()  # for each of `receivers`, whether it has a gradient after the last run
        # the numbers, among `receivers`, of those whose gradients `run` returns after the result
        self.returned: Sequence[int] | None = None
        self.fresh: Sequence[bool] = ()  # for each parameter whose gradients are written to an array, `has_gradient`
        self.unset: Sequence[Any] = ()  # those of `inputs_of_graphs` that the first run did not change
        self.written: Sequence[Any] = ()  # those of `other_statistics` that the first run changed
        self.receiving: Sequence[bool] = ()  # for each input whether passes leave a gradient in it
        self.first_gradients: float | None = None  # what fills the gradients of `receivers` before a run

    def choose_frontend(self, leaves: Sequence[Any]) -> None:
        """Sets the frontend: that of the target, or that of the first Variable among the inputs."""
        if self.is_module:
            return
        if self._named is not None:
            found = FRONTENDS[self._named]
        else:
            found = frontend_of(next(iter(self.given.values())) if self.given else self.holder)
            if found.name == "compatgrad":
                found = next((frontend_of(x) for x in leaves if isinstance(x, _C.Variable)), found)
        self.frontend = found

    def module(self) -> torch.nn.Module:
        """A torch module with the target's state."""
        if self.is_module:
            own: torch.nn.Module = self.target
            return own
        assert self.frontend is not None
        module = as_torch_module(self.holder, self.given, frontend=self.frontend.name)
        first: dict[int, torch.nn.Parameter] = {}
        for variable, place, name in module._legacy:
            parameter = place._parameters[name]
            if isinstance(variable, _C.DeferredVariable) and not variable.need_grad:  # running statistics
                parameter.requires_grad_(False)
            place._parameters[name] = first.setdefault(id(variable), parameter)  # several links may share a parameter
        return module

    # ---- runs --------------------------------------------------------------------------------------------------------

    def run(self, tensors: Sequence[torch.Tensor], needs: Sequence[bool], rebuild: Callable[..., Any]) -> Any:
        """Calls the target and returns its result, with Variables replaced by tensors; if `returned` is set, a pair of
        the result and the gradients that the call leaves there."""
        if self.frontend is None:
            args, kwargs = rebuild(tensors)
            with mode_of(self.target, self.train):
                return self._read(self.target(*args, **kwargs))
        inputs = [self.frontend.variable(t, n) for t, n in zip(tensors, needs, strict=True)]
        if self.first_gradients is not None:
            for v in self.receivers(inputs):
                put_gradient(v, torch.full_like(tensor_of(v), self.first_gradients))
        args, kwargs = rebuild(inputs)
        # The code itself decides whether MXNet records and whether nnabla's graphs are static. The modes of nnabla's
        # adapter would run a static graph once while it is built, which updates running statistics once more.
        static = self.frontend.deferred and not self.at_once
        modes = contextlib.nullcontext() if static else self.frontend.modes(self.train, self.records)
        with modes, using_modes(recording=False, **({} if static else {"auto_forward": _C.get_mode("auto_forward")})):
            result = self.target(*args, **kwargs)
            flat = _pytree.tree_leaves(result)
            self.computes = not compute(flat)
            receivers = self.receivers(inputs)
            self.left = [has_gradient(v) for v in receivers]
            if self.returned is None:
                return self._read(result)
            return self._read(result), [gradient_of(receivers[k]) for k in self.returned]

    def receivers(self, inputs: Sequence[Any]) -> list[Any]:
        """The parameters and inputs in which passes leave new gradients, other than those whose gradients are arrays
        that passes write to."""
        own = [v for v in self.variables() if buffer_of(v) is None]
        return own + [v for v, is_receiver in zip(inputs, self.receiving, strict=True) if is_receiver]

    def inputs_of_graphs(self) -> list[tuple[Any, Any]]:
        """The inputs of static graphs that were built outside the target, and for each its `array_state`."""
        found = static_graph([v for v in outside(self.target) if isinstance(v, _C.DeferredVariable) and v.parent])
        known = {id(v) for v in self.variables()}
        return [(v, array_state(v)) for v in found if not (v.parent or v.need_grad or id(v) in known)]

    def other_statistics(self, state: Mapping[str, torch.Tensor]) -> list[tuple[Any, torch.Tensor]]:
        """Registered Variables of nnabla that are neither trained nor in the state, with copies of their values."""
        known = {t.data_ptr() for t in state.values()}
        registered = () if self.frontend is None else self.frontend.registered()
        pairs = [(v, tensor_of(v)) for v in registered if not needs_gradient(v)]
        return [(v, t.clone()) for v, t in pairs if t.data_ptr() not in known]

    def note_gradients(self) -> None:
        """Notes whether there are gradients, after a run without gradients before it."""
        own = self.variables()
        # a Trainer of Gluon marks the gradients that it has used as read
        used = any(gradient_of(v) is not None for v in own if buffer_of(v) is not None)
        self.leaves_gradients = any(self.left) or used or any(has_gradient(v) for v in own)
        self.fresh = [has_gradient(v) for v in own if buffer_of(v) is not None]

    def variables(self) -> list[Any]:
        """The parameters, as Variables, each once."""
        return [v for _, v in self.named()]

    def named(self) -> list[tuple[str, Any]]:
        """The parameters with their names."""
        found = [] if self.frontend is None else list(self.frontend.parameters(self.holder))
        first: dict[int, tuple[str, Any]] = {}  # several links may share a parameter, which receives its gradient once
        for name, v in (*found, *(self.given or {}).items()):
            first.setdefault(id(v), (name, v))
        return list(first.values())

    def differentiable(self, module: Any) -> torch.nn.Module:
        """The target as a module whose gradients, in torch's autograd, are those that its frontend computes."""
        if self.frontend is None:
            own: torch.nn.Module = self.target
            return own
        paths = {id(m): path for path, m in module.named_modules()}
        held: dict[str, Any] = {}
        for variable, place, name in module._legacy:
            if all(v is not variable for v in held.values()):
                held[f"{paths[id(place)]}.{name}".lstrip(".")] = variable
        return as_torch_module(self.target, held, frontend=self.frontend.name)

    def _read(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return (list if isinstance(result, list) else tuple)(self._read(y) for y in result)
        if isinstance(result, dict):
            return {k: self._read(y) for k, y in result.items()}
        if isinstance(result, _C.DeferredVariable):
            return result.data.read()
        if isinstance(result, _C.Array):
            return result.read()
        if isinstance(result, _C.Variable):
            return result.tensor
        if result is None or isinstance(result, (torch.Tensor, bool, int, float)):
            return result
        raise ExportError(f"the network returns a {_kind(result)}, but a graph returns tensors: return Variables")

    def is_on_several_devices(self) -> bool:
        """Whether a block's parameters have copies on other devices, of which its `parameters` are the first."""
        found: Any = getattr(self.holder, "_collect_params_with_prefix", dict)()
        return any(len(p.list_ctx()) > 1 for p in found.values())

    def clear_gradients(self) -> None:
        for v in self.variables():
            clear_gradient(v)

    @contextlib.contextmanager
    def unchanged(self, state: Mapping[str, torch.Tensor]) -> Iterator[None]:
        """Restores the target after the block: values of the state, gradients, attributes of links and blocks.

        Inside the block there are no gradients, because gradients of earlier passes would become a part of the graph.
        """
        values = {name: t.detach().clone() for name, t in state.items()}
        versions = _versions(list(state.values()))
        attributes_of = [(h, dict(h.__dict__)) for h in _holders(self.holder)]
        variables = self.variables()
        gradients = [(v, kept_gradient(v), has_gradient(v)) for v in variables]
        arrays = [kept_array(v) for v in static_graph(outside(self.target))]

        def undo() -> None:
            for give_back in arrays:
                give_back()
            for h, attributes in attributes_of:
                h.__dict__.clear()
                h.__dict__.update(attributes)
            for v, g, fresh in gradients:
                put_gradient(v, g)
                if buffer_of(v) is not None:
                    _C.fresh(v, fresh)
            with torch.no_grad():
                for name, t in state.items():
                    if not torch.equal(t, values[name]):
                        t.copy_(values[name])
            versions()

        waiting = _undos.promise(undo)
        try:
            self.clear_gradients()
            yield
        finally:
            _undos.keep(waiting)


def _versions(tensors: Sequence[torch.Tensor]) -> Callable[[], None]:
    """A function that gives tensors the version numbers that they have now. Their values are restored, so that a
    backward pass through what was computed from them before is right, but torch refuses it for a later version."""
    kept = torch.autograd._unsafe_preserve_version_counter(  # type: ignore[attr-defined]
        tuple(t for t in tensors if not t.is_inference())
    )
    return lambda: kept.__exit__()


class _Undos(threading.local):
    """What has still to be restored in this thread. Python may run a signal's handler at the beginning of any function,
    also of one that restores something, and what the handler raises ends the function: `whole` finds what was left."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], None], int]] = []

    def promise(self, undo: Callable[[], None]) -> tuple[Callable[[], None], int]:
        self.waiting.append((undo, torch._C._len_torch_dispatch_stack()))
        return self.waiting[-1]

    def keep(self, undo: tuple[Callable[[], None], int]) -> None:
        """Restores it, unless that was done: an aborted block may end long after. What an inner block has left, which
        began with changed values, is restored before."""
        if undo in self.waiting:
            self.since(self.waiting.index(undo))

    def since(self, count: int) -> None:
        while len(self.waiting) > count:
            undo, modes = self.waiting[-1]
            self.leave(modes)
            undo()
            self.waiting.pop()

    def leave(self, modes: int) -> None:
        """Leaves torch's modes beyond so many, which are entered and left in Python, too: an aborted trace would go
        on."""
        while torch._C._len_torch_dispatch_stack() > modes:
            torch.utils._python_dispatch._pop_mode()

    def end(self, count: int, modes: int) -> None:
        self.since(count)
        self.leave(modes)


_undos = _Undos()


def _end_blocks(interrupt: BaseException | None) -> None:
    """Ends the `with` blocks whose end an interrupt has prevented, the inner ones first: blocks of torch's
    FakeTensorMode change the dispatch keys of the thread, and the interrupt's frames would keep them."""
    while interrupt is not None:
        frames = [frame for frame, _ in traceback.walk_tb(interrupt.__traceback__)]
        for frame in reversed(frames):
            with contextlib.suppress(RuntimeError):  # it still runs
                frame.clear()
        interrupt = interrupt.__context__


def compute(ys: Sequence[Any]) -> bool:
    """Computes those of nnabla's Variables that wait for a `forward`; whether there were any."""
    waiting = [y for y in ys if isinstance(y, _C.DeferredVariable) and y.parent and y.data._lazy]
    if waiting:
        _C.deferred_forward(waiting, False, False, None, None, None)
    return bool(waiting)


def whole(run: Callable[[], Any]) -> Any:
    """The result of a function that runs targets; after it everything is restored, even if an interrupt came while
    something was being restored."""
    count, modes = len(_undos.waiting), torch._C._len_torch_dispatch_stack()
    keys = torch._C._PreserveDispatchKeyGuard()  # by which torch's functions choose what they call
    try:
        return run()
    except BaseException as e:
        if not isinstance(e, Exception):
            _end_blocks(e)
            keys.__exit__(None, None, None)
        raise
    finally:
        try:
            _undos.end(count, modes)
        except BaseException:
            _undos.end(count, modes)
            raise


class Undo(TorchDispatchMode):
    """Undoes, at the end, all writes of calls to tensors, including states of optimizers, which are not found
    otherwise."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's has no types
        self._saved: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage, Callable[[], None]]] = {}
        self._waiting = _undos.promise(self._undo)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            for t in written_arguments(func, args, kwargs):
                storage = t.untyped_storage()
                if storage.nbytes() and storage.data_ptr() not in self._saved:
                    self._saved[storage.data_ptr()] = (storage, storage.clone(), _versions([t]))
        return func(*args, **kwargs)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]  # torch's has no types
        _undos.keep(self._waiting)

    def _undo(self) -> None:
        for storage, values, versions in self._saved.values():
            storage.copy_(values)
            versions()


def _has_parameters(x: Any) -> bool:
    return hasattr(x, "namedparams") or hasattr(x, "_collect_params_with_prefix")


def outside(function: Any) -> list[Any]:
    """Variables of which a function knows: those in its closure, its defaults, and the globals that it reads, also
    inside functions, links and blocks."""
    found: dict[int, Any] = {}
    seen, todo = set(), [function]
    while todo:
        x = todo.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, _C.Variable):
            found[id(x)] = x
        elif isinstance(x, dict):
            todo += x.values()
        elif isinstance(x, (list, tuple)):
            todo += x
        elif hasattr(x, "_collect_params_with_prefix"):
            for p in x._collect_params_with_prefix().values():
                if p.grad_req != "null" and p._data is not None:
                    todo.append(list(p.list_data()))  # one for each device
        elif hasattr(x, "namedparams"):
            todo += [p for _, p in x.namedparams() if p.is_initialized]
        elif isinstance(x, types.MethodType):
            todo += [x.__self__, x.__func__, *_plain_attributes(x.__self__)]
        elif isinstance(x, functools.partial):
            todo += [x.func, x.args, x.keywords]
        elif isinstance(x, types.FunctionType):
            for cell in x.__closure__ or ():
                with contextlib.suppress(ValueError):  # an empty cell
                    todo.append(cell.cell_contents)
            todo += [x.__defaults__, x.__kwdefaults__]
            todo += [x.__globals__.get(name) for name in x.__code__.co_names]
    return list(found.values())


def _plain_attributes(x: Any) -> list[Any]:
    """The attributes of an object that is no link, block or module: of a trainer that a program defines."""
    if _has_parameters(x) or isinstance(x, (torch.nn.Module, type, types.ModuleType)):
        return []
    return list(getattr(x, "__dict__", {}).values())


def static_graph(found: Sequence[Any]) -> list[Any]:
    """The Variables of nnabla's static graphs whose outputs are among the Variables `found`."""
    todo = [v for v in found if isinstance(v, _C.DeferredVariable)]
    seen = {id(v): v for v in todo}
    while todo:
        v = todo.pop()
        new = {id(x): x for x in (v.parent.inputs if v.parent is not None else ()) if id(x) not in seen}
        seen |= new
        todo += new.values()
    return list(seen.values())


def array_state(v: Any) -> tuple[Any, int]:
    """The array of a Variable and how often it was changed; these differ after a change of the array or its values."""
    return v.data, v.data.modification_count


def kept_array(v: Any) -> Callable[[], None]:
    """A function that restores the array and the values that a Variable of a static graph has now. A trace needs it,
    because it leaves tensors without values in the Variable."""
    array, number = v.data, v.data._filling
    if number is not None:

        def fill_again() -> None:
            v.data = array
            array.fill(number)

        return fill_again
    t = array.tensor
    values = t.clone() if v.parent is None else t  # values of other Variables are computed again by the graph

    def give_back() -> None:
        v.data = array
        if array._filling is not None or array.tensor is not t:
            array.tensor = t
        if values is not t and not torch.equal(t, values):
            t.copy_(values)

    return give_back


def buffer_of(v: Any) -> Any:
    """The array, as a Variable, to which passes write the gradient of `v`; None if gradients of `v` are new tensors."""
    return None if isinstance(v, _C.DeferredVariable) else _C.gradient_of(v)


def gradient_of(v: Any) -> Any:
    """The gradient in a Variable; None if it has none, or an array of zeros that passes write to."""
    if isinstance(v, _C.DeferredVariable):
        return v.grad.read() if has_gradient(v) else None
    buffer = _C.gradient_of(v)
    if buffer is None:
        return v._grad_tensor
    return buffer.tensor if buffer.tensor.any() else None


def has_gradient(v: Any) -> bool:
    """Whether a pass has left a gradient, of zeros too, since the last `clear_gradient`."""
    if isinstance(v, _C.DeferredVariable):
        # `_filling` is the number with which the array will be filled, None if the array has values
        return bool(v.grad._filling != 0)
    return bool(_C.fresh(v)) if buffer_of(v) is not None else v._grad_tensor is not None


def kept_gradient(v: Any) -> Any:
    """The gradient, which later passes do not change."""
    g = gradient_of(v)
    written = isinstance(v, _C.DeferredVariable) or buffer_of(v) is not None
    return g.clone() if written and g is not None else g


def clear_gradient(v: Any) -> None:
    if isinstance(v, _C.DeferredVariable):
        v.grad.zero()
    elif (buffer := _C.gradient_of(v)) is not None:
        buffer.tensor.zero_()
        _C.fresh(v, False)
    else:
        v._grad_tensor = None


def put_gradient(v: Any, g: Any) -> None:
    if g is None:
        clear_gradient(v)
    elif isinstance(v, _C.DeferredVariable):
        v.grad.tensor = g
    elif (buffer := _C.gradient_of(v)) is not None:
        buffer.tensor.copy_(g)
    else:
        v._grad_tensor = g


def receive(v: Any, way: str, g: Any) -> None:
    """Gives a Variable a gradient that replaces the one that it has or is added to it, or removes its gradient."""
    if way == "add" and (before := gradient_of(v)) is not None:
        g = before + g
    if g is not None and not isinstance(v, _C.DeferredVariable):
        v._grad_tensor = g
    else:
        put_gradient(v, g)


@contextlib.contextmanager
def mode_of(module: torch.nn.Module, train: bool) -> Iterator[None]:
    before = [(m, m.training) for m in module.modules()]
    module.train(train)
    try:
        yield
    finally:
        for m, training in before:
            m.training = training


def is_input(x: Any) -> bool:
    return isinstance(x, (torch.Tensor, np.ndarray, _C.Variable))


def tensor_of(x: Any) -> torch.Tensor:
    """The values of an example input."""
    found: torch.Tensor
    if isinstance(x, np.ndarray):
        found = torch.from_numpy(x if x.flags.c_contiguous else np.ascontiguousarray(x))
    elif isinstance(x, _C.DeferredVariable):
        found = x.data.read().detach()
    else:
        # compiled code reads the memory, which does not contain the signs of conjugate and negative views
        found = x.detach().resolve_conj().resolve_neg() if isinstance(x, torch.Tensor) else x.tensor
    return found


def is_marked(x: Any) -> bool:
    """Whether passes write the gradient of an input to an array."""
    return isinstance(x, _C.Variable) and buffer_of(x) is not None


def needs_gradient(x: Any) -> bool:
    if isinstance(x, _C.DeferredVariable):
        return bool(x.need_grad)
    if isinstance(x, _C.Variable):
        return bool(x.requires_grad)
    t = torch.as_tensor(x)
    return t.is_floating_point() or t.is_complex()


def is_receiver(x: Any) -> bool:
    """Whether passes may leave a gradient in an input: labels have none, even if their Variable says that it needs
    one."""
    return isinstance(x, _C.Variable) and needs_gradient(x) and needs_gradient(tensor_of(x))


def look_of(x: Any) -> tuple[bool, bool]:
    """How passes treat an input: whether it gets a gradient, and whether they write it to an array."""
    return isinstance(x, _C.Variable) and needs_gradient(x), is_marked(x)


def is_recorded(x: Any) -> bool:
    """Whether passes go on from an input to what it was computed from."""
    if not isinstance(x, _C.Variable) or x.creator_node is None:
        return False
    if not isinstance(x, _C.DeferredVariable):
        return bool(x.requires_grad)
    todo, seen = [x], {x}
    while todo:
        v = todo.pop()
        if v.parent is None and v.need_grad:
            return True
        new = set(v.parent.inputs if v.parent is not None else ()) - seen
        seen |= new
        todo += new
    return False


def _kind(x: Any) -> str:
    return type(x).__name__
