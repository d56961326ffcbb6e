"""Type checks of inputs: lazily evaluated expressions and their messages."""

import importlib
import pickle

import numpy as np
import pytest

from tests.chainer.subject import chainer, f32

T = importlib.import_module(chainer.__name__ + ".utils.type_check")


@pytest.fixture
def types():
    return T.get_types((np.zeros((2, 3), "f"), np.zeros((2, 4), "d")), "in_types", False)


class Function:
    label = "MyFunction"


CHECKS = {
    "ts.size() == 3": ("in_types.size == 3", "2 != 3"),
    "ts[0].dtype.kind == 'i'": ("in_types[0].dtype.kind == i", "f != i"),
    "ts[0].shape[1:] == ts[1].shape[1:]": ("in_types[0].shape[1:] == in_types[1].shape[1:]", "(3,) != (4,)"),
    "(ts[0].ndim - 5) * 3 > ts[1].ndim": ("(in_types[0].ndim - 5) * 3 > in_types[1].ndim", "-9 <= 2"),
    "ts[0].ndim - (5 - ts[1].ndim) >= 2": ("in_types[0].ndim - (5 - in_types[1].ndim) >= 2", "-1 < 2"),
    "T.prod(ts[0].shape) != 6": ("prod(in_types[0].shape) != 6", "6 == 6"),
    "-ts[0].ndim ** 2 == 4": ("-in_types[0].ndim ** 2 == 4", "-4 != 4"),
    "T.make_variable(3, 'n') < ts[0].size - 3": ("n < in_types[0].size - 3", "3 >= 3"),
}


@pytest.mark.parametrize("check", [c for c in CHECKS if "**" not in c])
def test_message(types, check):
    expect, actual = CHECKS[check]
    with pytest.raises(T.InvalidType) as e:
        T.expect(eval(check, {"ts": types, "T": T}))
    assert str(e.value) == f"Expect: {expect}\nActual: {actual}"
    assert (e.value.expect, e.value.actual) == (expect, actual)


def test_power_is_power(types):
    # the original evaluates % instead of **
    assert str(-(types[0].ndim ** 2)) == "-in_types[0].ndim ** 2"
    assert str((-types[0].ndim) ** 2) == "(-in_types[0].ndim) ** 2"


def test_message_names_the_function(types):
    with T.get_function_check_context(Function()), pytest.raises(T.InvalidType) as e:
        T.expect(types.size() == 1)
    assert "MyFunction (Forward)" in str(e.value)
    with pytest.raises(T.InvalidType) as e:
        T.expect(types.size() == 1)
    assert "MyFunction" not in str(e.value)


def test_checks_are_made_in_order_and_late(types):
    no_such_axis = types[0].shape[7] == 1
    with pytest.raises(T.InvalidType, match="size == 1"):
        T.expect(types.size() == 1, no_such_axis)
    with pytest.raises(IndexError):
        T.expect(types.size() == 2, no_such_axis)


def test_expression_has_no_truth_value(types):
    with pytest.raises(RuntimeError, match="eval"):
        _ = types[0].ndim == 2 and types[1].ndim == 2


def test_light_mode_runs_on_the_arrays():
    arrays = (f32([1, 2]), f32([3]))
    with T.light_mode:
        assert T.in_light_mode()
        types = T.get_light_types(arrays)
        assert types.size() == 2 and types[0] is arrays[0]
        T.expect(types[0].ndim == 1, types[1].dtype == np.float32)
        assert T.eval(types[0].shape) == (2,)
        assert T.prod((2, 3)) == 6
        assert T.make_variable(3, "x") == 3
        with pytest.raises(T.InvalidType):
            T.expect(types[0].ndim == 2)
    assert not T.in_light_mode()


def test_eval_and_names(types):
    T._argname(types, ("x", "t"))
    assert T.eval(types[0].shape[1] + 1) == 4
    with pytest.raises(T.InvalidType, match=r"x\.dtype == t\.dtype"):
        T.expect(types[0].dtype == types[1].dtype)
    with pytest.raises(T.InvalidType, match="Invalid number of arguments"):
        T._argname(types, ("x",))


def test_missing_gradient():
    (info,) = T.get_types((None,), "grads", True, shapes=((),))
    assert T.eval(info.shape) == () and T.eval(info.dtype) is None
    with pytest.raises((AssertionError, AttributeError)):
        T.get_types((None,), "grads", False, shapes=((),))


def test_broadcast(types):
    T.expect_broadcast_shapes(types[0].shape, types[0].shape[:1] + (1,))
    with pytest.raises(T.InvalidType) as e:
        T.expect_broadcast_shapes(types[0].shape, types[1].shape)
    assert str(e.value) == (
        "cannot broadcast inputs of the following shapes:\nin_types[0].shape = (2, 3)\nin_types[1].shape = (2, 4)"
    )


def test_same_types():
    assert T.same_types(f32(1), f32([2]))
    assert not T.same_types(f32(1), 1)


def test_pickle():
    error = pickle.loads(pickle.dumps(T.InvalidType("a", "b")))
    assert (error.expect, error.actual, str(error)) == ("a", "b", "Expect: a\nActual: b")
