"""Parameter scopes, and the flags and shapes of the parameters in them."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.initializer as I
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.parameter import get_parameter, get_parameter_or_create, pop_parameter, set_parameter


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def test_scopes_nest_and_paths_lead_into_them():
    with nn.parameter_scope("a"), nn.parameter_scope("b"):
        made = get_parameter_or_create("c", (2,))
    assert get_parameter("a/b/c") == made
    with nn.parameter_scope("/a/b/"):
        assert list(nn.get_parameters()) == ["c"]
        assert list(nn.get_current_parameter_scope()) == ["c"]
    with nn.parameter_scope("a"):
        assert list(nn.get_parameters(path="top")) == ["top/b/c"]
    assert list(nn.get_parameters()) == ["a/b/c"]


def test_scope_is_left_after_an_error():
    root = nn.get_current_parameter_scope()
    with pytest.raises(KeyError), nn.parameter_scope("a"):
        raise KeyError
    assert nn.get_current_parameter_scope() is root


def test_scope_of_a_dictionary():
    mine = {}
    with nn.parameter_scope("inner", mine) as scope:
        get_parameter_or_create("w", (1,))
        with nn.parameter_scope("", mine):
            assert list(nn.get_parameters()) == ["inner/w"]
    assert mine["inner"] is scope
    assert not nn.get_parameters()
    with pytest.raises(ValueError, match="list"), nn.parameter_scope("inner", []):
        pass


def test_parameters_are_in_the_order_they_were_made():
    names = ["z", "b/x", "a", "b/c"]
    for name in names:
        get_parameter_or_create(name, (1,))
    assert list(nn.get_parameters()) == ["z", "b/x", "b/c", "a"]


def test_set_get_pop():
    x = nn.Variable((2, 3))
    set_parameter("a/b", x)
    assert get_parameter("a/b") is x
    assert pop_parameter("a/b") is x
    assert get_parameter("a/b") is None and pop_parameter("a/b") is None
    with nn.parameter_scope("a"):
        set_parameter("c", x)
        set_parameter("d/e", x)
        nn.clear_parameters()
    assert not nn.get_parameters()


def test_name_is_a_parameter_or_a_scope_not_both():
    get_parameter_or_create("a/b", (1,))
    with pytest.raises(ValueError, match="'b' is a parameter"):
        get_parameter_or_create("a/b/c", (1,))
    with pytest.raises(ValueError, match="scope"):
        get_parameter("a")


@pytest.mark.semantics("N12")
def test_need_grad_of_the_registered_and_of_the_returned():
    first = get_parameter_or_create("w", (2,))
    assert first is not get_parameter("w")
    first.d = [1, 2]
    fixed = get_parameter_or_create("w", (2,), as_need_grad=False)
    assert not fixed.need_grad and get_parameter("w").need_grad
    np.testing.assert_array_equal(fixed.d, [1, 2])
    get_parameter_or_create("w", (2,), need_grad=False)
    assert not get_parameter("w").need_grad
    assert list(nn.get_parameters()) == [] and list(nn.get_parameters(grad_only=False)) == ["w"]
    first.need_grad = True
    assert not get_parameter("w").need_grad


@pytest.mark.semantics("N12")
def test_no_grad_hands_out_fixed_parameters():
    with nn.no_grad():
        assert not get_parameter_or_create("w", (2,)).need_grad
        with nn.no_grad(False):
            assert get_parameter_or_create("w", (2,)).need_grad
    assert get_parameter_or_create("w", (2,)).need_grad
    assert get_parameter("w").need_grad


def test_data_and_gradient_are_shared():
    w = get_parameter_or_create("s/w", (2,), need_grad=True)
    assert w.name == "w"
    w.d, w.g = 3, 4
    np.testing.assert_array_equal(nn.get_parameters()["s/w"].d, [3, 3])
    np.testing.assert_array_equal(nn.get_parameters()["s/w"].g, [4, 4])


def test_initial_values():
    np.testing.assert_array_equal(get_parameter_or_create("zeros", (2, 1)).d, [[0], [0]])
    array = np.array([[1.5, 2.5]])
    np.testing.assert_array_equal(get_parameter_or_create("array", initializer=array).d, array)
    asked = []
    start = lambda shape: asked.append(shape) or np.ones(shape, np.float32)  # noqa: E731
    for _ in range(2):
        np.testing.assert_array_equal(get_parameter_or_create("called", (2, np.int64(2)), start).d, np.ones((2, 2)))
    assert asked == [[2, 2]]
    assert get_parameter("called").info.initializer is start


def test_errors_leave_no_parameter():
    get_parameter_or_create("w", (2, 3))
    with pytest.raises(ValueError, match=r"'w'.*\(2, 3\).*\(3, 2\)"):
        get_parameter_or_create("w", (3, 2))
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        get_parameter_or_create("x", (3,), np.zeros(2))
    with pytest.raises(ValueError, match="shape is needed"):
        get_parameter_or_create("x")
    with pytest.raises(ValueError, match="initializer must be.*str"):
        get_parameter_or_create("x", (3,), "zeros")
    with pytest.raises(TypeError, match="'x'.*tuple of integers, not 3"):
        get_parameter_or_create("x", 3)
    with pytest.raises(TypeError, match="string, not int"):
        get_parameter(3)
    assert list(nn.get_parameters()) == ["w"]


def test_a_parameter_of_a_scope_inside_is_not_that_of_a_name_with_a_slash():
    nn.get_current_parameter_scope()["a/w"] = nn.Variable((2,), need_grad=True)
    assert get_parameter_or_create("a/w", (3,)).shape == (3,)
    nn.get_current_parameter_scope()["a/b"] = {}
    with nn.parameter_scope("a/b"):
        get_parameter_or_create("w", (1,))
    assert "a/b/w" in nn.get_parameters() and get_parameter("a/b/w").shape == (1,)


@PF.parametric_function_api("failing")
def failing(x, fix_parameters=False):
    assert nn.get_current_parameter_scope() is nn.parameter.root_scope["outer"]["failing"]
    get_parameter_or_create("w", (2,), need_grad=not fix_parameters)
    raise KeyError(x)


def test_a_parametric_function_that_fails_leaves_its_scope():
    for _ in range(2):
        with pytest.raises(KeyError, match="7"):
            failing(7, name="outer")
    assert nn.get_current_parameter_scope() is nn.parameter.root_scope
    with pytest.raises(ValueError, match="'w' is a parameter"):
        failing(7, name="outer/failing/w")
    with pytest.raises(AttributeError):
        failing(7, name=3)
    assert nn.get_current_parameter_scope() is nn.parameter.root_scope
    assert list(nn.get_parameters()) == ["outer/failing/w"]


def test_an_existing_parameter_is_taken_whatever_integers_its_shape_has():
    get_parameter_or_create("w", [2, 3])
    for shape in ((2, 3), [2, 3], np.array([2, 3]), (np.int64(2), 3.0), None):
        assert get_parameter_or_create("w", shape) == get_parameter("w")
    for shape in ((2,), (2, 3, 1), [3, 2]):
        with pytest.raises(ValueError, match="has shape"):
            get_parameter_or_create("w", shape)


def test_initial_values_that_nobody_else_has_are_not_copied():
    """The copies left holes in the heap as large as the largest parameter."""
    places, kept = {}, np.arange(6.0, dtype=np.float32).reshape(2, 3)

    class Fresh(I.UniformInitializer):
        def __call__(self, shape):
            values = super().__call__(shape)
            places["fresh"] = values.ctypes.data
            return values

    fresh = nn.parameter.get_parameter_or_create("fresh", (2, 3), Fresh((-1, 1)))
    assert fresh.d.ctypes.data == places["fresh"]
    others = {
        "held": lambda shape: kept,
        "view": lambda shape: kept.T.copy().T,
        "part": lambda shape: np.broadcast_to(np.float32(2), shape),
    }
    for name, initializer in others.items():
        w = nn.parameter.get_parameter_or_create(name, (2, 3), initializer)
        expected = initializer((2, 3)).copy()
        np.testing.assert_array_equal(w.d, expected)
        w.d += 1
        np.testing.assert_array_equal(kept, np.arange(6).reshape(2, 3))
        np.testing.assert_array_equal(w.d, expected + 1)
