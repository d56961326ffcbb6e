"""Makes `import chainer` import compatgrad's frontend of that name.

While a frontend is installed, its modules have the original's names (`chainer.links.connection.linear`), so that
classes, pickles and log records contain the same names as with the original. The finder below makes the names under
`compatgrad.` refer to the same module objects.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing.spawn
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from compatgrad import surroundings

_PACKAGE = "compatgrad"
_FOLDER = Path(__file__).resolve().parent

# frontend -> the top-level packages of its original
_ROOTS = {
    "chainer": ("chainer", "chainerx", "chainermn", "onnx_chainer"),
    "nnabla": ("nnabla", "nnabla_ext"),
    "mxnet": ("mxnet", "horovod"),
}
# packages that also serve other frameworks: where the original is there, it stays
_SHARED = ("horovod",)


def available() -> list[str]:
    """The frontends of this compatgrad."""
    return [name for name in _ROOTS if (_FOLDER / name).is_dir()]


def _root_file(root: str) -> Path:
    package = _FOLDER / root / "__init__.py"
    return package if package.exists() else _FOLDER / f"{root}.py"


class _Alias(Loader):
    """Loads `compatgrad.chainer.x` by returning the module `chainer.x`."""

    def __init__(self, legacy: str) -> None:
        self.legacy = legacy

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.legacy)
        self.own_spec = module.__spec__  # saved, because the import system replaces it by `spec`
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own_spec


class _Mpi4py(Loader):
    """Makes `mpi4py` of the processes that compatgrad itself connects."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        package, mpi = importlib.import_module("compatgrad.core.distributed.mpi").make_module()
        sys.modules[mpi.__name__] = mpi
        assert isinstance(package, ModuleType)
        return package

    def exec_module(self, module: ModuleType) -> None:
        pass


def _mpi4py_spec() -> ModuleSpec | None:
    """Where mpi4py is absent, or would see this process alone since no MPI has started it, compatgrad stands in."""
    launch = importlib.import_module("compatgrad.core.distributed.launching").detect()
    by_mpi = launch.launcher in ("", "Open MPI", "MPICH", "MVAPICH2", "Slurm")
    if by_mpi and PathFinder.find_spec("mpi4py") is not None:
        return None
    return ModuleSpec("mpi4py", _Mpi4py(), is_package=True)


class _Finder(MetaPathFinder):
    """Finds the installed roots, and their modules' names below `compatgrad`."""

    def __init__(self) -> None:
        self.roots: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "mpi4py" and "chainermn" in self.roots:
            return _mpi4py_spec()
        if path is None:
            # the import system itself finds modules below a root, in the root's folder
            return _spec(fullname, _root_file(fullname)) if fullname in self.roots else None
        package, _, legacy = fullname.partition(".")
        if package != _PACKAGE or legacy.partition(".")[0] not in self.roots:
            return None
        if legacy not in sys.modules and importlib.util.find_spec(legacy) is None:
            return None
        return ModuleSpec(fullname, _Alias(legacy))


_finder = _Finder()


def _spec(name: str, file: Path) -> ModuleSpec | None:
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    return importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)


def _loaded(root: str) -> Iterator[tuple[str, ModuleType]]:
    for name, module in list(sys.modules.items()):
        if name == root or name.startswith(root + "."):
            yield name, module


def _claim(owner: Any, old: str, new: str) -> None:
    for value in list(vars(owner).values()):
        if isinstance(value, (type, FunctionType)) and value.__module__ == old:
            value.__module__ = new
            if isinstance(value, type):
                _claim(value, old, new)


def _rename(module: ModuleType, new: str) -> None:
    """Gives a loaded module, and the objects that it defined, another name, which relative imports and pickles use."""
    old, module.__name__ = module.__name__, new
    file = getattr(module, "__file__", None)
    if file is not None:  # modules without a file, such as mxnet.symbol.op, are skipped
        spec = module.__spec__ = _spec(new, Path(file))
        assert spec is not None
        module.__loader__, module.__package__ = spec.loader, spec.parent
    _claim(module, old, new)


def _is_there(root: str) -> bool:
    """Whether the original of a package is imported or can be."""
    try:
        return importlib.util.find_spec(root) is not None
    except ValueError:  # a module without a spec, which a program has put there
        return True


def _check_names(names: tuple[str, ...]) -> list[str]:
    known = available()
    for name in names:
        if name not in known:
            raise ValueError(f"no frontend named {name!r}; there are: {', '.join(known)}")
    return list(names) or known


def install(*names: str, as_of: int | str | None = None) -> None:
    """Makes later imports of the frontends import compatgrad's: `import chainer` then imports compatgrad's Chainer.

    names: "chainer", "nnabla" or "mxnet"; all three, if none is named. "chainer" includes `chainerx`, `chainermn` and
        `onnx_chainer`, "nnabla" includes `nnabla_ext`, and "mxnet" includes `horovod` where that is not installed.
    as_of: a year: the program finds names that NumPy, Python, SciPy, Pillow and other libraries had then and have
        removed since, such as `np.float`. "auto", which is the default: it finds all of them for which it asks. "off":
        none (docs/tools.md). Later calls without `as_of` leave it as it is.

    Raises ValueError for an unknown name or year, and RuntimeError if the original itself is already imported.

        >>> import compatgrad
        >>> compatgrad.install("chainer")
        >>> import chainer
        >>> chainer.__version__
        '7.8.1'

    Source: `compatgrad/_install.py`.
    """
    install_with(names, as_of, "compatgrad.install(as_of='off')")


def install_with(
    names: tuple[str, ...], as_of: int | str | None, off: str, quiet: bool = False, allow_pickle: bool = False
) -> None:
    """`install`; `off` is what the user writes to have no old names, `quiet` and `allow_pickle` are as for
    `surroundings.activate`."""
    if as_of is None:
        as_of = surroundings.active() if _finder.roots else "auto"
    year = surroundings.parse(as_of)
    roots = [root for name in _check_names(names) for root in _ROOTS[name] if root not in _finder.roots]
    roots = [root for root in roots if root not in _SHARED or not _is_there(root)]
    for root in roots:
        if root in sys.modules and sys.modules.get(f"{_PACKAGE}.{root}") is not sys.modules[root]:
            where = getattr(sys.modules[root], "__file__", None) or "another place"
            raise RuntimeError(f"{root} is already imported, from {where}; install compatgrad's before importing it")
    for root in roots:
        for name, module in _loaded(f"{_PACKAGE}.{root}"):
            legacy = name.partition(".")[2]
            _rename(module, legacy)
            sys.modules[legacy] = module
    _finder.roots.update(roots)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        multiprocessing.spawn.get_preparation_data = _preparation_data
        if os.environ.get("COMPATGRAD_REPORT") or os.environ.get("COMPATGRAD_STRICT"):
            # a tool, and so above this module: it is imported only for those who ask for it
            importlib.import_module("compatgrad.tools.report.control").start_from_environment()
    if surroundings.active() != year or allow_pickle:
        surroundings.activate(year, off, quiet, allow_pickle or surroundings.unpickles())


def uninstall(*names: str) -> None:
    """Undoes `install`: the names refer to the originals again, and modules in use keep working.

    names: as for `install`; all three frontends, if none is named. A frontend that is not installed is skipped. Raises
        ValueError for an unknown name.

        >>> import compatgrad
        >>> compatgrad.uninstall("chainer")

    Source: `compatgrad/_install.py`.
    """
    for root in [root for name in _check_names(names) for root in _ROOTS[name] if root in _finder.roots]:
        _finder.roots.remove(root)
        for name, module in _loaded(root):
            del sys.modules[name]
            own = f"{_PACKAGE}.{name}"
            _rename(module, own)
            sys.modules[own] = module
            if name == root:
                setattr(sys.modules[_PACKAGE], root, module)
    if not _finder.roots and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        multiprocessing.spawn.get_preparation_data = _plain_preparation_data
        surroundings.deactivate()


# A process that multiprocessing spawns imports the main script again, before which the frontends must be installed.

_plain_preparation_data = multiprocessing.spawn.get_preparation_data


class _InstallOnLoad:
    """An object that installs the frontends when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        names = [name for name in available() if _finder.roots.intersection(_ROOTS[name])]
        find = f"import sys; sys.path.append({str(_FOLDER.parent)!r})"
        what = f"{tuple(names)!r}, {surroundings.active()!r}, '', True, {surroundings.unpickles()}"
        return exec, (f"{find}; from {_PACKAGE} import _install; _install.install_with({what})",)


def _preparation_data(name: str) -> dict[str, Any]:
    data = _plain_preparation_data(name)
    if name == "ignore":  # for the fork server, which takes only strings: it does not preload the script
        data.pop("init_main_from_path", None)
        data.pop("main_path", None)
    else:
        data[_PACKAGE] = _InstallOnLoad()
    return data
