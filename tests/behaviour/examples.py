"""Collects the docstring examples of public names, for `probe.py`.

    python -m tests.behaviour.examples FRONTEND

prints them as JSON: probe ("memory", "finite", "refusal", "symbol", "states") -> name -> example.
"""

from __future__ import annotations

import ast
import doctest
import functools
import inspect
import json
import re
import sys
from typing import Any

from compatgrad import mxnet
from tests.behaviour import updates
from tests.behaviour.probe import spelling
from tests.census.walk import parameters
from tests.docs.public_names import names_of_examples, public

# modules whose functions, layers and distributions return arrays
GIVE_ARRAYS = {
    "chainer": r"chainer\.(functions|links|distributions)\.",
    "nnabla": r"nnabla\.(functions|parametric_functions|experimental\.parametric_function_classes)\.",
    "mxnet": r"mxnet\.(ndarray|numpy|numpy_extension|random|gluon\.(nn|rnn|loss|contrib\.(nn|rnn|cnn)))\.",
}


def example(frontend: str, value: Any) -> dict[str, list[str]]:
    """The statements of the docstring's example, up to one that raises, and the names by which they call `value`."""
    sources: list[str] = []
    for part in doctest.DocTestParser().get_examples(inspect.cleandoc(getattr(value, "__doc__", None) or "")):
        if part.exc_msg is not None:
            break
        sources.append(part.source)
    known = names_of_examples(frontend)
    called = (n for source in sources for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call))
    spelled = {spelling(call.func) for call in called} - {""}
    return {"source": sources, "spelled": sorted(s for s in spelled if _means(s, known) is value)}


def _means(spelled: str, known: dict[str, Any]) -> Any:
    first, *others = spelled.split(".")
    value = known.get(first)
    for name in others:
        value = getattr(value, name, None)
    return value


def names(frontend: str) -> dict[str, Any]:
    """The public classes and functions of a frontend, by their full names in the original."""
    found = {name.removeprefix("compatgrad."): value for name, value in public(f"compatgrad.{frontend}").items()}
    return {name: value for name, value in found.items() if not _imported(name, found)}


def _imported(name: str, found: dict[str, Any]) -> bool:
    """Whether a parent package has the name, too, as for the import `chainer.functions.math.det.reshape`."""
    *modules, last = name.split(".")
    return any(".".join([*modules[:i], last]) in found for i in range(1, len(modules)))


def giving_arrays(frontend: str) -> dict[str, Any]:
    """The public functions and layers that return arrays."""
    return {name: value for name, value in names(frontend).items() if re.match(GIVE_ARRAYS[frontend], name)}


def taking_any_keyword(frontend: str) -> dict[str, Any]:
    """Names with **kwargs or unknown parameters, for which Python itself does not refuse a keyword."""
    found = {}
    for name, value in names(frontend).items():
        seen = parameters(value)
        if seen is None or any(kind == "w" for _, kind, *_ in seen):
            found[name] = value
    return found


def symbols() -> list[str]:
    """The names of all functions on symbols."""
    nd, found = mxnet.nd, {"": mxnet.symbol}
    for part in ("contrib", "linalg", "image", "random", "np", "npx", "np.linalg", "np.random"):
        found[f"{part}."] = functools.reduce(getattr, part.split("."), mxnet.symbol)
    arrays = {"": nd, "np.": mxnet.np, "npx.": mxnet.npx, "np.linalg.": mxnet.np.linalg, "np.random.": mxnet.np.random}
    return sorted(
        f"mxnet.symbol.{part}{name}"
        for part, module in found.items()
        for name in dir(arrays.get(part) or getattr(nd, part[:-1]))
        if not name.startswith("_") and _is_function(getattr(module, name, None))
    )


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not inspect.ismodule(value)


def of(frontend: str) -> dict[str, dict[str, dict[str, list[str]]]]:
    """All examples, by probe and name."""
    arrays = giving_arrays(frontend)
    chosen = {"memory": arrays, "finite": arrays, "refusal": taking_any_keyword(frontend)}
    found = {what: {name: example(frontend, value) for name, value in these.items()} for what, these in chosen.items()}
    found["states"] = {name: {"source": [], "spelled": []} for name in updates.optimizers(frontend, names(frontend))}
    if frontend == "mxnet":
        found["symbol"] = {name: {"source": [], "spelled": []} for name in symbols()}
    return found


if __name__ == "__main__":
    print(json.dumps(of(sys.argv[1])))
