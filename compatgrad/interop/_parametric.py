"""torch modules as nnabla's parametric functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree

from compatgrad.core.torch_call import call_with
from compatgrad.interop._torch_modules import check_module, follow

__all__ = ["ParametricFunction", "as_parametric_function"]


def _places(module: torch.nn.Module) -> Iterator[tuple[str, dict[str, Any], str, bool]]:
    """For each parameter and buffer: its path, the module's dict that contains it, its name there, and whether it is a
    parameter."""
    for path, _ in module.named_parameters():
        owner, _, name = path.rpartition(".")
        yield path.replace(".", "/"), module.get_submodule(owner)._parameters, name, True
    for path, _ in module.named_buffers():
        owner, _, name = path.rpartition(".")
        yield path.replace(".", "/"), module.get_submodule(owner)._buffers, name, False


class _Run:
    """Runs the module with the parameters of one scope, as a function of the graph."""

    def __init__(self, module: torch.nn.Module, train: bool | None) -> None:
        self.module, self.train = module, train
        self.__name__ = type(module).__name__
        self.places: list[tuple[Any, dict[str, Any], str, bool]] = []

    def take(self) -> None:
        """Copies the current arrays of the scope to the module; a solver, a user or a file may have replaced them."""
        if self.train is not None and self.module.training != self.train:
            self.module.train(self.train)
        for variable, owner, name, _ in self.places:
            t, data = owner[name], variable.data.read()
            if data.dtype != t.dtype:  # an array that a user assigned, or integers from a file
                variable.data.tensor = data = data.to(t.dtype)
            follow(t, data)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(a, FakeTensor) for a in _pytree.tree_leaves((args, kwargs))):  # only shapes are needed
            buffers = {name: torch.empty_like(b) for name, b in self.module.named_buffers()}
            return torch.func.functional_call(self.module, buffers, args, kwargs)
        self.take()
        result = self.module(*args, **kwargs)
        for variable, owner, name, is_parameter in self.places:
            if not is_parameter and owner[name].data_ptr() != variable.data.tensor.data_ptr():  # bound to another array
                variable.data.tensor = owner[name].detach()
        return result


class ParametricFunction:
    """A torch module as a parametric function of nnabla; `as_parametric_function` makes it.

    Args:
        module: the module.
        name: scope of its parameters.

    Example:
        >>> import torch
        >>> import compatgrad.nnabla as nn
        >>> from compatgrad import interop
        >>> f = interop.as_parametric_function(torch.nn.Linear(3, 2))
        >>> f
        <parametric function linear of Linear>
        >>> f(nn.Variable((4, 3))).shape
        (4, 2)
        >>> nn.clear_parameters()

    Source: `compatgrad/interop/_parametric.py`.
    """

    def __init__(self, module: torch.nn.Module, name: str) -> None:
        self.module, self.name = module, name
        self._given = False  # whether a scope shares the module's memory

    def __repr__(self) -> str:
        return f"<parametric function {self.name} of {type(self.module).__name__}>"

    def _registered(self, fix_parameters: bool, run: _Run) -> list[tuple[Any, torch.Tensor]]:
        """Pairs of the parameters of the current scope, which are created if they are missing, and the module's."""
        from compatgrad.nnabla import parameter
        from compatgrad.nnabla.variable import Variable

        pairs = []
        given = self._given
        for path, owner, name, is_parameter in _places(self.module):
            t = owner[name]
            need_grad = is_parameter and t.requires_grad
            if parameter.get_parameter(path) is None:
                own = Variable(tuple(t.shape), need_grad=need_grad)
                own.data.tensor = t.detach().clone() if given else t.detach()
                parameter.set_parameter(path, own)
                self._given = True
            taken = parameter.get_parameter_or_create(
                path, tuple(t.shape), need_grad=need_grad, as_need_grad=need_grad and not fix_parameters
            )
            run.places.append((taken, owner, name, is_parameter))
            if need_grad:
                pairs.append((taken, t))
        return pairs

    def __call__(
        self,
        *args: Any,
        name: str | None = None,
        fix_parameters: bool = False,
        train: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Runs the module and returns its results as Variables.

        args, kwargs: the module's arguments, with Variables in place of tensors. name: the scope of the parameters.
        fix_parameters: they get no gradient. train: the mode of the module whenever this function of the graph runs;
        None does not change the mode.
        """
        from compatgrad.nnabla._declare import _entered
        from compatgrad.nnabla.parameter import parameter_scope

        run = _Run(self.module, train)
        with parameter_scope(self.name if name is None else name):
            pairs = self._registered(fix_parameters, run)
        run.take()
        args, kwargs = _pytree.tree_map(_entered, (args, kwargs))
        return call_with(run, pairs, args, kwargs)


def as_parametric_function(module: torch.nn.Module, name: str | None = None) -> ParametricFunction:
    """Makes a function like those of `nnabla.parametric_functions` that runs a torch module.

    `f(x, name=None, fix_parameters=False, train=None)` registers the module's parameters and buffers in the current
    `nn.parameter_scope`, below `name` (by default the one given here), under their names with slashes, or uses
    parameters that are already registered there. They share the module's memory: solvers train the module,
    `nn.save_parameters` saves it. In a second scope they are copies of the module's values, and each call runs the
    module with the parameters of its scope. A call is one function of the graph, static or not, with gradients of any
    order. `train` is the mode of the module whenever this function runs; the default is the module's current mode.

    Args:
        module: the module; its parameters must be float32, as nnabla's are.
        name: name of the scope; None is the class name in lower case.

    Returns:
        The function. A call raises ValueError if a registered parameter has another shape.

    Raises:
        TypeError: `module` is not a torch module.
        ValueError: a parameter or buffer has another floating dtype, or its shape is still unknown.

    Example:
        >>> import torch
        >>> import compatgrad.nnabla as nn
        >>> from compatgrad import interop
        >>> f = interop.as_parametric_function(torch.nn.Linear(3, 2))
        >>> y = f(nn.Variable((4, 3)), name="head")
        >>> y.shape
        (4, 2)
        >>> sorted(nn.get_parameters())
        ['head/bias', 'head/weight']
        >>> nn.clear_parameters()

    Source: `compatgrad/interop/_parametric.py`.
    """
    check_module(module, "as_parametric_function")
    for path, owner, own, _ in _places(module):
        if owner[own].is_floating_point() and owner[own].dtype != torch.float32:
            raise ValueError(
                f"as_parametric_function: module: parameter or buffer {path.replace('/', '.')} is {owner[own].dtype}, "
                "expected torch.float32, in which nnabla computes: call module.float() first"
            )
    return ParametricFunction(module, type(module).__name__.lower() if name is None else name)
