"""Records names outside the originals' API that programs can import from the originals' modules, and from ours.

    python -m tests.census.private chainer=PYTHON nnabla=PYTHON mxnet=PYTHON

rewrites private_names.txt: the names in an original's module that `walk.py` does not count as its public names
(private names, and names that the module imports) and that our module of that name has, too. Each PYTHON is an
interpreter in which that original runs. A test looks up every name of the file, so that none is lost when code moves.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import pkgutil
import subprocess
import sys
import textwrap
import types
import warnings

from tests.census.compare import FRONTENDS, recorded

NAMES = pathlib.Path(__file__).with_name("private_names.txt")
# run by the original's interpreter: reads {module: names}, prints those that the original has
_THEIRS = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
found = {}
for module, names in json.load(sys.stdin).items():
    try:
        value = importlib.import_module(module)
    except BaseException:
        continue
    found[module] = [name for name in names if hasattr(value, name)]
print(json.dumps(found))
"""


def modules(package: str) -> list[str]:
    """`package` and all modules below it."""
    found = importlib.import_module(f"compatgrad.{package}")
    below = pkgutil.walk_packages(getattr(found, "__path__", []), f"{found.__name__}.")
    return [package, *(name.removeprefix("compatgrad.") for _, name, _ in below if not name.endswith("__main__"))]


def read() -> dict[str, list[str]]:
    """Read the file: module -> names."""
    found: dict[str, list[str]] = {}
    for line in NAMES.read_text().splitlines():
        if line and not line.startswith((" ", "#")):
            module, _, line = line.partition(":")
            found[module] = []
        if not line.startswith("#"):
            found[module] += line.split()
    return found


def imported(module: str) -> types.ModuleType | None:
    """Import our module; None if a package that it needs is not installed."""
    try:
        return importlib.import_module(f"compatgrad.{module}")
    except ImportError as e:
        cause = e.__cause__ or e
        if not isinstance(cause, ModuleNotFoundError) or str(cause.name).startswith("compatgrad"):
            raise
        return None


def lost(names: dict[str, list[str]]) -> list[str]:
    """Those of `names` that our modules lack, as "module:name"."""
    found = {module: imported(module) for module in names}
    return [f"{m}:{name}" for m, value in found.items() if value for name in names[m] if not hasattr(value, name)]


def record(interpreters: dict[str, str]) -> None:
    """Write the file; frontends without an interpreter keep their lines."""
    names = read() if NAMES.exists() else {}
    for frontend, python in interpreters.items():
        public = recorded(frontend)["modules"]
        here = [module for package in FRONTENDS[frontend] for module in modules(package)]
        ours = {}
        for module in here:
            found = set(dir(imported(module))) - set(public.get(module, ()))
            found = {name for name in found if not name.startswith("__") and f"{module}.{name}" not in here}
            ours[module] = sorted(found - {"annotations"})
        done = subprocess.run([python, "-c", _THEIRS], input=json.dumps(ours), stdout=subprocess.PIPE, text=True)
        done.check_returncode()
        theirs = json.loads(done.stdout.splitlines()[-1])
        names = {m: kept for m, kept in names.items() if m.split(".")[0] not in FRONTENDS[frontend]}
        names |= {module: kept for module, kept in theirs.items() if kept}
    lines = ["# Written by private.py: module: names that it has besides its public ones, as its original has."]
    for module in sorted(names):
        lines += textwrap.wrap(f"{module}: {' '.join(names[module])}", 120, subsequent_indent="  ")
    NAMES.write_text("\n".join(lines) + "\n")
    print(f"{len(names)} modules, {sum(map(len, names.values()))} names")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not all(argument.partition("=")[0] in FRONTENDS for argument in sys.argv[1:]):
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    record(dict(argument.split("=", 1) for argument in sys.argv[1:]))
