"""The base class of solvers: parameters, states, and operations on gradients."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from ctypes import c_float
from os import PathLike
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.foreign import advice

from . import _solver_files
from ._solver_files import SolverState
from .callback import solver_post_hooks, solver_pre_hooks
from .variable import Variable

_LAST_T = 2**32 - 2

before_update: Callable[[Any], None] | None = None  # called with the solver while a CUDA graph is captured


class _Entry:
    """A parameter of a solver, with its number of updates and its states."""

    __slots__ = ("param", "t", "tensors", "variables")

    def __init__(self, param):
        self.param = param
        self.t = 0
        self.tensors = None  # the states; the first update makes them
        self.variables = None  # the states as Variables by name, once a program has read or set them

    def states(self, names):
        """The states, as tensors or as the Variables that contain them."""
        if self.variables is not None:
            return tuple([self.variables[name] for name in names])
        device = self.param.data.tensor.device
        if self.tensors is None:
            shape = self.param.shape
            self.tensors = tuple([torch.zeros(shape, dtype=torch.float32, device=device) for _ in names])
        elif self.tensors and self.tensors[0].device != device:
            self.tensors = tuple([state.to(device) for state in self.tensors])
        return self.tensors

    def expose(self, names):
        """The states as Variables."""
        if self.variables is None:
            self.variables = {}
            for i, name in enumerate(names):
                variable = self.variables[name] = Variable(self.param.shape)
                if self.tensors is None:
                    variable.data.zero()
                else:
                    variable.data.tensor = self.tensors[i]
        return self.variables


class _StatesElsewhere(Exception):
    """The parameters have moved to another device than the states. No parameter has been changed."""


class Solver:
    """The base class of solvers.

    Parameters whose gradient was marked as zero and not computed since (`grad.zeroing`) are always skipped.
    Solvers compute in float32; parameters of another dtype become float32 at the first update.

    Args:
        **arguments: the hyperparameters, the learning rate first.

    Attributes:
        info: the hyperparameters by name.

    Raises:
        TypeError: an argument is no number.

    Example:
        >>> w = nn.Variable.from_numpy_array([1.0, 2.0], need_grad=True)
        >>> loss = F.sum(w ** 2)
        >>> solver = S.Sgd(lr=0.1)
        >>> solver.set_parameters({"w": w})
        >>> loss.forward()
        >>> solver.zero_grad()
        >>> loss.backward()
        >>> solver.update()
        >>> w.d
        array([0.8, 1.6], dtype=float32)

    Source: `nnabla.solver.Solver` of nnabla 1.39.0.
    """

    _rule = ""
    _states: tuple = ()
    _fused = False  # weight decay is part of the update

    def __init__(self, **arguments: float) -> None:
        # the first one is the learning rate; they are rounded to single precision
        self.info = {
            name: value if isinstance(value, bool) else self._single(name, value) for name, value in arguments.items()
        }
        self._lr = self._first_lr = next(iter(self.info.values()), 0.0)
        self._entries: dict[str, _Entry] = {}
        self._prepared = None
        self._decay = self._default_decay = 0.0

    def _single(self, name, value):
        # the argument `name` in single precision
        try:
            return c_float(value).value
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"{type(self).__name__}: {name} must be real number, not {kind}: {value!r}") from None

    def _set_default_decay(self, rate):
        self._decay = self._default_decay = self._single("wd", rate)

    def _relative_rate(self):
        return self._lr / self._first_lr

    # Subclasses define the constants of `_rule` at step `t`, or the whole step.

    def _hypers(self, t):
        raise NotImplementedError(f"{type(self).__name__} has no update rule")

    def _step(self, t, params, states):
        self._apply(self._rule, params, states, self._hypers(t))

    @property
    def name(self) -> str:
        """The solver's name, a str."""
        return type(self).__name__

    def setup(self, params: Any) -> None:
        """Raises RuntimeError: use `set_parameters`."""
        raise RuntimeError("Deprecated. Call set_parameters(param_dict).")

    # ---- parameters ----

    def set_parameters(
        self, param_dict: Mapping[str, Variable], reset: bool = True, retain_state: bool = False
    ) -> None:
        """Adds parameters.

        Args:
            param_dict: the parameters by their names.
            reset: whether all other parameters are removed first. Otherwise those of the same names are replaced.
            retain_state: whether a parameter that replaces another one keeps its state.

        Raises:
            AttributeError: `param_dict` is no dictionary.
            RuntimeError: a state that is kept has another shape than the parameter.
            TypeError: a name is no str, or a parameter no Variable.
        """
        if not hasattr(param_dict, "items"):
            raise AttributeError(
                "set_parameters: expected a dict of Variables, such as nn.get_parameters(), "
                f"got {type(param_dict).__name__}"
            )
        params = param_dict.items()
        for key, param in params:
            if not isinstance(key, str):
                raise TypeError(f"set_parameters: expected str as key, got {type(key).__name__}")
            if not isinstance(param, Variable):
                kind = type(param).__name__ + advice(param, "nnabla")
                raise TypeError(f"set_parameters: expected Variable as {key!r}, got {kind}")
        self._prepared = None
        if reset:
            self._entries.clear()
        for key, param in params:
            known = self._entries.get(key)
            if known is None or not retain_state:
                self._entries[key] = _Entry(param)
            elif known.param.shape != param.shape:
                raise RuntimeError(
                    f"set_parameters: could not retain the state of {key}: its shape is {param.shape}, "
                    f"previously {known.param.shape}"
                )
            else:
                known.param = param

    def get_parameters(self) -> OrderedDict[str, Variable]:
        """The parameters by their names."""
        return OrderedDict((key, entry.param) for key, entry in self._entries.items())

    def remove_parameters(self, keys: Iterable[str]) -> None:
        """Removes the parameters with the names `keys`; unknown names are skipped."""
        self._prepared = None
        for key in keys:
            self._entries.pop(key, None)

    def clear_parameters(self) -> None:
        """Removes all parameters."""
        self._prepared = None
        self._entries.clear()

    # ---- states ----

    def get_states(self) -> OrderedDict[str, SolverState]:
        """A dict of the states by parameter name. The states' Variables are not copies."""
        self._prepared = None
        states = OrderedDict()
        for key, entry in self._entries.items():
            states[key] = state = SolverState()
            state.pstate.update(entry.expose(self._states))
            state.t = entry.t
        return states

    def set_states(self, states: Mapping[str, SolverState]) -> None:
        """Sets the states to those of a dict like that of `get_states`.

        Raises:
            RuntimeError: a name is not among the parameters, or an array is missing or has another shape. Nothing is
                changed then.
        """
        for key, state in states.items():
            entry = self._entries.get(key)
            if entry is None:
                raise RuntimeError(f"set_states: Set weight parameter for {key} first.")
            for name in self._states:
                found = state.pstate[name].shape if name in state.pstate else None
                if found != entry.param.shape:
                    what = "is missing" if found is None else f"has shape {found}"
                    raise RuntimeError(
                        f"set_states: {name} of {key} {what}; {self.name} needs shape {entry.param.shape}"
                    )
        self._prepared = None
        for key, state in states.items():
            entry = self._entries[key]
            entry.variables = {name: state.pstate[name] for name in self._states}
            entry.t = int(state.t)

    def save_states(self, path: str | PathLike[str]) -> None:
        """Writes the states to a file: .h5 or .protobuf. Raises AssertionError for another format."""
        _solver_files.save(self, path)

    def load_states(self, path: str | PathLike[str]) -> None:
        """Reads states from a file: .h5, .protobuf, .nntxt or .prototxt. Call `set_parameters` first.

        Raises:
            AssertionError: the file has another format.
            NotImplementedError: the file is a .nnp file.
            RuntimeError: see `set_states`.
        """
        _solver_files.load(self, path)

    def set_states_to_protobuf(self, optimizer: Any) -> None:
        """Writes the states into `optimizer`, an Optimizer message."""
        _solver_files.to_message(self.get_states(), optimizer)

    def set_states_from_protobuf(self, optimizer_proto: Any) -> None:
        """Reads the states from `optimizer_proto`, an Optimizer message."""
        self.set_states(_solver_files.from_message(optimizer_proto))

    # ---- training ----

    def learning_rate(self) -> float:
        """The learning rate, a float of single precision."""
        return self._lr

    def set_learning_rate(self, learning_rate: float) -> None:
        """Sets the learning rate."""
        self._lr = self._single("learning_rate", learning_rate)

    def weight_decay_is_fused(self) -> bool:
        """Whether `weight_decay` takes effect in the next `update` instead of at once."""
        return self._fused

    def zero_grad(self) -> None:
        """Marks all gradients as zero; the next accumulation overwrites them."""
        _C.solver_zero_grad(self._params())

    # `_prepared` caches the lists of entries, parameters and states that the compiled calls take, until one of them
    # changes.

    def _params(self):
        if self._prepared is None:
            entries = list(self._entries.values())
            self._prepared = entries, [entry.param for entry in entries], None
        return self._prepared[1]

    def _states_of(self, entries):
        if entries is not self._prepared[0]:
            return [entry.states(self._states) for entry in entries]
        if self._prepared[2] is None:
            states = [entry.states(self._states) for entry in entries]
            self._prepared = *self._prepared[:2], states
        return self._prepared[2]

    def _groups(self, name, pre_hook, post_hook):
        # Yields pairs of lists (entries, parameters). With hooks there is one pair per parameter, because the hooks are
        # called before each, and parameters without a gradient are left out.
        params = self._params()
        entries = self._prepared[0]
        if pre_hook is None and post_hook is None and not solver_pre_hooks and not solver_post_hooks:
            yield entries, params
            return
        for hook in (pre_hook, post_hook):
            if hook is not None and not callable(hook):
                raise TypeError(f"{name}: a hook must be callable, got {type(hook).__name__}")
        for entry in entries:
            if not entry.param.grad.zeroing:
                for hook in (*solver_pre_hooks.values(), pre_hook, post_hook, *solver_post_hooks.values()):
                    if hook is not None:
                        hook()
                yield [entry], [entry.param]

    def update(
        self, update_pre_hook: Callable[[], Any] | None = None, update_post_hook: Callable[[], Any] | None = None
    ) -> None:
        """Updates the parameters from their gradients. Both hooks are called before the update of each parameter."""
        if before_update is not None:
            before_update(self)
        for entries, params in self._groups("update", update_pre_hook, update_post_hook):
            live = _C.solver_live(params)
            if live is not None:
                entries = [entries[i] for i in live]
            elif len({entry.t for entry in entries}) == 1:  # nearly always the case
                t = min(entries[0].t + 1, _LAST_T)
                for entry in entries:
                    entry.t = t
                self._step_on_device(t, entries, params)
                continue
            steps: dict[int, list[_Entry]] = {}
            for entry in entries:
                entry.t = t = min(entry.t + 1, _LAST_T)
                steps.setdefault(t, []).append(entry)
            for t, group in steps.items():
                self._step_on_device(t, group, [entry.param for entry in group])
        self._decay = self._default_decay

    def _step_on_device(self, t, entries, params):
        try:
            self._step(t, params, self._states_of(entries))
        except _StatesElsewhere:
            self._params()
            self._prepared = *self._prepared[:2], None
            self._step(t, params, self._states_of(entries))

    def _apply(self, rule, params, states, hypers):
        if not _C.optim_update(rule, params, states, hypers):
            raise _StatesElsewhere

    def _tensors(self, params, states):
        # Tensors of parameters and gradients, for steps that are not one compiled rule.
        xs, gs = _C.solver_tensors(params, False), _C.solver_tensors(params, True)
        for x, state in zip(xs, states, strict=True):
            if any(isinstance(s, torch.Tensor) and s.device != x.device for s in state):
                raise _StatesElsewhere
        return xs, gs

    def weight_decay(
        self, decay_rate: float, pre_hook: Callable[[], Any] | None = None, post_hook: Callable[[], Any] | None = None
    ) -> None:
        """Adds `decay_rate` times the parameter to each gradient.

        Where `weight_decay_is_fused`, the rate is kept for the next `update` only. Both hooks are called before each
        parameter.
        """
        rate = self._single("decay_rate", decay_rate)
        if self._fused:
            self._decay = rate
        elif rate:
            for _, params in self._groups("weight_decay", pre_hook, post_hook):
                _C.optim_change_grads("weight_decay", params, (rate,))

    def clip_grad_by_norm(
        self, clip_norm: float, pre_hook: Callable[[], Any] | None = None, post_hook: Callable[[], Any] | None = None
    ) -> None:
        """Scales each gradient whose norm is larger than `clip_norm` down to it; 0 does nothing."""
        norm = self._single("clip_norm", clip_norm)
        if norm:
            for _, params in self._groups("clip_grad_by_norm", pre_hook, post_hook):
                _C.optim_clip(params, norm, False)

    def scale_grad(
        self, scale: float, pre_hook: Callable[[], Any] | None = None, post_hook: Callable[[], Any] | None = None
    ) -> None:
        """Multiplies each gradient by `scale`."""
        rate = self._single("scale", scale)
        for _, params in self._groups("scale_grad", pre_hook, post_hook):
            _C.optim_change_grads("scale", params, (rate,))

    def _any(self, name, inf, nan, pre_hook, post_hook):
        groups = self._groups(name, pre_hook, post_hook)
        return any(_C.optim_special(params, inf, nan) for _, params in groups)

    def check_inf_grad(
        self, pre_hook: Callable[[], Any] | None = None, post_hook: Callable[[], Any] | None = None
    ) -> bool:
        """Whether a gradient has an infinite element."""
        return self._any("check_inf_grad", True, False, pre_hook, post_hook)

    def check_nan_grad(
        self, pre_hook: Callable[[], Any] | None = None, post_hook: Callable[[], Any] | None = None
    ) -> bool:
        """Whether a gradient has a NaN."""
        return self._any("check_nan_grad", False, True, pre_hook, post_hook)

    def check_inf_or_nan_grad(
        self, pre_hook: Callable[[], Any] | None = None, post_hook: Callable[[], Any] | None = None
    ) -> bool:
        """Whether a gradient has an infinite element or a NaN."""
        return self._any("check_inf_or_nan_grad", True, True, pre_hook, post_hook)
