"""Sequential."""

import functools
import pickle

import numpy as np
import pytest

from tests.chainer.subject import chainer


class Plus(chainer.Link):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.n = chainer.Parameter(n, (1,))

    def forward(self, x):
        return x + float(self.n.array[0])


def double(x):
    return 2 * x


def both(x):
    return x, x + 1


def total(x, y):
    return x + y


def test_applies_layers_in_order():
    assert chainer.Sequential(Plus(1), double, both, total, Plus(3))(2) == 16
    assert chainer.Sequential(total, double)(1, 2) == 6
    with pytest.raises(RuntimeError, match="layer"):
        chainer.Sequential()(1)


def children(seq):
    return [float(child.n.array[0]) for child in seq._children]


def test_children_are_numbered_as_in_the_original():
    seq = chainer.Sequential(Plus(0), double, Plus(1), Plus(2), Plus(3))
    assert children(seq) == [0, 3, 2, 1]
    assert [path for path, _ in seq.namedparams()] == ["/0/n", "/1/n", "/2/n", "/3/n"]
    assert [child.name for child in seq._children] == list("0123")
    seq.insert(1, Plus(4))
    assert children(seq) == [0, 4, 3, 2, 1]
    seq = chainer.Sequential(double, Plus(1))
    seq.insert(1, Plus(2))
    assert children(seq) == [1, 2]
    seq.insert(0, Plus(3))
    assert children(seq) == [3, 1, 2]
    seq.insert(-1, Plus(4))
    assert children(seq) == [3, 4, 1, 2] and len(seq) == 5


def test_list_protocol():
    a, b, c = Plus(1), Plus(2), Plus(3)
    seq = chainer.Sequential(a, double, b)
    assert len(seq) == 3 and seq[1] is double and seq[-1] is b and double in seq and c not in seq
    assert list(seq) == [a, double, b] and list(reversed(seq)) == [b, double, a]
    seq[1] = c
    assert list(seq) == [a, c, b] and children(seq) == [1, 3, 2]
    seq[2] = double
    assert list(seq) == [a, c, double] and children(seq) == [1, 3]
    del seq[0]
    assert list(seq) == [c, double] and [child.name for child in seq._children] == ["0"]
    seq.extend([a, double])
    assert seq.count(double) == 2 and seq.index(a) == 2 and seq.index(double, 2) == 1
    assert seq.pop() is double and seq.pop(0) is c
    seq.remove(double)
    assert list(seq) == [a]
    with pytest.raises(ValueError):
        seq.remove(b)
    with pytest.raises(IndexError, match="9"):
        seq.insert(9, a)
    with pytest.raises(ValueError, match="callable"):
        seq.append(3)
    with pytest.raises(ValueError, match="callable"):
        seq[0] = "x"
    with pytest.raises(ValueError, match="less than"):
        seq[5] = b
    seq.clear()
    assert len(seq) == 0


def test_sums():
    a, b = chainer.Sequential(Plus(1), double), chainer.Sequential(Plus(2))
    c = a + b
    assert list(c) == [*a, *b] and len(a) == 2
    a += b
    assert list(a) == list(c)
    with pytest.raises(ValueError, match="Sequential"):
        a + [double]
    with pytest.raises(ValueError, match="Sequential"):
        a += [double]


def test_by_type():
    seq = chainer.Sequential(Plus(1), double, Plus(2), both, double)
    assert seq.count_by_layer_type("Plus") == 2 and seq.count_by_layer_type("double") == 2
    seq.remove_by_layer_type("double")
    assert seq.count_by_layer_type("double") == 0 and len(seq) == 3
    seq.remove_by_layer_type("Plus")
    assert list(seq) == [both] and list(seq.params()) == []


def test_copies_repeats_and_flattens():
    seq = chainer.Sequential(Plus(1), double, chainer.Sequential(Plus(2), chainer.Sequential(both, total)))
    flat = seq.flatten()
    assert [type(layer).__name__ for layer in flat] == ["Plus", "function", "Plus", "function", "function"]
    copied = seq.copy("copy")
    assert isinstance(copied, chainer.Sequential) and copied[1] is double
    assert copied[0].n is not seq[0].n and copied[0].n.array is not seq[0].n.array
    assert seq.copy()[0].n.array is seq[0].n.array
    seq[0].n.array[:] = 8
    copied.copyparams(seq)
    assert copied[0].n.array[0] == 8
    with pytest.raises(ValueError, match="Sequential"):
        copied.copyparams(Plus(1))
    assert len(seq.repeat(2)) == 2
    np.testing.assert_equal(seq.repeat(2, "share")[0](1), seq(1))


def test_pickles_unless_there_is_a_lambda():
    seq = chainer.Sequential(Plus(1), functools.partial(total, 5))
    assert pickle.loads(pickle.dumps(seq))(1) == 7
    with pytest.raises(ValueError, match="[Ll]ambda"):
        pickle.dumps(chainer.Sequential(lambda x: x))


def test_str():
    seq = chainer.Sequential(
        chainer.links.Linear(2, 3),
        lambda x: x + 1,
    )
    assert str(seq) == ("Sequential(\n  (0): Linear(in_size=2, out_size=3, nobias=False),\n  (1): lambda x: x + 1,\n)")
