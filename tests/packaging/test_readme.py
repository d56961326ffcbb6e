"""The programs of the README and of docs/mixing.md run, and print what their comments say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text() + (ROOT / "docs/mixing.md").read_text()
PROGRAMS = dict(re.findall(r"<!-- program: (\w+) -->\n```python\n(.*?)```", TEXT, re.S))
_AS_PROGRAM = ["-m", "compatgrad", "run"]
RUN = {name: _AS_PROGRAM for name in ("legacy", "nnabla", "mxnet", "mixing")}
RUN |= {name: [] for name in ("native", "register", "mixed", "module")}


@pytest.mark.parametrize("name", RUN)
def test_program(tmp_path, name):
    assert set(PROGRAMS) == set(RUN)
    script = tmp_path / "program.py"
    script.write_text(PROGRAMS[name])
    done = subprocess.run(
        [sys.executable, *RUN[name], str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": str(Path.home())},
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^print\(.*?\)  # (.*)$", PROGRAMS[name], re.M)
    if said:
        assert done.stdout.splitlines() == said
    else:
        assert 0 <= float(done.stdout) < 0.05  # it has learnt
