"""python -m tests.kernels.sanitize [PYTEST ARGUMENT...]

Looks for memory errors and races in the kernels. Where there is a GPU, compute-sanitizer's memcheck and racecheck run
the tests marked cuda. Without one, the tests of kernels run with the CPU loops and the CUDA launcher compiled by
AddressSanitizer and UndefinedBehaviorSanitizer, and a program of loops on several threads by ThreadSanitizer. Operands
are then blocks of memory of just their size. Exit status 0: nothing was found; 2: a tool is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from compatgrad._build.cuda import find_nvcc
from compatgrad._build.target import find_compiler
from tests.kernels.places import CSRC, HERE, LOOPS


def tests(sanitizer: str, arguments: list[str], *, before: tuple[str, ...] = (), **environment: str) -> int:
    pytest = [sys.executable, "-m", "pytest", str(HERE), "-q", "-p", "no:cacheprovider", "-m", "not slow", *arguments]
    print(f"== {' '.join(before) or sanitizer}", flush=True)
    return subprocess.run(
        [*before, *pytest], env={**os.environ, "COMPATGRAD_SANITIZER": sanitizer, **environment}
    ).returncode


def compute_sanitizer() -> str | None:
    nvcc = find_nvcc()
    beside = [str(Path(nvcc).resolve().parent / "compute-sanitizer")] if nvcc else []
    candidates = ["compute-sanitizer", *beside, "/usr/local/cuda/bin/compute-sanitizer"]
    return next((path for name in candidates if (path := shutil.which(name))), None)


def on_gpu(arguments: list[str]) -> int:
    tool = compute_sanitizer()
    if tool is None:
        print(
            "compute-sanitizer is neither on the PATH nor beside nvcc; it comes with the CUDA toolkit", file=sys.stderr
        )
        return 2
    # each tensor is a block of its own, so that memcheck sees where it ends
    own = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    return max(
        tests(
            "cuda",
            ["-m", "cuda and not slow", *arguments],
            # of all kernels only those of compatgrad, which takes a twentieth of the time
            before=(tool, "--error-exitcode", "9", "--kernel-name", "kns=cg", "--tool", name),
            **own,
        )
        for name in ("memcheck", "racecheck")
    )


def library(name: str) -> str:
    """The path of a sanitizer's library, which must be loaded before all others."""
    command = [*find_compiler(), f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def races() -> int:
    """Compiles and runs races.cpp."""
    print("== threads", flush=True)
    names = ("sum.cu", "reduce.cu", "optim.cu", "gates_lstm.cu", "library.cu", "threads.cpp")
    sources = [HERE / "races.cpp", *(CSRC / "kernels" / name for name in names)]
    flags = f"-std=c++20 -O1 -g1 -U__gnu_linux__ -fsanitize=thread -pthread -I{LOOPS} -I{CSRC}".split()
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "races")
        subprocess.run([*find_compiler(), *flags, "-x", "c++", *map(str, sources), "-o", program], check=True)
        # without randomised addresses, which on some kernels leave no room for what the sanitizer keeps
        plain = ["setarch", "-R"] if shutil.which("setarch") else []
        return subprocess.run([*plain, program], env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}).returncode


def main() -> int:
    arguments = sys.argv[1:]
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    if torch.cuda.is_available():
        return on_gpu(arguments)
    libraries = [library(name) for name in ("libasan.so", "libubsan.so")]
    if missing := [name for name in libraries if not os.path.isabs(name)]:
        print(
            f"the compiler {find_compiler()[0]} has no {', '.join(missing)}: only gcc's sanitizers can be used",
            file=sys.stderr,
        )
        return 2
    # what Python keeps until its end is no leak; small objects, which it manages itself, are to be blocks too
    options = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1", "PYTHONMALLOC": "malloc"}
    found = tests("address", arguments, **options, LD_PRELOAD=" ".join(libraries), OMP_NUM_THREADS="1")
    return max(found, races())


if __name__ == "__main__":
    sys.exit(main())
