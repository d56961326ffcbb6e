"""The example programs learn on compatgrad as they do on nnabla 1.39.0 (recorded by
tests/golden/record_nnabla.py).
"""

import json
import re
import sys

import pytest

from tests.golden import programs

pytest.importorskip("sklearn", reason="the examples learn from scikit-learn's data")
TOLERANCE = 1e-4


@pytest.mark.parametrize("name", programs.NNABLA_PROGRAMS)
def test_loss_curve(name):
    golden = json.loads((programs.GOLDEN / f"nnabla_{name}.json").read_text())["curves"]
    curves, printed = programs.run_nnabla(name, [sys.executable, "-m", "compatgrad", "run"])
    assert curves.keys() == golden.keys()
    for curve, expected in golden.items():
        assert len(curves[curve]) == len(expected) == programs.NNABLA_STEPS
        for step, (value, want) in enumerate(zip(curves[curve], expected, strict=True)):
            assert abs(value - want) <= TOLERANCE * abs(want), f"{curve} at step {step}: {value}, nnabla has {want}"
    assert "[nnabla][INFO]: done" in printed


def test_programs_do_not_mention_compatgrad():
    for path in programs.NNABLA_EXAMPLES.glob("*.py"):
        text = path.read_text()
        assert "nnabla" in text
        assert not re.search("compatgrad|torch", text), path


def test_options_of_files(tmp_path):
    """The options save parameters to a file, load them, and write monitor series to a folder."""
    run = [sys.executable, "-m", "compatgrad", "run"]
    saved, monitor = tmp_path / "p.h5", tmp_path / "monitor"
    first = programs.run_nnabla("train_digits_siren", run, extra=["--save", str(saved)])[0]["loss"]
    options = ["--initial-parameters", str(saved), "--monitor-path", str(monitor), "--monitor-interval", "10"]
    second = programs.run_nnabla("train_digits_siren", run, extra=options)[0]["loss"]
    assert second[0] < first[0] / 2
    lines = (monitor / "loss.series.txt").read_text().splitlines()
    assert len(lines) == programs.NNABLA_STEPS // 10
    index, value = lines[-1].split()
    assert int(index) == programs.NNABLA_STEPS - 1
    assert float(value) == pytest.approx(sum(second[-10:]) / 10, rel=1e-4)
