"""Records what examples of public names do on the originals: behaviour_FRONTEND.json.gz beside this file.

    python tests/golden/record_behaviour.py FRONTEND PYTHON [PROBE]

FRONTEND is chainer, nnabla or mxnet, PYTHON an interpreter in which it runs (see record*.py). The examples are those in
compatgrad's docstrings; the file keeps their sources, so that a later change of a docstring changes no test.
`tests/behaviour` compares. With PROBE (memory, finite, refusal, symbol or states) the answers of the other probes stay
as they are in the file.
"""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.behaviour import examples
from tests.behaviour.run import run
from tests.golden import files


def main(frontend: str, python: str, only: str | None = None) -> None:
    versions, path = files.versions_of(python, frontend), files.GOLDEN / f"behaviour_{frontend}.json.gz"
    contents = {} if only is None else files.read(path)
    for what, sources in examples.of(frontend).items():
        if only not in (None, what):
            continue
        found = run(python, frontend, what, sources)
        contents[what] = {name: {**sources[name], **found[name]} for name in sources}
        failed = [name for name in sources if "failed" in found[name]]
        print(f"{what}: {len(sources)} names, of which {len(failed)} do not run: {' '.join(failed)}")
    files.write(path, contents, versions)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
