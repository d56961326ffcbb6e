"""The example programs learn on compatgrad as they do on Chainer 7.8.1 (recorded by
tests/golden/record.py).
"""

import json
import re
import sys

import pytest

from tests.golden import programs

pytest.importorskip("sklearn", reason="the examples learn from scikit-learn's data")
TOLERANCE = 1e-4


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_loss_curve(name):
    golden = json.loads((programs.GOLDEN / f"{name}.json").read_text())["curves"]
    curves, printed = programs.run(name, [sys.executable, "-m", "compatgrad", "run"])
    assert curves.keys() == golden.keys()
    for curve, expected in golden.items():
        assert len(curves[curve]) == len(expected) == programs.STEPS
        for step, (value, want) in enumerate(zip(curves[curve], expected, strict=True)):
            assert abs(value - want) <= TOLERANCE * abs(want), f"{curve} at step {step}: {value}, Chainer has {want}"
    assert "elapsed" in printed


def test_programs_do_not_mention_compatgrad():
    for name in programs.PROGRAMS:
        text = (programs.EXAMPLES / f"{name}.py").read_text()
        assert "import chainer" in text
        assert not re.search("compatgrad|torch", text)
