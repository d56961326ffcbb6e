"""Lists the originals' names that the frontends lack, and parameters that differ.

python -m tests.census             check; fails where a difference has no line in a reasons file, or a line is stale
python -m tests.census --update    drop stale lines, append "not there yet" lines for differences that have none
python -m tests.census --list      print every difference with its reason
"""

from __future__ import annotations

import argparse

from tests.census import reasons
from tests.census.compare import FRONTENDS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.census", description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="drop stale lines, append lines for what has none")
    parser.add_argument("--list", action="store_true", help="print every difference with its reason")
    parser.add_argument("frontends", nargs="*", metavar="frontend", help=f"of {', '.join(FRONTENDS)}; all by default")
    options = parser.parse_args()
    if unknown := set(options.frontends) - set(FRONTENDS):
        parser.error(f"no frontend: {', '.join(sorted(unknown))}; there are {', '.join(FRONTENDS)}")
    bad = False
    for frontend, differences in reasons.differences(options.frontends or list(FRONTENDS)).items():
        found = reasons.Reasons.read(frontend)
        if options.update:
            found.update(differences)
        unexplained, stale = found.judge(differences)
        if options.list:
            for line in differences:
                print(f"{line}\t{found.of(line) or '?'}")
        for line in unexplained:
            print(f"no reason: {line}")
        for line in stale:
            print(f"stale: {line}")
        pending = sum(found.of(line) == reasons.PENDING for line in differences)
        print(f"{frontend}: {len(differences)} differences, {pending} of them not there yet")
        bad |= bool(unexplained or stale)
    return int(bad)


if __name__ == "__main__":
    raise SystemExit(main())
