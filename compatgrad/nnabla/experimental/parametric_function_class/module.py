"""The base class of layers and of what is made of them."""

from collections import OrderedDict

import numpy

from ... import initializer as I
from ... import parameter
from ...variable import Variable


def make_parameter(shape, init, fix_parameters):
    """A Variable with the values of `init`: an initializer, an array, or None for zeros."""
    value = (I.ConstantInitializer() if init is None else init)(shape) if not isinstance(init, numpy.ndarray) else init
    return Variable.from_numpy_array(numpy.asarray(value, numpy.float32)).apply(need_grad=not fix_parameters)


class Module:
    """Something with parameters: its Variables, and those of the Modules that are its attributes."""

    def __init__(self):
        pass

    def get_parameters(self, grad_only=True):
        """The parameters below this Module's attributes, an ordered dict of paths to Variables.

        grad_only: only those with need_grad.
        """
        return OrderedDict(
            (f"{prefix}/{name}" if prefix else name, value)
            for prefix, module in self.get_modules()
            for name, value in module.__dict__.items()
            if isinstance(value, Variable) and (value.need_grad or not grad_only)
        )

    def get_modules(self, memo=None, prefix=""):
        """Yields this Module and all below as (path, Module), each once; `memo` is the set of those seen."""
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, value in self.__dict__.items():
                if isinstance(value, Module):
                    yield from value.get_modules(memo, f"{prefix}/{name}" if prefix else name)

    def save_parameters(self, path, grad_only=False):
        """Writes the parameters to a file, as `nnabla.save_parameters` does."""
        parameter.save_parameters(path, self.get_parameters(grad_only))

    def load_parameters(self, path):
        """Reads the parameters from a file; ValueError where one is not in it."""
        with parameter.parameter_scope("", scope=OrderedDict()):
            parameter.load_parameters(path)
            loaded = parameter.get_parameters(grad_only=False)
        for name, value in self.get_parameters(grad_only=False).items():
            if name not in loaded:
                raise ValueError(f"load_parameters: {path} has no parameter {name}")
            value.d = loaded[name].d
