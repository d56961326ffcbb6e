"""Labels, indices and masks of every integer type: the results must not depend on the type."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F

DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "bool", "float32"]
random = np.random.RandomState(0)
X, P = (random.rand(4, 10).astype(np.float32) for _ in range(2))
LABELS, FLAGS = np.array([[0], [1], [1], [0]]), np.arange(40).reshape(4, 10) % 2


def of(array):
    return nn.Variable.from_numpy_array(array)


#: name -> a function of the scores x and of `t`, which converts an array of labels to a Variable
FUNCTIONS = {
    "softmax_cross_entropy": lambda x, t: F.softmax_cross_entropy(x, t(LABELS)),
    "softmax_cross_entropy along 0": lambda x, t: F.softmax_cross_entropy(x, t(FLAGS[:1]), axis=0),
    "categorical_cross_entropy": lambda x, t: F.categorical_cross_entropy(x, t(LABELS)),
    "sigmoid_cross_entropy": lambda x, t: F.sigmoid_cross_entropy(x, t(FLAGS)),
    "binary_cross_entropy": lambda x, t: F.binary_cross_entropy(x, t(FLAGS)),
    "top_n_error": lambda x, t: F.top_n_error(x, t(LABELS), n=3),
    "binary_error": lambda x, t: F.binary_error(x, t(FLAGS)),
    "confusion_matrix": lambda x, t: F.confusion_matrix(x, t(LABELS)),
    "one_hot": lambda x, t: F.one_hot(t(LABELS), (10,)),
    "embed": lambda x, t: F.embed(t(LABELS), x),
    "gather": lambda x, t: F.gather(x, t(LABELS[:, 0]), axis=1),
    "gather_nd": lambda x, t: F.gather_nd(x, t(LABELS.T)),
    "scatter_nd": lambda x, t: F.scatter_nd(x, t(np.array([[1, 0, 1, 1]])), shape=(5, 10)),
    "scatter_add": lambda x, t: F.scatter_add(x, t(LABELS), of(P[:, :1]), axis=0),
    "getitem": lambda x, t: x[t(LABELS.T)],
    "where": lambda x, t: F.where(t(FLAGS), x, -x),
    "bool_gather": lambda x, t: F.bool_gather(x, t(LABELS[:, 0])),
    "bool_scatter": lambda x, t: F.bool_scatter(x, t(np.array([1, 0, 1, 1, 1]))),
    "bool_fill": lambda x, t: F.bool_fill(x, t(FLAGS), 7.0),
    "pack_padded_sequence": lambda x, t: F.pack_padded_sequence(F.reshape(x, (10, 4)), t(np.ones(4)))[0],
    "squared_error": lambda x, t: F.squared_error(x, t(FLAGS)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_labels_of_any_type(name, dtype):
    if (name, dtype) == ("getitem", "bool"):
        pytest.skip("selects by a mask")
    found = []
    for kind in ("int64", dtype):
        x = of(X).apply(need_grad=True)
        y = FUNCTIONS[name](x, lambda array, kind=kind: of(array.astype(kind)))
        x.grad.zero()
        y.forward(clear_no_need_grad=True)
        found.append([y.d.copy()])
        if y.need_grad:
            y.backward(clear_buffer=True)
            found[-1].append(x.g.copy())
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_labels_of_bytes_beyond_one_batch():
    """Labels of dtype uint8, as in MNIST's files: assigning them sets the dtype of the Variable's array."""
    x, t = nn.Variable((4, 3)), nn.Variable((4, 1))
    y = F.mean(F.softmax_cross_entropy(x, t))
    for labels in ([0, 1, 2, 2], [2, 2, 0, 1]):
        x.d = np.eye(3, dtype=np.uint8)[labels] * 5
        t.d = np.array(labels, np.uint8).reshape(4, 1)
        y.forward(clear_no_need_grad=True)
        np.testing.assert_allclose(y.d, np.log(1 + 2 * np.exp(-5.0)), rtol=1e-4)


@pytest.mark.parametrize("auto", [False, True])
def test_fractions_of_labels_are_cut_off(auto):
    found = []
    for labels in ([[-0.5], [1.7], [1.0], [0.2]], [[0], [1], [1], [0]]):
        with nn.auto_forward(auto):
            y = F.categorical_cross_entropy(of(P), of(np.array(labels, "f")))
        if not auto:
            y.forward()
        found.append(y.d.copy())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("auto", [False, True])
def test_scatter_add_rounds_indices_down(auto):
    """In nnabla 1.39 its other functions cut off the fraction, so that -0.5 is 0 there."""
    with nn.auto_forward(auto):
        for index, place in ((0.5, 0), (2.9, 2), (np.float32(1), 1)):
            y = F.scatter_add(of(np.zeros(3)), of(np.array([index])), of(np.array([5.0])), 0)
            y.forward()
            assert y.d.tolist() == [5.0 * (i == place) for i in range(3)]
        for index in (-0.5, -1e-3, -1, 3, np.nan):
            with pytest.raises(RuntimeError, match="out of range"):
                F.scatter_add(of(np.zeros(3)), of(np.array([index])), of(np.array([5.0])), 0).forward()
        y = F.gather(of(np.arange(3.0)), of(np.array([-0.5])), 0)
        y.forward()
        assert y.d.tolist() == [0]
