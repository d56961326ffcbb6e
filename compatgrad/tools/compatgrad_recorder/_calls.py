"""Finds the calls that update parameters, in all three frontends, and replaces them by ones that are watched.

`profile` ends its steps there, and `verify` records the parameters before and after.
"""

import os
import sys
import threading
import types
from typing import Any

ROOTS = ("chainer", "nnabla", "mxnet")

# module, what updates parameters in it for a user of the framework
UPDATES = (
    ("chainer.optimizer", "Optimizer.update"),
    ("chainer.optimizer", "GradientMethod.update"),
    ("nnabla.solver", "Solver.update"),
    ("mxnet.gluon.trainer", "Trainer.step"),
    ("mxnet.gluon.trainer", "Trainer.update"),
    ("mxnet.module.module", "Module.update"),
    ("mxnet.module.bucketing_module", "BucketingModule.update"),
    ("mxnet.module.sequential_module", "SequentialModule.update"),
    ("mxnet.module.python_module", "PythonModule.update"),
)
# package -> what changes the parameters inside of these calls, when the gradients of all devices have been added
INNER_UPDATES = {
    "chainer": ("optimizer.GradientMethod.update",),
    "nnabla": ("solver.Solver.update",),
    "mxnet": (
        "gluon.Trainer._update",
        "mod.Module.update",
        "model._update_params_on_kvstore",  # of FeedForward; compatgrad's has a Module
        "model._update_params",
        "optimizer.Updater.__call__",
    ),
}

# names of what is watched, for objects that have none themselves
function_names = {}  # type: Any


class Watches:
    """Replaces functions and methods by ones that tell `call(kind, function, arguments, named)` about each call."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.old = []  # type: Any

    def watch(self, targets: Any, module: Any = None) -> None:
        """Watches what is loaded of the targets, or only those in one module."""
        for name, what, kind in targets:
            if name in sys.modules and module in (None, name):
                self.replace(sys.modules[name], what, kind)

    def replace(self, owner: Any, what: str, kind: str) -> None:
        """Watches a function of a module, or a method of a class in it. What is not there, or no function, or watched
        already by this object, is left alone."""
        names = what.split(".")
        for name in names[:-1]:
            owner = getattr(owner, name, None)
        function = _attribute(owner, names[-1]) if owner is not None else None
        if not callable(function) or isinstance(function, type) or getattr(function, "_watches", None) is self:
            return
        function_names[id(function)] = what
        wrapped = self._wrapped(kind, function)
        if isinstance(owner, type):
            own = names[-1] in vars(owner)
            self.old.append((owner, names[-1], function if own else None, wrapped))
            _assign(owner, names[-1], wrapped)
        else:
            self.old.append((None, None, function, wrapped))
            _exchange(function, wrapped)

    def _wrapped(self, kind: str, function: Any) -> Any:
        call = self.call

        def watched(*arguments: Any, **named: Any) -> Any:
            return call(kind, function, arguments, named)

        for key in ("__module__", "__name__", "__qualname__", "__doc__"):  # functions in C have not all of them
            if hasattr(function, key):
                setattr(watched, key, getattr(function, key))
        watched.__wrapped__ = function  # type: ignore[attr-defined]
        watched._watches = self  # type: ignore[attr-defined]
        return watched

    def remove(self) -> None:
        while self.old:
            owner, name, function, wrapped = self.old.pop()
            if owner is None:
                _exchange(wrapped, function)
            elif function is None:
                delattr(owner, name)
            else:
                _assign(owner, name, function)


def _exchange(old: Any, new: Any) -> None:
    """Replaces a function in all modules of the frameworks, which import it from each other by its name."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").partition(".")[0] in ROOTS + ("compatgrad",):
            for key, value in list(vars(module).items()):
                if value is old:
                    setattr(module, key, new)


def _attribute(owner: Any, name: str) -> Any:
    """An attribute of a module, or of a class or its bases, as it is stored there."""
    for each in owner.__mro__ if isinstance(owner, type) else (owner,):
        if name in vars(each):
            return vars(each)[name]
    return None


def _assign(owner: Any, name: str, value: Any) -> None:
    try:
        setattr(owner, name, value)
    except TypeError:  # nnabla's solvers and variables are classes in C, whose attributes Python does not set
        import ctypes
        import gc

        (table,) = [d for d in gc.get_referents(vars(owner)) if isinstance(d, dict)][:1]
        table[name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


class Imports:
    """A finder of modules that calls `imported(name, module)` when one of `names` has been imported."""

    def __init__(self, names: Any, imported: Any) -> None:
        self.names, self.imported = set(names), imported
        self.searching = threading.local()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self.names or getattr(self.searching, "on", False):
            return None
        import importlib.util

        self.searching.on = True
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        finally:
            self.searching.on = False
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if execute is None:
            return None

        def exec_module(module: Any) -> None:
            execute(module)
            self.imported(name, module)

        spec.loader.exec_module = exec_module  # type: ignore[union-attr,method-assign]
        return spec


def run_program(arguments: Any) -> None:
    """Runs `script`, `-m module` or `-c code` with its arguments, as `python` does."""
    import runpy
    import zipfile

    if arguments[0] == "-m":
        sys.argv[:] = ["-m"] + arguments[2:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    if arguments[0] != "-c" and (os.path.isdir(arguments[0]) or zipfile.is_zipfile(arguments[0])):
        sys.argv[:] = arguments
        runpy.run_path(arguments[0], run_name="__main__")
        return
    main = types.ModuleType("__main__")
    source = name = None  # type: Any
    if arguments[0] == "-c":
        sys.argv[:] = ["-c"] + arguments[2:]
        sys.path[0] = ""
        source, name = arguments[1], "<string>"
    else:
        sys.argv[:] = arguments
        name = os.path.abspath(arguments[0])
        sys.path[0] = os.path.dirname(os.path.realpath(name))
        main.__file__ = name
        with open(name, "rb") as file:
            source = file.read()
    sys.modules["__main__"] = main
    exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
