"""The example programs as modules, for tests that use their parts."""

import importlib.util
import sys
from typing import Any

import compatgrad
from tests.golden import programs


def load(folder: str, name: str, *frontends: str) -> Any:
    """The program examples/`folder`/`name`.py. `frontends`: what it imports; none named: all of them."""
    path = programs.ROOT / "examples" / folder
    compatgrad.install(*frontends)
    sys.path.insert(0, str(path))
    try:
        spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path))
        for helper in ("digits", "options", "losslog"):  # other folders have files of these names
            sys.modules.pop(helper, None)
        compatgrad.uninstall(*frontends)
    return module
