"""python -m tests.sanitize [address|thread] [PYTEST ARGUMENT...]

Builds the whole compiled module with gcc's AddressSanitizer and UndefinedBehaviorSanitizer (`address`, the default) or
ThreadSanitizer (`thread`) in a copy of the checkout, `build/sanitize-address` or `build/sanitize-thread`, and runs the
engine's tests there, or those that the arguments name. What changed since the last time is compiled again, no more.

With `--python FILE ARGUMENT...` in place of pytest's arguments a program or `-m MODULE` runs under the sanitizer, for
example `python -m tests.sanitize address --python -m tests.surgery chainer --programs 10000`.

Exit status 0: nothing was found; 2: the sanitizer is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kernels.sanitize import library

ROOT = Path(__file__).resolve().parent.parent
# vptr: torch's classes, whose type information lies in other libraries, would be taken for wrong ones
CHECKS = {"address": "-fsanitize=address,undefined -fno-sanitize=vptr", "thread": "-fsanitize=thread"}
LIBRARIES = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
TESTS = {
    "address": ["tests/core", "tests/surgery", "-m", "not slow"],
    "thread": ["tests/kernels/test_threads.py", "tests/core/test_engine_edges.py", "-m", "not slow"],
}
OPTIONS = {
    # what Python keeps until its end is no leak; freed memory is held back for a while, but not so much that tests of
    # resident memory take it for a leak; an array that is too large is an error of the test's program
    "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=8:allocator_may_return_null=1:handle_segv=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": f"suppressions={Path(__file__).with_name('sanitize_threads.txt')}:second_deadlock_stack=1",
    "PYTHONMALLOC": "malloc",  # small objects, which Python manages itself, are blocks of memory too
    "OMP_NUM_THREADS": "1",
}


def copy(folder: Path) -> None:
    """Brings a copy of the checkout up to date; files that are the same keep their times, which the build reads."""
    names = ("compatgrad", "csrc", "tests", "examples", "docs", "pyproject.toml", "README.md")
    kept = set()
    for name in names:
        top = ROOT / name
        for source in [top] if top.is_file() else top.rglob("*"):
            relative = source.relative_to(ROOT)
            if not source.is_file() or "__pycache__" in relative.parts or "_lib" in relative.parts:
                continue
            kept.add(relative)
            target = folder / relative
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    for old in (old for name in names for old in (folder / name).rglob("*")):
        relative = old.relative_to(folder)
        if old.is_file() and relative not in kept and not {"__pycache__", "_lib"} & set(relative.parts):
            old.unlink()


def main() -> int:
    arguments = sys.argv[1:]
    if "-h" in arguments[:1] or "--help" in arguments[:1]:
        print(__doc__)
        return 0
    which = arguments.pop(0) if arguments[:1] and arguments[0] in CHECKS else "address"
    libraries = [library(name) for name in LIBRARIES[which]]
    if missing := [name for name in libraries if not os.path.isabs(name)]:
        print(f"the compiler has no {', '.join(missing)}: only gcc's sanitizers can be used", file=sys.stderr)
        return 2
    folder = ROOT / "build" / f"sanitize-{which}"
    copy(folder)
    flags = f"-O1 -g1 -fno-omit-frame-pointer {CHECKS[which]} -D_GLIBCXX_ASSERTIONS"
    build = {**os.environ, "CXXFLAGS": flags, "LDFLAGS": CHECKS[which], "PYTHONPATH": str(folder)}
    if code := subprocess.run(
        [sys.executable, "-m", "compatgrad._build", "--inplace"], cwd=folder, env=build
    ).returncode:
        return code
    if arguments[:1] == ["--python"]:
        run = arguments[1:]
    else:
        run = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", *(arguments or TESTS[which])]
    # without randomised addresses, which on some kernels leave no room for what the sanitizer keeps
    plain = ["setarch", "-R"] if shutil.which("setarch") else []
    environment = {**os.environ, **OPTIONS, "PYTHONPATH": str(folder), "LD_PRELOAD": " ".join(libraries)}
    return subprocess.run([*plain, sys.executable, *run], cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
