"""`python -m compatgrad._build`: compiles the checkout's C++, and its CUDA kernels, into `compatgrad/_lib`."""

import argparse
import sys
import time
from pathlib import Path

from compatgrad._build.compiler import Buildable, build, print_line, publish
from compatgrad._build.cuda import cuda_target
from compatgrad._build.target import PACKAGE, BuildError, current_target


def _build(target: Buildable, folder: str, jobs: int | None) -> None:
    begun = time.monotonic()
    final = publish(target, build(target, target.root / "build" / folder, jobs=jobs), PACKAGE / "_lib")
    print_line(f"{final} is up to date for {target} ({time.monotonic() - begun:.1f} s)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compatgrad._build", description=__doc__)
    parser.add_argument("--inplace", action="store_true", help="compile the module and, with CUDA, the CUDA kernels")
    parser.add_argument("--kernels", action="store_true", help="compile the CUDA kernels, with any torch")
    parser.add_argument(
        "--wheel", metavar="FOLDER", help="write a wheel for this Python's torch, with CUDA kernels if there is nvcc"
    )
    parser.add_argument("-j", "--jobs", type=int, help="number of compilers at a time (default: one per core)")
    args = parser.parse_args()
    if not (args.inplace or args.kernels or args.wheel):
        parser.error("nothing to do; pass --inplace, --kernels or --wheel FOLDER")
    try:
        kernels = args.kernels
        if args.inplace:
            target = current_target()
            _build(target, target.object_folder(), args.jobs)
            kernels |= target.torch.cuda is not None
        if kernels:
            if cuda := cuda_target():
                _build(cuda, cuda.object_folder(), args.jobs)
            else:
                print_line("no nvcc: the CUDA kernels are not compiled; ATen computes instead")
        if args.wheel:
            from compatgrad._build.backend import torch_wheel

            print(Path(args.wheel, torch_wheel(args.wheel)))
    except BuildError as error:
        print_line(f"build failed: {error}")
        return 1
    return 0


sys.exit(main())
