"""Errors that depend on values: the call returns, and the next wait for a result raises the error, once."""

import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd


def wrong():
    return nd.random.normal(0, -1, (2, 2))


WAITS = {
    "asnumpy": lambda x: x.asnumpy(),
    "asscalar": lambda x: x[0, 0].asscalar(),
    "wait_to_read": lambda x: x.wait_to_read(),
    "waitall": lambda x: nd.waitall(),
    "print": str,
    "bool": lambda x: bool(x[0, 0] > 1),
    "int": lambda x: int(x[0, 0]),
    "a result": lambda x: nd.dot(x, x).asnumpy(),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_the_next_wait_raises_a_wrong_parameter_of_a_distribution(wait):
    x = wrong()
    with pytest.raises(mx.MXNetError, match="scale must be positive"):
        wait(x)
    nd.waitall()  # the error is raised only once
    assert x.shape == (2, 2) and x.asnumpy().shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: nd.take(nd.ones((2, 3)), nd.array([5]), mode="raise"), mx.MXNetError),
        (lambda: nd.random.randint(3, 3), mx.MXNetError),
        (lambda: nd.random.uniform(2, 1), mx.MXNetError),
        (lambda: mx.np.random.normal(0, -1, (2,)), ValueError),
        (lambda: mx.np.random.pareto(-1, (2,)), ValueError),
        (lambda: mx.np.random.exponential(-1, (2,)), ValueError),
    ],
)
def test_errors_that_depend_on_values(call, error):
    x = call()
    with pytest.raises(error):
        x.asnumpy()


def test_of_several_errors_the_first_is_raised_and_all_are_forgotten():
    nd.random.normal(0, -1, (2,))
    nd.random.uniform(2, 1, (2,))
    with pytest.raises(mx.MXNetError, match="scale must be positive"):
        nd.waitall()
    nd.waitall()


def test_an_executor_returns_and_its_outputs_raise():
    y = mx.sym.take(mx.sym.Variable("a"), mx.sym.Variable("indices"), mode="raise")
    exe = y.bind(mx.cpu(), {"a": nd.ones((2, 3)), "indices": nd.array([4])})
    exe.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="out of bound"):
        exe.outputs[0].asnumpy()


def test_the_naive_engine_raises_at_once(monkeypatch):
    monkeypatch.setenv("MXNET_ENGINE_TYPE", "NaiveEngine")
    with pytest.raises(mx.MXNetError, match="scale must be positive"):
        wrong()
