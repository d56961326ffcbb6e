"""`compatgrad/ops/__init__.pyi`: it is what the registry says, and ops give what it says they give."""

import pytest

from compatgrad import _C
from compatgrad.ops import _stub
from tests.ops.all_samples import SAMPLES


def test_it_is_current():
    assert _stub.PATH.read_text(encoding="utf-8") == _stub.text(), "`make stubs` writes it again"


def test_ops_of_the_tables_exist():
    names = set(_C.op_names())
    assert _stub.SEVERAL | _stub.VARYING | set(_stub.FLAGS) <= names
    for op, flags in _stub.FLAGS.items():
        assert set(flags) <= {name for name, *_ in _C.op_info(op)["params"]}


@pytest.mark.parametrize("name", _C.op_names())
def test_results(name):
    """A tuple where the stub promises one, else one Variable."""
    tried = set()
    for sample in (s for s in SAMPLES if s.op == name):
        y = sample.apply(sample.variables(sample.arrays(), ()))
        flagged = any(sample.params.get(flag) for flag in _stub.FLAGS.get(name, ()))
        several = name in _stub.SEVERAL or flagged and not sample.params.get(_stub.ALONE)
        if name not in _stub.VARYING:
            assert isinstance(y, tuple) == several, sample
        assert all(isinstance(v, _C.Variable) for v in (y if isinstance(y, tuple) else [y]))
        tried.add(several)
    assert tried >= ({False, True} if name in _stub.FLAGS else {name in _stub.SEVERAL}), "no sample shows it"
