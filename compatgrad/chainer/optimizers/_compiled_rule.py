"""Base classes of the optimizers and update rules that are computed by a compiled loop."""

import inspect
import re
from typing import Any

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, optimizer
from compatgrad.chainer._documented import sections_of
from compatgrad.chainer.backend import get_array_types, using_device
from compatgrad.core.arrays import shareable


class CompiledRule(optimizer.UpdateRule):
    """An update rule whose `_step` names a compiled loop; `update_core_cpu` runs the loop on one parameter."""

    is_elementwise = True
    _method = None  # the optimizer
    _state_names = ()  # names of the arrays in `state`, in the order of the loop's arguments

    def __init__(self, parent_hyperparam, **hyperparams):
        super().__init__(parent_hyperparam)
        self._bound = None  # the arrays in `state` and the tensors that share their memory
        for name, value in hyperparams.items():
            if value is not None:
                setattr(self.hyperparam, name, value)

    def __getstate__(self):
        # Copied tensors would not share the memory of the copied arrays, so a copy creates new tensors.
        return {**self.__dict__, "_bound": None}

    def init_state(self, param):
        """Sets all states to arrays of zeros."""
        self._make_zeros(param, *self._state_names)

    def _make_zeros(self, param, *names):
        with using_device(param.device):
            for number, name in enumerate(names):
                self.state[name] = _zeros_like(param.data, number)

    def _step(self, params, hp):
        """Name and constants of the loop for `params`, whose rules have the same t; `hp` has the values of the
        hyperparameters."""
        raise NotImplementedError

    def update_core_cpu(self, param):
        if param._grad_tensor is not None:
            try:
                name, hypers = self._step((param,), self.hyperparam)
                _C.optim_update(name, (param,), (self._state_tensors(self._state_names),), hypers)
            except TypeError:
                _check_numbers(self, self.hyperparam)
                raise

    def update_core_gpu(self, param):
        # An explicit call rather than an alias: a subclass may override one of the two methods and must keep the other.
        CompiledRule.update_core_cpu(self, param)

    @staticmethod
    def _update_all(params, hp, hooks=()):
        """Updates `params`, whose rules have one class, the same t and the hyperparameters `hp`. Before that it runs
        `hooks` on the gradients, given as tuples of a name and numbers."""
        rules = [param.update_rule for param in params]
        for rule, param in zip(rules, params, strict=True):
            if rule._state is None:
                rule._init_states(param)
        names = rules[0]._state_names
        try:
            name, hypers = rules[0]._step(params, hp)
            if not _C.optim_update(name, params, [rule._state_tensors(names) for rule in rules], hypers, hooks):
                for rule, param in zip(rules, params, strict=True):  # a parameter has moved to another device
                    rule._init_states(param)
                _C.optim_update(name, params, [rule._state_tensors(names) for rule in rules], hypers, hooks)
        except TypeError:
            _check_numbers(rules[0], hp, hooks)
            raise

    def _state_tensors(self, names):
        """Tensors that share the memory of the arrays `names` in `state`."""
        state, bound = self._state, self._bound
        if bound is not None:
            arrays, tensors = bound
            for i, name in enumerate(names):
                if state[name] is not arrays[i]:
                    break
            else:
                return tensors
        for name in names:
            state[name] = _writable(state[name])
        arrays = [state[name] for name in names]
        tensors = tuple([_C.Variable(array).tensor for array in arrays])
        self._bound = arrays, tensors
        return tensors

    def _check_eps(self, eps, dtypes, optimizer_name):
        # ValueError where eps becomes zero in a dtype of the computation.
        for dtype in dtypes:
            if eps != 0 and dtype.type(eps) == 0:
                raise ValueError(f"eps of {optimizer_name} optimizer is too small for {dtype.name} ({eps})")


def _check_numbers(rule, hp, hooks=()):
    """Raises TypeError with the name of a hyperparameter or hook whose value is not a number, such as a string from the
    command line."""
    for name, *numbers in hooks:
        for value in numbers:
            if value is None or isinstance(value, str):
                raise TypeError(f"optimizer hook {name}: expected a number, got {value!r}") from None
    for name, value in sorted(hp.get_dict().items()):
        if value is None or isinstance(value, (str, list, tuple, dict)):
            raise TypeError(f"{type(rule).__name__}: hyperparameter {name} must be a number, got {value!r}") from None


class _RuleDocumentation:
    """A descriptor that composes the docstring of an update rule, when it is read, from that of its optimizer."""

    def __get__(self, instance: Any, rule: Any) -> str | None:
        method = rule._method
        _, sections = sections_of(inspect.getdoc(method) or "")
        found = re.search(r"\((.*)\)\.setup(?:.*\n)+.*array\(\[(.*)\], ", sections.get("Example", ""))
        if found is None:  # a program's optimizer; or python -OO, which removes docstrings
            return None
        called, result = found.groups()
        raised = f"Raises:\n{sections['Raises'].rstrip()}\n\n" if "Raises" in sections else ""
        return _RULE.format(
            name=method.__name__, arguments=sections["Args"].rstrip(), raised=raised, called=called, result=result,
            path=f"{rule.__module__.partition('compatgrad.')[2]}.{rule.__name__}",
        )  # fmt: skip


_RULE = """The update rule of `{name}`, whose docstring has the formula. Each parameter has a rule of its own, in which
its hyperparameters can be set.

Args:
    parent_hyperparam: Hyperparameter in which values that are None here are looked up; `{name}` passes its own. None
        stands for the defaults of `{name}`.
{arguments}

{raised}Example:
    >>> param = chainer.Parameter(np.array([1, -2], np.float32))
    >>> param.grad = np.array([2, -4], np.float32)
    >>> param.update_rule = {path}({called})
    >>> param.update()
    >>> param.array
    array({result}, dtype=float32)

Source: `{path}` of Chainer 7.8.1."""


class CompiledMethod(optimizer.GradientMethod):
    """Base class of optimizers with a compiled rule: the arguments of `__init__` are the rule's hyperparameters, and
    attributes of the optimizer.
    """

    _rule_class: type[CompiledRule]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        if "_rule_class" not in own:
            return  # a base class, or a program's subclass
        if "__init__" in own:
            code = cls.__init__.__code__
            for name in code.co_varnames[1 : code.co_argcount]:
                if name not in own:
                    setattr(cls, name, optimizer.HyperparameterProxy(name))
        rule = cls._rule_class
        if rule._method is None:
            rule._method = cls
            if rule.__doc__ is None:
                rule.__doc__ = _RuleDocumentation()

    def __init__(self, **hyperparams: Any) -> None:
        super().__init__()
        for name, value in hyperparams.items():
            setattr(self.hyperparam, name, value)

    def create_update_rule(self) -> CompiledRule:
        """A new update rule that reads this optimizer's hyperparameters."""
        return self._rule_class(self.hyperparam)


def hyperparameters(**values: Any) -> optimizer.Hyperparameter:
    """Makes a Hyperparameter with these names and values."""
    found = optimizer.Hyperparameter()
    for name, value in values.items():
        setattr(found, name, value)
    return found


_LARGE = 1 << 20  # bytes


def _zeros_like(array, number):
    """Zeros for state number `number` of a parameter, in the memory layout of the parameter's array. NumPy's large
    arrays start 16 bytes after a page boundary: in the middle of a cache line, and all at the same offset in a page.
    With arrays that start on cache lines, at different offsets, a step takes a tenth less time.
    """
    flags = getattr(array, "flags", None)
    if not isinstance(array, numpy.ndarray) or array.nbytes < _LARGE or not (flags.c_contiguous or flags.f_contiguous):
        return backend.get_array_module(array).zeros_like(array)
    page = 4096
    memory = numpy.zeros(array.nbytes + 2 * page, numpy.uint8)
    begin = -memory.ctypes.data % page + 64 + (number + 1) % 4 * (page // 4)
    flat = memory[begin : begin + array.nbytes].view(array.dtype)
    return flat.reshape(array.shape, order="C" if flags.c_contiguous else "F")


def _writable(array):
    # An array into which the compiled rule can write.
    if not isinstance(array, get_array_types()):
        array = numpy.asarray(array)
    return shareable(array) if isinstance(array, numpy.ndarray) else array


def compiled(rule_class):
    """Class decorator: GradientMethod may run rules of exactly this class for many parameters in one call."""
    optimizer._compiled_rules[rule_class] = len(rule_class().__dict__)
    return rule_class
