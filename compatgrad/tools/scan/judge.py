"""Judges each use of a name: whether compatgrad has it, takes its arguments, and does what the original does."""

from __future__ import annotations

import ast
import functools
from typing import Any

from compatgrad import surroundings
from compatgrad.names import database, table
from compatgrad.names.absent import similar
from compatgrad.tools.scan import packages
from compatgrad.tools.scan.findings import FileResult, Finding
from compatgrad.tools.scan.values import VARIABLES, Instance, Named, Value

# packages and names whose code neither the originals nor compatgrad run
_OUTSIDE_PACKAGES = {
    "pycuda": "PyCUDA has a CUDA context of its own",
    "pynvrtc": "compiles CUDA source",
    "cffi": "a C library",
    "pyximport": "compiles Cython",
}
_OUTSIDE_NAMES = {
    "ctypes.CDLL": "a C library",
    "ctypes.PyDLL": "a C library",
    "ctypes.cdll": "a C library",
    "ctypes.windll": "a C library",
    "numpy.ctypeslib.load_library": "a C library",
    "setuptools.Extension": "a C extension, which must be built",
    "distutils.core.Extension": "a C extension, which must be built",
    "distutils.extension.Extension": "a C extension, which must be built",
    "Cython.Build.cythonize": "a C extension, which must be built",
    "torch.utils.cpp_extension": "a C extension, which must be built",
    "chainer.backends.cuda.elementwise": "CUDA source, which CuPy compiles",
    "chainer.backends.cuda.reduce": "CUDA source, which CuPy compiles",
    "chainer.backends.cuda.raw": "CUDA source, which CuPy compiles",
    "mxnet.rtc.CudaModule": "CUDA source; CuPy's RawModule takes it",
    "mxnet.library.load": "a C library for MXNet's own engine",
}
_KERNELS = ("ElementwiseKernel", "RawKernel", "RawModule", "ReductionKernel")
# attributes that many objects of Python, NumPy and others have: they do not tell the class of an object
_COMMON = frozenset(
    [name for kind in (str, list, dict, set, bytes, int, complex) for name in dir(kind)]
    + (
        "all any argmax argmin argsort astype data diag dot dtype flatten imag max mean min ndim nonzero prod "
        "ravel real repeat reshape round searchsorted shape size sort squeeze std sum swapaxes take tofile tolist "
        "transpose trace var T name grad forward backward load save reset step run start stop close open write "
        "read eval train to cpu cuda log exp abs sqrt square sin cos tanh sigmoid relu softmax device context ctx "
        "args kwargs kind type value values config apply call fit predict score transform init build setup summary "
        "params parameters children modules children_iter register add_module expand tile norm power sign "
        "zero_grad detach item numpy clone flip floor ceil split slice pad stack dump dumps parse info debug error "
        "warning filter map batch batch_size epoch iteration lr get_params "
    ).split()
)
_MAIN_CLASSES = {
    "chainer": ("chainer.Variable", "chainer.Chain", "chainer.Optimizer", "chainer.training.Trainer"),
    "nnabla": ("nnabla.Variable", "nnabla.NdArray", "nnabla.solver.Solver"),
    "mxnet": (
        "mxnet.ndarray.NDArray",
        "mxnet.symbol.Symbol",
        "mxnet.gluon.HybridBlock",
        "mxnet.gluon.Parameter",
        "mxnet.gluon.Trainer",
        "mxnet.module.Module",
        "mxnet.executor.Executor",
        "mxnet.metric.EvalMetric",
        "mxnet.kvstore.KVStore",
    ),
}


# functions whose further keywords can only be these
_OLD_NAMES = {
    "chainer.training.extensions.snapshot": ("num_retain",),
    "chainer.training.extensions.snapshot_object": ("num_retain",),
    **{
        f"chainer.links.NStep{way}{kind}.forward": ()
        for way in ("", "Bi")
        for kind in ("LSTM", "GRU", "RNNTanh", "RNNReLU")
    },
}


@functools.cache
def _receivers(frontend: str) -> dict[str, str]:
    """Attributes that tell the class of an object: attribute -> the name of the class's attribute."""
    found: dict[str, str] = {}
    for cls in _MAIN_CLASSES[frontend]:
        for name in database.members(cls):
            if name not in _COMMON and not name.startswith("_"):
                found.setdefault(name, f"{cls}.{name}")
    return found


@functools.cache
def _removed() -> dict[str, surroundings.Row]:
    """The names that newer Python and packages removed and `compatgrad run` gives back."""
    return {row.name: row for row in surroundings.table()}


@functools.cache
def _optimizers() -> frozenset[str]:
    names = database.names_in("mxnet.optimizer.optimizer") or database.names_in("mxnet.optimizer")
    return frozenset(name.lower() for name, entry in names.items() if entry[0] in "ac")


@functools.cache
def _meant(place: str, name: str) -> str:
    """The question "did you mean ...?" for a name that `place`, a module or class, lacks; "" without a guess."""
    found = database.find(place)
    is_class = found is not None and found.entry[0] in "cC"
    names = sorted(database.members(place)) if is_class else sorted(database.names_in(place))
    near = similar(name, names)
    elsewhere = [] if is_class else database.places(table.FRONTENDS[place.partition(".")[0]], name)[:1]
    near += [f"{module}.{name}" for module in elsewhere]
    return f"did you mean {' or '.join(near[:3])}?" if near else ""


class Judge:
    """Fills a `FileResult` with the uses and findings of one file."""

    def __init__(self, found: FileResult, frontends: frozenset[str]) -> None:
        self.found, self.frontends = found, frontends
        self.lines: list[str] = []
        self.cell: int | None = None
        self.guarded = self.quiet = 0
        self.packages: set[str] = set()  # those that were found not to be installed

    def start(self, lines: list[str], cell: int | None) -> None:
        self.lines, self.cell = lines, cell

    def state(self) -> tuple[list[str], int | None]:
        return self.lines, self.cell

    def restore(self, state: tuple[list[str], int | None]) -> None:
        self.lines, self.cell = state

    # -- what the analysis tells

    def module(self, name: str, node: ast.AST, bound: bool = True) -> bool:
        """`import name`, or `from name import`. Whether the names of the module can be judged."""
        root = name.partition(".")[0]
        frontend = table.FRONTENDS.get(root)
        if frontend is None:
            self._external(name, node)
            self._package(root, node)
            return True
        if frontend not in self.frontends:
            return True
        if frontend not in self.found.frameworks:
            self.found.frameworks.append(frontend)
        found = database.find(name)
        if found is None:
            parent, _, last = name.rpartition(".")
            while parent and database.find(parent) is None:
                parent, _, last = parent.rpartition(".")
            self._unknown(name, node, parent, last)
            return False
        if found.entry[0] == "M":
            self._missing(name, found, node, "CG101")
            return False
        if bound or found.entry[0] != "m":
            self._use(found.name, "same", node)
            self._differs(found.name, node, None)
        elif found.name in database.read(frontend)["differs"]:
            self._use(found.name, "same", node)
            self._differs(found.name, node, None)
        return True

    def own_module(self, name: str, node: ast.AST) -> None:
        """An import of a module that the program's own package does not have."""
        self._add(packages.CODE, "outside", name, node, packages.LACKING)

    def name(self, name: str, node: ast.alias) -> None:
        """`from module import name`."""
        if _frontend(name) is None:
            self._external(name, node)
        else:
            module, _, last = name.rpartition(".")
            self.chain(Named(module), [last], node)

    def chain(self, value: Named, attributes: list[str], node: ast.AST, call: ast.Call | None = None) -> Value:
        """`value.attribute...`, perhaps called: what it is."""
        frontend = _frontend(value.name)
        if frontend is None:
            return self._external(".".join([value.name, *attributes]), node, call)
        if frontend not in self.frontends:
            return None
        if frontend not in self.found.frameworks:
            self.found.frameworks.append(frontend)
        found = database.find(value.name)
        if found is None or found.entry[0].isupper():  # the import has the finding
            if not self.quiet:
                self.found.uses[(found.name if found else value.name, "missing" if found else "unknown")] += 1
            return None
        path = value.name
        whole = True
        for attribute in attributes:
            if attribute in _KERNELS:
                self._outside(f"{path}.{attribute}", "CUDA source, which CuPy compiles", node)
                return None
            below = database.find(f"{path}.{attribute}")
            if below is None:
                whole = False
                if found.entry[0] in "mc" and not attribute.startswith("__"):
                    self._unknown(f"{found.name}.{attribute}", node, found.name, attribute)
                    return None
                break
            path, found = f"{path}.{attribute}", below
            if found.entry[0].isupper():
                self._missing(path, found, node, "CG101" if found.entry[0] == "M" else "CG102")
                return None
        if attributes or found.entry[0] != "m":
            self._judged(found, node, call if whole else None)
        return Named(path) if whole else None

    def member(
        self, value: Instance, name: str, node: ast.AST, call: ast.Call | None = None, store: bool = False
    ) -> None:
        """`value.name` of an instance, perhaps called."""
        if self.frontends.isdisjoint([_frontend(value.cls)]):
            return
        found = database.find(value.cls if name == "__init__" else f"{value.cls}.{name}")
        if found is None:
            classes = [] if store or value.guessed else [value.cls, *database.bases(value.cls)]
            old = next((cls for cls in classes if table.row_of(f"{cls}.{name}", "earlier")), None)
            if old is not None:
                self._unknown(f"{old}.{name}", node, old, name)
            elif value.cls in VARIABLES and not name.startswith("_") and not store:
                self.unresolved(f"{value.cls}.{name}", node)
            return
        if store and found.entry == ["p", "r"]:
            if not self.quiet and not value.guessed:
                self.found.uses[(found.name, "unknown")] += 1
                self._add("CG107", "unknown", f"{value.cls}.{name}", node, "a property that cannot be assigned")
        elif found.entry[0].isupper():
            self._missing(f"{value.cls}.{name}", found, node, "CG102", value.guessed)
        elif value.guessed:
            if not self.quiet:
                self.found.guessed[(found.name, "same")] += 1
        else:
            self._judged(found, node, call)

    def link(self, value: Instance, call: ast.Call) -> None:
        """A call of a link."""
        if value.guessed or "chainer.Link" not in database.bases(value.cls):
            return
        found = database.find(f"{value.cls}.forward")
        if found is not None and found.entry[0] == "f":
            self._arguments(found, call)

    def unknown_receiver(self, node: ast.Attribute) -> None:
        """An attribute of an object of which nothing is known."""
        if node.attr in _KERNELS:
            self._outside(f"cupy.{node.attr}", "CUDA source, which CuPy compiles", node)
        for frontend in self.found.frameworks:
            name = _receivers(frontend).get(node.attr)
            if name is None:
                continue
            found = database.find(name)
            if found is not None and found.entry[0].isupper():
                self._missing(name, found, node, "CG102", guessed=True)
            elif found is not None and not self.quiet:
                self.found.guessed[(found.name, "same")] += 1
            return

    def unresolved(self, name: str, node: ast.AST) -> None:
        """A use that only running the program would resolve."""
        if not self.quiet:
            self.found.unresolved += 1
            self._add("CG106", "unknown", name, node, "cannot be resolved without running the program")

    # -- judgements

    def _judged(self, found: database.Found, node: ast.AST, call: ast.Call | None) -> None:
        if reason := _OUTSIDE_NAMES.get(found.name):
            self._outside(found.name, reason, node)
            return
        status = "same"
        if call is not None and found.entry[0] in "cf":
            status = self._arguments(found, call)
        if call is not None and status == "same" and found.name.startswith("mxnet."):
            status = self._strings(found.name, call)
        if status == "same" and self._differs(found.name, node, call):
            status = "differs"
            self._use(found.name, status, node)
            return
        self._use(found.name, status, node)

    def _use(self, name: str, status: str, node: ast.AST) -> None:
        if not self.quiet:
            self.found.uses[(name, status)] += 1

    def _missing(self, path: str, found: database.Found, node: ast.AST, code: str, guessed: bool = False) -> None:
        if self.quiet:
            return
        row = table.row_of(path) or table.row_of(found.name)
        message = row.reason if row else "compatgrad does not have it"
        help_ = (
            f"{f'use instead: {row.instead}; ' if row and row.instead else ''}see {row.where if row else table.GUIDE}"
        )
        (self.found.guessed if guessed else self.found.uses)[(found.name, "missing")] += 1
        self._add(code, "missing", path, node, message, help_, guessed=guessed)

    def _unknown(self, path: str, node: ast.AST, place: str, name: str) -> None:
        if self.quiet:
            return
        if path.partition(".")[0] in table.NOT_RECORDED and table.row_of(path):
            self._missing(path, database.Found(path, ["V"]), node, "CG102")
            return
        original = table.ORIGINALS[table.FRONTENDS[path.partition(".")[0]]]
        self.found.uses[(path, "unknown")] += 1
        earlier = table.row_of(path, "earlier")
        if earlier is not None:
            message = f"{earlier.reason}; {original} does not have it either"
            help_ = f"use instead: {earlier.instead}"
        else:
            message = f"neither {original} nor compatgrad has it in its API"
            help_ = _meant(place, name) if database.find(place) else ""
        self._add("CG104", "unknown", path, node, message, help_)

    def _outside(self, name: str, reason: str, node: ast.AST) -> None:
        if not self.quiet:
            self.found.uses[(name, "outside")] += 1
            self._add("CG301", "outside", name, node, reason)

    def _differs(self, name: str, node: ast.AST, call: ast.Call | None) -> bool:
        """Adds the rows of docs/deviations.md about the name; whether there is one for this use."""
        frontend = table.FRONTENDS[name.partition(".")[0]]
        data = database.read(frontend)
        found = False
        for number, keyword in data["differs"].get(name, ()):
            if keyword and not (call is not None and any(k.arg == keyword for k in call.keywords)):
                continue
            found = True
            row = data["deviations"][number]
            where = f"docs/deviations.md#{row['anchor']}"
            self._add("CG201", "differs", name, node, _sentence(frontend, row), f"see {where}", deviation=where)
        return found

    def _arguments(self, found: database.Found, call: ast.Call) -> str:
        """Checks the arguments of a call by their names and their number; the status of the call."""
        taken = found.entry[1] if len(found.entry) > 1 else None
        if taken is None:
            return "same"
        defaults: list[Any] = ["", -1, 0, "", {}]
        keywords, places, more, refused, reasons = list(taken) + defaults[len(taken) :]
        accepted = keywords.split()
        if found.name in _OLD_NAMES:
            more, accepted = 0, [*accepted, *_OLD_NAMES[found.name]]
        status = "same"
        for keyword in call.keywords:
            name = keyword.arg
            if name is None or name in accepted:
                continue
            if name in refused.split():
                row = table.row_of(found.name)
                message = "compatgrad does not take the argument"
                status = "partial"
                self._add("CG103", status, f"{found.name}({name})", keyword, message, f"see {row.where}" if row else "")
            elif name in reasons or not more:
                message = reasons.get(name) or "neither the original nor compatgrad takes the argument"
                near = similar(name, accepted)
                status = "unknown" if status == "same" else status
                help_ = f"did you mean {' or '.join(near)}?" if near and name not in reasons else ""
                self._add("CG105", "unknown", f"{found.name}({name})", keyword, message, help_)
        starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        by_place = set() if starred or places < 0 else set(accepted[: min(len(call.args), places)])
        for keyword in call.keywords:
            if keyword.arg in by_place:
                status = "unknown" if status == "same" else status
                message = "the argument is given by place and by keyword"
                self._add("CG105", "unknown", f"{found.name}({keyword.arg})", keyword, message)
        if 0 <= places < len(call.args) and not starred:
            status = "unknown" if status == "same" else status
            message = f"takes {places} arguments by place, {len(call.args)} are given"
            self._add("CG105", "unknown", f"{found.name}(...)", call.args[places], message)
        return status

    def _strings(self, name: str, call: ast.Call) -> str:
        """Names that MXNet's functions take as strings: stores and optimizers."""
        given = {k.arg: k.value for k in call.keywords if k.arg}
        if name in ("mxnet.kvstore.create", "mxnet.optimizer.create") and call.args:
            given.setdefault("kvstore" if "kvstore" in name else "optimizer", call.args[0])
        if name == "mxnet.gluon.Trainer" and len(call.args) > 1:
            given.setdefault("optimizer", call.args[1])
        for argument in ("kvstore", "optimizer"):
            value = given.get(argument)
            text = value.value if isinstance(value, ast.Constant) else None
            if not isinstance(value, ast.Constant) or not isinstance(text, str):
                continue
            if argument == "kvstore" and ("_async" in text or text in ("horovod", "byteps", "p3")):
                message = "this store is not supported; 'dist_sync' is"
                where = "docs/deviations.md#mxnet-different"
                self._add("CG103", "partial", f"{name}({text!r})", value, message, f"see {where}", deviation=where)
                return "partial"
            if argument == "optimizer" and text.lower() not in _optimizers():
                message = "MXNet 1.9.1 has no optimizer of this name"
                self._add("CG105", "unknown", f"{name}({text!r})", value, message)
                return "unknown"
        return "same"

    def _external(self, name: str, node: ast.AST, call: ast.Call | None = None) -> Value:
        """A name of another package, perhaps called."""
        reason = _OUTSIDE_NAMES.get(name) or _OUTSIDE_PACKAGES.get(name.partition(".")[0])
        if reason and (isinstance(node, ast.alias) or name in _OUTSIDE_NAMES):
            self._outside(name, reason, node)
        elif name.rpartition(".")[2] in _KERNELS:
            self._outside(name, "CUDA source, which CuPy compiles", node)
        else:
            self._removed(name, node)
            for keyword in call.keywords if call else ():
                self._removed(f"{name}({keyword.arg})", keyword)
        return Named(name)

    def _package(self, root: str, node: ast.AST) -> None:
        """Says once for each file that a package is not installed; some packages are outside, or given back."""
        if root in self.packages or root in _OUTSIDE_PACKAGES or root in _removed() or packages.installed(root):
            return
        self.packages.add(root)
        self._add(packages.CODE, "outside", root, node, *packages.about(root))

    def _removed(self, name: str, node: ast.AST) -> None:
        """Says that newer packages do not have a name, or the name of an argument, if they do not."""
        row = _removed().get(name)
        if row:
            now = f"; today {row.now}" if row.now else ""
            why = row.why if row.removed else "an optional package"
            self._add("CG320", "outside", name, node, f"{why}{now}; `python -m compatgrad run` provides it")

    def _add(self, code: str, status: str, name: str, node: Any, message: str, help_: str = "", **more: Any) -> None:
        if self.quiet:
            return
        line, end = node.lineno, node.end_lineno or node.lineno
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        self.found.findings.append(
            Finding(
                code,
                status,
                name,
                line,
                _column(text, node.col_offset),
                end,
                _column(self.lines[end - 1] if end <= len(self.lines) else "", node.end_col_offset or 0),
                message,
                help_,
                guarded=bool(self.guarded),
                cell=self.cell,
                file=self.found.file,
                source=text.strip(),
                **more,
            )
        )


def _sentence(frontend: str, row: dict[str, str]) -> str:
    """What a row of docs/deviations.md says: the case, and what either side does in it."""
    sides = [(table.ORIGINALS[frontend], row["original"]), ("compatgrad", row["here"]), ("Reason", row["why"])]
    return ". ".join([f"The case: {row['what']}", *(f"{side}: {text}" for side, text in sides if text)]) + "."


def _frontend(name: str) -> str | None:
    return table.FRONTENDS.get(name.partition(".")[0])


def _column(line: str, offset: int) -> int:
    """The column, from 1, of an offset in bytes."""
    return offset + 1 if line.isascii() else len(line.encode()[:offset].decode(errors="ignore")) + 1
