"""Stand-ins for gym and gymnasium: base classes, spaces, and a registry."""

import importlib.abc
import importlib.machinery
import sys
import types

import numpy as np


class Box:
    def __init__(self, low=0.0, high=1.0, shape=None, dtype="f"):
        self.low, self.high, self.shape, self.dtype = np.full(shape, low), np.full(shape, high), shape, dtype


class Discrete:
    shape = ()

    def __init__(self, n):
        self.n = n


KNOWN = {"Box": Box, "Discrete": Discrete}


class Stub(types.ModuleType):
    """A module with every requested name: a class, or a function that does nothing."""

    __path__ = []
    __version__ = "0.26.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name[0].isupper():
            value = KNOWN.setdefault(name, type(name, (), {}))
        else:
            value = sys.modules.setdefault(f"{self.__name__}.{name}", Stub(f"{self.__name__}.{name}"))
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        return None


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, roots):
        self.roots = roots

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in self.roots:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


def install(*roots):
    """Replace these packages by stand-ins, even if they are installed."""
    sys.meta_path.insert(0, Finder(roots))
