"""The base class of layers and of networks that consist of layers."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from ... import initializer as I
from ... import parameter
from ...variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Module"]


def make_parameter(
    shape: Sequence[int],
    init: Callable[[Sequence[int]], np.ndarray] | np.ndarray | None,
    fix_parameters: bool,
) -> Variable:
    """A Variable with the values of an initializer.

    Args:
        shape: the shape of the Variable where `init` is not an array.
        init: an initializer, an array, or None for zeros.
        fix_parameters: whether the Variable needs no gradient.

    Returns:
        Variable of float32.

    Raises:
        TypeError: `init` is none of these.

    Example:
        >>> from compatgrad.nnabla.experimental.parametric_function_class.module import make_parameter
        >>> make_parameter((2,), I.ConstantInitializer(3), fix_parameters=False).d
        array([3., 3.], dtype=float32)

    Source: compatgrad's own.
    """
    value = (I.ConstantInitializer() if init is None else init)(shape) if not isinstance(init, np.ndarray) else init
    return Variable.from_numpy_array(np.asarray(value, np.float32)).apply(need_grad=not fix_parameters)


class Module:
    """Base class of objects with parameters: these are the Variables among the attributes, and the parameters of
    Modules among the attributes.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> class Net(PC.Module):
        ...     def __init__(self):
        ...         self.hidden, self.out = PC.Affine(3, 8), PC.Affine(8, 2)
        ...     def __call__(self, x):
        ...         return self.out(F.relu(self.hidden(x)))
        >>> net = Net()
        >>> net(nn.Variable((4, 3))).shape, list(net.get_parameters())
        ((4, 2), ['hidden/W', 'hidden/b', 'out/W', 'out/b'])

    Source: `nnabla.experimental.parametric_function_class.module.Module` of nnabla 1.39.0.
    """

    def __init__(self):
        pass

    def get_parameters(self, grad_only: bool = True) -> OrderedDict[str, Variable]:
        """The parameters, an ordered dict of Variables by path.

        grad_only: only those with need_grad.
        """
        return OrderedDict(
            (f"{prefix}/{name}" if prefix else name, value)
            for prefix, module in self.get_modules()
            for name, value in module.__dict__.items()
            if isinstance(value, Variable) and (value.need_grad or not grad_only)
        )

    def get_modules(self, memo: set[Module] | None = None, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Yields (path, Module) for this Module and all Modules below it, each once; `memo` is the set of Modules
        already seen."""
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, value in self.__dict__.items():
                if isinstance(value, Module):
                    yield from value.get_modules(memo, f"{prefix}/{name}" if prefix else name)

    def save_parameters(self, path: str, grad_only: bool = False) -> None:
        """Writes the parameters to a file, like `nnabla.save_parameters`."""
        parameter.save_parameters(path, self.get_parameters(grad_only))

    def load_parameters(self, path: str) -> None:
        """Reads the parameters from a file. Raises ValueError if a parameter is not in the file."""
        with parameter.parameter_scope("", scope=OrderedDict()):
            parameter.load_parameters(path)
            loaded = parameter.get_parameters(grad_only=False)
        for name, value in self.get_parameters(grad_only=False).items():
            if name not in loaded:
                raise ValueError(f"load_parameters: {path} has no parameter {name}")
            value.d = loaded[name].d
