"""The checks of `python -m compatgrad test`. They run in a process of their own, which may crash.

`main` writes one JSON object per line: {"begin": name} before a check, and its result afterwards;
the last one is {"facts": what `python -m compatgrad info` prints}.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import numpy as np

from compatgrad._install import available

from . import own_python


class Absent(Exception):
    """What a check needs is not there, which is no fault: the message says what."""


Check = tuple[str, Callable[[], str]]  # a name, and a function that returns what was seen


def _frontend(name: str) -> Any:
    module = importlib.import_module(f"compatgrad.{name}")
    if name == "nnabla":
        for part in ("functions", "solvers"):
            importlib.import_module(f"compatgrad.nnabla.{part}")
        from compatgrad.nnabla.logger import logger

        logger.setLevel("WARNING")
    return module


def _import_module() -> str:
    from compatgrad import _C

    return f"compiled module with {len(_C.op_names())} operations and {len(_C.kernel_names())} kernels"


def _gpu_allocations() -> int:
    import torch

    return int(torch.cuda.memory_stats().get("allocation.all.allocated", 0))


def _train(name: str, device: str) -> str:
    from . import frontends

    on_gpu = device != "cpu"
    if on_gpu and name == "chainer" and importlib.util.find_spec("cupy") is None:
        raise Absent("Chainer needs CuPy on a GPU, and it is not installed")
    before = _gpu_allocations() if on_gpu else 0
    losses = getattr(frontends, f"train_{name}")(_frontend(name), device)
    if on_gpu and _gpu_allocations() < before + frontends.STEPS:
        raise ValueError("the training did not use the GPU")
    tolerance = 1e-3 if device == "cpu" else 3e-2  # GPUs multiply with fewer digits in convolutions
    for what, found, expected in ("first", losses[0], frontends.FIRST), ("last", losses[-1], frontends.LAST):
        if not abs(found - expected) <= tolerance * expected:
            raise ValueError(f"the {what} loss is {found:.6f}, the original's is {expected:.6f}")
    return f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {frontends.STEPS} steps, as the original"


def _differentiate(name: str) -> str:
    from . import frontends

    found = getattr(frontends, f"differentiate_{name}")(_frontend(name))
    for order, got, expected in zip(("first", "second"), found, frontends.derivatives(), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, err_msg=f"the {order} derivative of x^3 exp(-x)")
    return "first and second derivative of x^3 exp(-x)"


def _files(name: str) -> str:
    from . import frontends

    with tempfile.TemporaryDirectory() as folder:
        saved, loaded = getattr(frontends, f"files_{name}")(_frontend(name), folder)
    np.testing.assert_array_equal(loaded, saved, err_msg="parameters that were saved and loaded")
    return "parameters saved and loaded"


def _kernels(device: str) -> str:
    import torch

    from compatgrad import _C

    from . import kernels

    seen: list[str] = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for family in kernels.FAMILIES.values():
            seen += family(device)
    return f"{len(set(seen))} of {len(_C.kernel_names())} kernels agree with torch's operations in float64"


def _gpu() -> str:
    import torch

    if torch.version.cuda is None:
        raise Absent(f"torch {torch.__version__} is built without CUDA, so nothing was checked on a GPU")
    if not torch.cuda.is_available():
        raise Absent("torch finds no CUDA device, so nothing was checked on a GPU")
    total = torch.ones(1000, device="cuda").sum().item()
    if total != 1000:
        raise ValueError(f"the sum of 1000 ones is {total}")
    return f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}"


def _gpu_kernels() -> str:
    import torch

    from compatgrad import _C

    x = torch.ones(3, device="cuda")
    try:  # the library is looked for when a kernel gets its first tensor on a GPU
        _C.run_kernel("sum_n", [torch.empty_like(x), x])
    except ValueError:
        if _C.kernels_library() is None:
            raise Absent("no library of CUDA kernels and no nvcc: torch's operations compute on the GPU") from None
        raise
    return _kernels("cuda")


_PROGRAM = """
import chainer, mxnet, nnabla
for module in chainer, mxnet, nnabla:
    print(module.__name__, module.__version__, "compatgrad" in (module.__file__ or ""))
"""


def _run() -> str:
    import subprocess

    command = [*own_python("compatgrad.__main__"), "run", "-c", _PROGRAM]
    with tempfile.TemporaryDirectory() as empty:  # without files that the program would import
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=empty)
    if done.returncode or done.stdout.count("True") != 3:
        raise RuntimeError(f"a program under `run` ended with {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
    return "a program imports chainer, mxnet and nnabla of compatgrad"


def _speed() -> dict[str, float]:
    from . import speed

    return speed.measure({name: _frontend(name) for name in available()})


def checks() -> Iterator[Check]:
    """All checks in order; those on a GPU last."""
    yield "import compatgrad", _import_module
    for name in available():
        yield f"import {name}", lambda name=name: f"version {_frontend(name).__version__}"  # type: ignore[misc]
        yield f"{name} trains", lambda name=name: _train(name, "cpu")  # type: ignore[misc]
        yield f"{name} differentiates", lambda name=name: _differentiate(name)  # type: ignore[misc]
        yield f"{name} files", lambda name=name: _files(name)  # type: ignore[misc]
    yield "kernels", lambda: _kernels("cpu")
    yield "run", _run
    yield "GPU", _gpu
    import torch

    if torch.version.cuda is not None and torch.cuda.is_available():
        yield "kernels on the GPU", _gpu_kernels
        for name in available():
            yield f"{name} trains on the GPU", lambda name=name: _train(name, "cuda")  # type: ignore[misc]


def _result(name: str, check: Callable[[], Any]) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        status, seen, trace = "ok", check(), None
    except Absent as error:
        status, seen, trace = "absent", str(error), None
    except Exception as error:
        text = str(error).strip()
        status, seen, trace = "failed", f"{type(error).__name__}: {text}", traceback.format_exc()
    result = {"name": name, "status": status, "seconds": round(time.perf_counter() - start, 3), "detail": seen}
    return result | ({"traceback": trace} if trace else {})


def run(write: Callable[[dict[str, Any]], None]) -> None:
    """Runs all checks, and tells `write` what begins and what was found."""
    iterator = checks()
    while True:
        try:
            check = next(iterator, None)
        except ImportError as error:  # torch cannot be imported
            write({"name": "import torch", "status": "failed", "seconds": 0.0, "detail": str(error)})
            return
        if check is None:
            break
        write({"begin": check[0]})
        write(_result(*check))
    write({"begin": "speed"})
    write(_result("speed", _speed))
    from compatgrad.tools.info import facts

    write({"facts": facts()})


def main() -> int:
    """What the process does. Whatever else writes to standard output writes to standard error."""
    out: TextIO = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def write(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=out, flush=True)

    run(write)
    return 0
