"""`python -m tests.fuzz` reads mutants by every reader and prints what came of it; `make fuzz` calls it."""

import argparse
import sys
import time

from tests.fuzz import readers, worker


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help="names of readers, or beginnings of names; all where none is given")
    parser.add_argument("--count", type=int, default=20_000, help="mutants for each reader")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--peer", default="", help="a Python that has the original, which reads them instead")
    parser.add_argument("--show", type=int, default=3, help="how many problems of a kind to print")
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
            f"{name}: {taken + refused} mutants, {taken} taken, {refused} refused, {time.time() - begun:.0f} s; "
            f"{worker.counts(problems) or 'no problem'}",
            flush=True,
        )
        for kind in worker.counts(problems):
            for problem in [p for p in problems if p.kind == kind][: args.show]:
                print(f"    {kind}, seed {problem.seed}: {problem.words}", flush=True)
    print(f"{total} mutants, {found} problems")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
