"""Records the numbers of random networks in training on an original: random_training_FRAMEWORK.json.gz.

    python tests/golden/record_training.py FRAMEWORK PYTHON

FRAMEWORK is chainer, nnabla or mxnet, PYTHON an interpreter in which it runs. Programs whose numbers change much when
their first parameters change by a rounding error are left out, and those that raise an error.
`tests/core/test_random_training.py` compares.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import files
from tests.random_programs.training.__main__ import difference, results

SEEDS = range(40)


def main(framework: str, python: str) -> None:
    found, changed = results(framework, python, SEEDS), results(framework, python, SEEDS, ["--perturb"])
    kept = {}
    for seed, result in found.items():
        stable = difference(result, changed[seed]) < result["tolerance"] / 10
        if stable and not result["error"]:
            short = [[x if isinstance(x, str) else float(f"{x:.10g}") for x in step] for step in result["steps"]]
            kept[str(seed)] = {**result, "steps": short}
    versions = files.versions_of(python, framework)
    files.write(files.GOLDEN / f"random_training_{framework}.json.gz", kept, versions)
    print(f"{framework}: {len(kept)} of {len(SEEDS)} programs")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
