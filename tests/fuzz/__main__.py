"""Gives damaged files to every reader of files, and prints what the readers did (`make fuzz`).

docs/reliability.md says what a reader must not do, and what was run.
"""

import argparse
import sys
import time

from tests.fuzz import readers, worker


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("readers", nargs="*", help="names of readers, or beginnings of names (all readers)")
    parser.add_argument("--count", type=int, default=20_000, help="number of damaged files for each reader (20000)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first damaged file (0)")
    parser.add_argument("--peer", default="", help="a Python that has the original, which reads the files instead")
    parser.add_argument("--show", type=int, default=3, help="how many problems of each kind are printed (3)")
    args = parser.parse_args()
    names = [n for n in readers.READERS if not args.readers or any(n.startswith(r) for r in args.readers)]
    total = found = 0
    for name in names:
        begun = time.time()
        python = args.peer or sys.executable
        try:
            taken, refused, problems = worker.run(name, args.first, args.first + args.count, python, bool(args.peer))
        except RuntimeError as error:
            print(f"{name}: not run: {str(error)[-300:]}", flush=True)
            continue
        total, found = total + taken + refused, found + len(problems)
        print(
            f"{name}: {taken + refused} damaged files, {taken} read, {refused} refused, {time.time() - begun:.0f} s; "
            f"{worker.counts(problems) or 'no problem'}",
            flush=True,
        )
        for kind in worker.counts(problems):
            for problem in [p for p in problems if p.kind == kind][: args.show]:
                print(f"    {kind}, seed {problem.seed}: {problem.words}", flush=True)
    print(f"{total} damaged files, {found} problems")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
