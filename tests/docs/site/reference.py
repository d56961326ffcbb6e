"""The pages of the API reference, made from docstrings and signatures."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.docs import public_names
from tests.docs.site import markdown

# Packages of the frontends and those that accompanied an original.
FRONTENDS = ("chainer", "chainermn", "chainerx", "onnx_chainer", "nnabla", "nnabla_ext", "mxnet", "horovod")
# A module with fewer names is a section of its package's page.
_FEW = 8


def native() -> dict[str, Any]:
    """The public names of the native API, without those of `compatgrad.ops`."""
    import compatgrad
    from compatgrad import core

    names = [n for n in compatgrad.__all__ if n not in ("__version__", "ops")] + ["report"]
    found = {f"compatgrad.{name}": getattr(compatgrad, name) for name in names}
    found |= {f"compatgrad.core.{name}": getattr(core, name) for name in core.__all__ if name not in names}
    return dict(sorted(found.items()))


def ops() -> dict[str, Any]:
    """The functions of `compatgrad.ops`."""
    from compatgrad import ops

    return {f"compatgrad.ops.{name}": getattr(ops, name) for name in sorted(ops.__all__)}


def interop() -> dict[str, Any]:
    """The public names of `compatgrad.interop`."""
    from compatgrad import interop

    return {f"compatgrad.interop.{name}": getattr(interop, name) for name in sorted(interop.__all__)}


def commands() -> dict[str, str]:
    """The commands of `python -m compatgrad`, with what each prints as its help."""
    main = importlib.import_module("compatgrad.__main__")
    return {name: _help(name) for name in main.COMMANDS}


def _help(name: str) -> str:
    said = io.StringIO()
    # argparse wraps at the width of the terminal
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            importlib.import_module(f"compatgrad.tools.{name}").main(["--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return said.getvalue().rstrip()


def entry(name: str, value: Any) -> str:
    """The description of a function or class."""
    module, _, short = name.rpartition(".")
    if inspect.isclass(value):
        members = [_member(member, inspect.getattr_static(value, member)) for member in public_names.members(value)]
        own = markdown.docstring(value.__doc__ or "")
        return _directive("class", module, short + markdown.signature(value), [own, *filter(None, members)], ticks=7)
    kind = "function" if callable(value) else "data"
    text = inspect.getdoc(value) or ""
    return _directive(kind, module, short + markdown.signature(value), [markdown.docstring(text)], ticks=5)


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return _directive("property", "", name, [markdown.docstring(inspect.getdoc(value) or "")], ticks=5)
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    head = name + markdown.signature(function)
    kind = "staticmethod" if isinstance(value, staticmethod) else "method"
    return _directive(kind, "", head, [markdown.docstring(inspect.getdoc(function) or "")], ticks=5)


def _directive(kind: str, module: str, head: str, parts: Iterable[str], ticks: int) -> str:
    options = [f":module: {module}"] if module else []
    return markdown.fence(f"{{py:{kind}}} {head}", [*options, "", "\n\n".join(parts)], ticks)


def op_entry(name: str, value: Any) -> str:
    """The description of an op: what it computes, and its parameters."""
    from compatgrad import _C, ops

    if name.rpartition(".")[2] not in _C.op_names():
        return entry(name, value)
    _, *lines = ops.describe(name.rpartition(".")[2]).splitlines()
    text, *parameters = (line.strip() for line in lines)
    body = [markdown.escape(text)]
    if parameters:
        body.append("\n".join(f"- {markdown.escape(p)}" for p in parameters))
    module, _, short = name.rpartition(".")
    return _directive("function", module, short + markdown.signature(value), body, ticks=5)


def homes(names: Iterable[str]) -> dict[str, list[str]]:
    """The pages of a package: the module of a page, and the names on it, those of small modules below it included."""
    modules: dict[str, list[str]] = {}
    for name in names:
        modules.setdefault(name.rpartition(".")[0], []).append(name)
    pages: dict[str, list[str]] = {}
    for module in sorted(modules, key=lambda m: (m.count("."), m)):
        home = module
        if len(modules[module]) < _FEW and module.count("."):
            top = ".".join(module.split(".")[:2])
            above = module.rpartition(".")[0]
            while above.count(".") and above not in pages:
                above = above.rpartition(".")[0]
            home = above if above in pages else module.partition(".")[0] if module == top else top
        pages.setdefault(home, []).extend(modules[module])
    return pages


@functools.cache
def frontend(package: str) -> dict[str, Any]:
    """The public names of a frontend's package, as programs write them."""
    found = public_names.public(f"compatgrad.{package}")
    return {name.removeprefix("compatgrad."): value for name, value in found.items()}


def names(frontends: bool = True) -> set[str]:
    """All names that the reference describes."""
    found = {*native(), *ops(), *interop()}
    return found.union(*map(frontend, FRONTENDS)) if frontends else found


def page(title: str, intro: str, names: Mapping[str, Any], describe: Callable[[str, Any], str] = entry) -> str:
    """A page that describes the names, in sections by module."""
    parts = [f"# {title}", intro] if intro else [f"# {title}"]
    modules = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
    for module in modules:
        if len(modules) > 1:
            parts.append(f"## {markdown.escape(module)}")
        inside = [name for name in names if name.rpartition(".")[0] == module]
        if len(inside) > 3:
            parts.append(", ".join(f"{{py:obj}}`~{name}`" for name in inside))
        parts += [describe(name, value) for name, value in names.items() if name.rpartition(".")[0] == module]
    return "\n\n".join(parts) + "\n"


def summary(module: str) -> str:
    """The first paragraph of a module's docstring."""
    try:
        text = inspect.getdoc(importlib.import_module(f"compatgrad.{module}")) or ""
    except ImportError:
        return ""
    return markdown.prose(text.partition("\n\n")[0])


def pages(frontends: bool = True) -> dict[str, str]:
    """All pages of the reference, by their path below the folder `reference`, without the suffix; those of the
    frontends only if so asked."""
    found = {
        "compatgrad": page("compatgrad: Variables and gradients", "`import compatgrad` gives these names.", native()),
        "ops": page(
            "compatgrad.ops: operations",
            "Operations of Variables and tensors; each can be differentiated any number of times. Inputs called `x0`, "
            "`x1` and so on are Variables or tensors and come first; the other parameters follow by place or keyword.",
            ops(),
            op_entry,
        ),
        "interop": page(
            "compatgrad.interop: mixing frameworks", "The page `docs/mixing.md` explains them together.", interop()
        ),
        "commands": _commands_page(),
    }
    listed = ["compatgrad", "ops", "interop", "commands"]
    for package in FRONTENDS if frontends else ():
        names = frontend(package)
        grouped = homes(names)
        for home, members in grouped.items():
            found[f"{package}/{home}"] = page(
                markdown.escape(home), summary(home), {name: names[name] for name in members}
            )
        found[f"{package}/index"] = _index(package, grouped)
        listed.append(f"{package}/index")
    toc = markdown.fence("{toctree}", [":maxdepth: 1", "", *listed])
    found["index"] = f"# API reference\n\n{_ABOUT}\n\n{toc}\n"
    return found


_ABOUT = (
    "These pages are generated from the docstrings. The first four describe what belongs to compatgrad itself; the "
    "others describe compatgrad's copies of the originals' packages, under the names that programs use."
)


def _commands_page() -> str:
    parts = [
        "# Commands",
        "`python -m compatgrad COMMAND` runs one of these commands. Where compatgrad is installed, `compatgrad "
        "COMMAND` does the same. The page `docs/tools.md` explains the commands with examples.",
    ]
    for name, text in commands().items():
        parts += [f"## {name}", markdown.fence("text", text.splitlines())]
    return "\n\n".join(parts) + "\n"


def _index(package: str, grouped: Mapping[str, list[str]]) -> str:
    count = sum(map(len, grouped.values()))
    toc = markdown.fence("{toctree}", [":maxdepth: 1", "", *sorted(grouped)])
    return f"# {markdown.escape(package)}\n\n{count:,} classes and functions, by module.\n\n{toc}\n"
