"""nnabla's communicators between processes."""

import re
from pathlib import Path

import pytest

from tests.distributed.jobs import FOLDER, command, run


@pytest.mark.slow
def test_three_processes(tmp_path: Path) -> None:
    program = "nnabla_program.py"
    passed = re.findall(r"^\[0\] (test_\w+)$", run(command(3, program), tmp_path), re.M)
    assert passed == re.findall(r"^def (test_\w+)", (FOLDER / program).read_text(), re.M)
