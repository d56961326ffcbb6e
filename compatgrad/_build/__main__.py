"""`python -m compatgrad._build --inplace`: compiles the checkout's C++ into `compatgrad/_lib`."""

import argparse
import sys
import time

from compatgrad._build.compiler import build, print_line, publish
from compatgrad._build.target import PACKAGE, BuildError, current_target


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compatgrad._build", description=__doc__)
    parser.add_argument("--inplace", action="store_true", required=True, help="build beside the package")
    parser.add_argument("-j", "--jobs", type=int, help="compilers at a time (default: one per core)")
    args = parser.parse_args()
    begun = time.monotonic()
    try:
        target = current_target()
        module = build(target, target.root / "build" / target.object_folder(), jobs=args.jobs)
        final = publish(target, module, PACKAGE / "_lib")
    except BuildError as error:
        print_line(f"build failed: {error}")
        return 1
    print_line(f"{final} is up to date for {target.torch} ({time.monotonic() - begun:.1f} s)")
    return 0


sys.exit(main())
