"""nnabla's communicators between processes."""

import re
from pathlib import Path

import pytest

from tests.distributed.launches import PROGRAMS, check


@pytest.mark.slow
def test_three_processes(tmp_path: Path) -> None:
    program = PROGRAMS / "nnabla_ranks.py"
    passed = re.findall(r"^\[0\] (test_\w+)$", check(3, program, folder=tmp_path), re.M)
    assert passed == re.findall(r"^def (test_\w+)", program.read_text(), re.M)
