"""Parametric functions create the same parameters and outputs as nnabla 1.39.0.

tests/golden/nnabla_parameters.py recorded them.
"""

import inspect

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.parameter import get_parameter_or_create
from tests.golden import files, nnabla_parameters

RECORDED = files.read(nnabla_parameters.GOLDEN / "parametric.json.gz")["functions"]


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


@pytest.mark.parametrize("index", range(len(RECORDED)), ids=[f"{i}-{r['name']}" for i, r in enumerate(RECORDED)])
def test_as_recorded(index):
    (found,) = nnabla_parameters.parametric(nn, only=index)
    expected = RECORDED[index]
    assert found["name"] == expected["name"]
    for got, want in zip(found["parameters"], expected["parameters"], strict=True):
        assert list(got[:3]) == want[:3]
        np.testing.assert_allclose(got[3], want[3], rtol=1e-5, atol=1e-5, err_msg=want[0])
    for got, want in zip(found["outputs"], expected["outputs"], strict=True):
        assert got[0] == want[0]
        np.testing.assert_allclose(got[1], want[1], rtol=1e-4, atol=1e-4)


def test_all_parametric_functions_are_recorded():
    names = {name for name, value in vars(PF).items() if hasattr(value, "__scope_name__")}
    assert len(names) == 45
    assert names - {r["name"] for r in RECORDED} == {"sync_batch_normalization"}


@PF.parametric_function_api("mine", [("p", "a parameter", "shape", True)])
def mine(shape, f=10, *rest, fix_parameters=False):
    """The first line."""
    return get_parameter_or_create("p", shape, need_grad=True, as_need_grad=not fix_parameters), f, rest


def test_api_adds_the_argument_name():
    assert [p.name for p in inspect.signature(mine).parameters.values()] == [
        "shape",
        "f",
        "name",
        "rest",
        "fix_parameters",
    ]
    assert mine.__name__ == "mine" and mine.__doc__.startswith("The first line.")
    assert "a parameter" in mine.__doc__ and mine.__scope_name__ == "mine"
    assert mine((2,))[1:] == (10, ())
    assert mine((2,), 1, "a/b", 2, 3)[1:] == (1, (2, 3))
    with nn.parameter_scope("a"):
        mine((2,), name="b")
    assert list(nn.get_parameters()) == ["mine/p", "a/b/mine/p"]
    with pytest.raises(ValueError, match="fix_parameters"):
        PF.parametric_function_api("other")(lambda x: x)


@pytest.mark.semantics("N12")
def test_fixed_parameters_keep_their_gradient():
    x = nn.Variable.from_numpy_array(np.ones((2, 3), np.float32))
    y = PF.affine(x, 4, fix_parameters=True)
    assert [v.need_grad for v in y.parent.inputs[1:]] == [False, False]
    assert list(nn.get_parameters()) == ["affine/W", "affine/b"]
    z = F.sum(PF.affine(x, 4))
    for p in nn.get_parameters().values():
        p.grad.zero()
    z.forward()
    z.backward()
    np.testing.assert_array_equal(nn.get_parameters()["affine/W"].g, np.full((3, 4), 2))


def test_apply_is_called_between_the_parameters():
    x = nn.Variable((2, 3))
    order = []

    def keep(name):
        return lambda p: order.append((name, p.shape)) or PF.weight_normalization(p, dim=p.ndim - 1)

    y = PF.affine(x, 4, apply_w=keep("w"))
    assert order == [("w", (3, 4))]
    assert list(nn.get_parameters()) == ["affine/W", "affine/wn/g", "affine/b"]
    assert y.parent.inputs[1].parent is not None


def test_recurrent_parameters_of_an_old_shape_are_converted():
    x, h = nn.Variable((3, 2, 5)), nn.Variable((1, 1, 2, 4))
    old = np.arange(4 * 4 * 9, dtype=np.float32).reshape(1, 4 * 4, 9)
    nn.parameter.set_parameter("lstm/weight_l0", nn.Variable.from_numpy_array(old, need_grad=True))
    PF.lstm(x, h, h)
    np.testing.assert_array_equal(nn.get_parameters()["lstm/weight_l0"].d, old.reshape(1, 4, 4, 9))
    with pytest.raises(ValueError, match=r"\(1, 4, 4, 9\)"):
        PF.lstm(nn.Variable((3, 2, 6)), h, h)
    with pytest.raises(ValueError, match="lstm_cell"):
        PF.lstm(x, h, 5, 3)


def test_lstm_cell_object_steps_on():
    cell = PF.LSTMCell(2, 4, name="cell")
    x = nn.Variable.from_numpy_array(np.ones((2, 3), np.float32))
    first = cell(x)
    second = cell(x)
    second.forward()
    assert first.shape == second.shape == (2, 4)
    assert list(nn.get_parameters()) == ["cell/lstm/affine/W", "cell/lstm/affine/b"]
    assert np.abs(first.d - second.d).max() > 1e-3


def test_bad_arguments():
    x = nn.Variable((2, 4, 5, 5))
    with pytest.raises(ValueError, match="rank"):
        PF.svd_affine(x, 3, 0)
    with pytest.raises(ValueError, match="rank"):
        PF.svd_convolution(x, 3, (3, 3), 0)
    with pytest.raises(ValueError, match="dim must be"):
        PF.spectral_norm(x, dim=4)
    with pytest.raises(ValueError, match="embed_dim=512"):
        PF.transformer(nn.Variable((3, 2, 8)), nn.Variable((3, 2, 8)))
    PF.affine(x, 3)
    with pytest.raises(ValueError, match=r"affine/W'.*\(100, 3\).*\(100, 4\)"):
        PF.affine(x, 4)


def test_bad_arguments_name_the_function():
    x = nn.Variable((2, 4, 5, 5))
    for kind, what, call in (
        (TypeError, "affine: .*Variable.*not int", lambda: PF.affine(3, 4)),
        (TypeError, "affine: n_outmaps must be integers, not 'a'", lambda: PF.affine(x, "a")),
        (RuntimeError, r"affine: base_axis is 5.*\(2, 4, 5, 5\)", lambda: PF.affine(x, 3, base_axis=5)),
        (TypeError, "convolution: kernel .*not 3", lambda: PF.convolution(x, 3, 3)),
        (ValueError, "convolution: base_axis is 7", lambda: PF.convolution(x, 3, (3, 3), base_axis=7)),
        (ValueError, "batch_normalization: axes is 4", lambda: PF.batch_normalization(x, axes=[4])),
        (ValueError, "layer_normalization: batch_axis is 4", lambda: PF.layer_normalization(x, batch_axis=[4])),
        (RuntimeError, "pruned_affine: base_axis", lambda: PF.pruned_affine(x, 3, 6)),
    ):
        with pytest.raises(kind, match=what):
            call()
    assert not nn.get_parameters(grad_only=False)
    assert PF.affine(x, 6.0).shape == (2, 6)
