"""ChainerMN in several processes."""

import json

import numpy as np
import pytest

from tests.distributed.launches import PROGRAMS, check
from tests.golden import chainermn_processes, files

DIGITS = {"batch normalization float64": 1e-12}


def test_two_processes(tmp_path):
    out = check(2, PROGRAMS / "chainermn_two.py", tmp_path, folder=tmp_path)
    assert sorted(out.split("\n")) == ["", "[0] done", "[1] done"]


def test_gradients_leave_during_backward(tmp_path):
    out = check(2, PROGRAMS / "chainermn_overlap.py", folder=tmp_path)
    assert sorted(out.split("\n")) == ["", "[0] done", "[1] done"]


@pytest.mark.parametrize("size", chainermn_processes.SIZES)
def test_values_are_those_of_chainermn(size, tmp_path):
    target = tmp_path / "values.json"
    check(size, chainermn_processes.__file__, target, folder=tmp_path)
    every = files.read(chainermn_processes.DATA)[str(size)]
    got = json.loads(target.read_text())
    assert len(got) == len(every) == size
    for rank, (mine, theirs) in enumerate(zip(got, every, strict=True)):
        assert mine.keys() == theirs.keys() and len(mine) > 25
        for name, value in theirs.items():
            compare(mine[name], value, f"rank {rank}: {name}", DIGITS.get(name, 2e-6))


def compare(got, expected, where, digits):
    if isinstance(expected, dict):
        assert got.keys() == expected.keys(), where
        for key, value in expected.items():
            compare(got[key], value, f"{where} {key}", digits)
    elif isinstance(expected, list):
        assert len(got) == len(expected), where
        for i, value in enumerate(expected):
            compare(got[i], value, f"{where} {i}", digits)
    elif isinstance(expected, float):
        np.testing.assert_allclose(got, expected, rtol=digits, atol=digits, err_msg=where)
    else:
        assert got == expected, where
