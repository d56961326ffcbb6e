"""Loads the example programs as modules, for tests that use parts of them."""

import importlib.util
import sys
from typing import Any

import compatgrad
from tests.golden import programs


def load(folder: str, name: str, *frontends: str) -> Any:
    """Load examples/`folder`/`name`.py with compatgrad in place of `frontends` (default: all)."""
    path = programs.ROOT / "examples" / folder
    compatgrad.install(*frontends)
    sys.path.insert(0, str(path))
    try:
        spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path))
        for helper in ("digits", "options", "losslog"):  # other folders have modules of the same names
            sys.modules.pop(helper, None)
        compatgrad.uninstall(*frontends)
    return module
