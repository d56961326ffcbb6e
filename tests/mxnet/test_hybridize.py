"""A hybridized block refuses the inputs, and nests the results, that MXNet's compiled block does."""

import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import gluon


class Add(gluon.HybridBlock):
    def hybrid_forward(self, F, a, b=None):
        return a if b is None else b if a is None else a + b


class Sums(gluon.HybridBlock):
    def hybrid_forward(self, F, a, b):
        return sum(a), (sum(b), a)


def ones():
    return mx.nd.ones((3,))


def hybridized(cls):
    net = cls()
    net.hybridize()
    return net


@pytest.mark.parametrize("other", [1, 2.5, "x", mx.sym.var("a")], ids=["an integer", "a float", "a string", "a symbol"])
def test_a_hybridized_block_refuses_other_inputs_than_arrays(other):
    with pytest.raises(ValueError):
        hybridized(Add)(ones(), other)


def test_symbols_and_arrays_are_not_mixed():
    for net in (Add(), hybridized(Add)):
        with pytest.raises(ValueError, match="mixed NDArrays and Symbols"):
            net(ones(), mx.sym.var("a"))


def test_numbers_reach_blocks_that_are_not_hybridized_and_children_of_hybridized_ones():
    class Outer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.add = Add()

        def hybrid_forward(self, F, x):
            return self.add(x, 1)

    assert Add()(ones(), 1).asnumpy().tolist() == [2, 2, 2]
    net = hybridized(Outer)
    assert net(ones()).asnumpy().tolist() == [2, 2, 2]
    assert net.add._in_format is None  # inside a hybridized parent a child keeps no input format
    with pytest.raises(ValueError):
        net.add(ones(), 1)


def test_a_hybridized_block_refuses_arrays_of_two_contexts():
    with pytest.raises(ValueError, match="multiple contexts"):
        hybridized(Add)(mx.nd.ones((3,), ctx=mx.cpu(1)), mx.nd.ones((3,), ctx=mx.cpu(2)))


def test_results_of_operators_may_be_mixed_with_arrays_of_a_second_cpu():
    x = mx.nd.ones((3,), ctx=mx.cpu(1))
    assert hybridized(Add)(x, x * 2).asnumpy().tolist() == [3, 3, 3]


def test_inputs_of_a_hybridized_block_keep_the_structure_of_the_first_call():
    net = hybridized(Add)
    assert net(None, ones()).asnumpy().tolist() == [1, 1, 1]
    for other in ((ones(), ones()), (ones(), None), (ones(),)):
        with pytest.raises(ValueError, match="argument structure"):
            net(*other)
    net.hybridize()  # forgets the structure of the first call
    assert net(ones(), ones()).asnumpy().tolist() == [2, 2, 2]


def test_none_at_the_end_of_the_inputs_may_be_left_out():
    net = hybridized(Add)
    net(ones(), None)
    assert net(ones()).asnumpy().tolist() == [1, 1, 1]
    net = hybridized(Add)
    net(ones())
    assert net(ones(), None).asnumpy().tolist() == [1, 1, 1]


def test_a_call_that_failed_decides_nothing():
    class Strict(gluon.HybridBlock):
        def hybrid_forward(self, F, a):
            if isinstance(a, (list, tuple)):
                raise RuntimeError("no list")
            return a

    net = hybridized(Strict)
    with pytest.raises(RuntimeError, match="no list"):
        net([ones()])
    assert net(ones()).asnumpy().tolist() == [1, 1, 1]


def test_nested_results_of_a_hybridized_block_are_lists():
    out = hybridized(Sums)([ones(), ones()], (ones(),))
    assert type(out) is list and type(out[1]) is list and type(out[1][1]) is list
    out = Sums()([ones(), ones()], (ones(),))
    assert type(out) is tuple and type(out[1]) is tuple


def test_a_result_that_is_no_array_is_refused():
    class Wrong(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x, {"x": x}

    Wrong()(ones())
    with pytest.raises(ValueError, match="output"):
        hybridized(Wrong)(ones())


def test_op_hooks_warn_that_they_are_not_called():
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(2))
    with pytest.warns(UserWarning, match="register_op_hook: the callback is not called"):
        net.register_op_hook(print)
