"""Errors about wrong arguments begin with MXNet's text, and name the value that was passed."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import lr_scheduler, nd, sym
from compatgrad.mxnet.contrib.svrg_optimization.svrg_module import SVRGModule
from compatgrad.mxnet.gluon.contrib.estimator.event_handler import LoggingHandler

X = sym.var("data")


def model(X=None, y=None):
    net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2), name="softmax")
    mx.model.FeedForward(net, num_epoch=1).fit(X, y)


@pytest.mark.parametrize("call, words", [
    (lambda: lr_scheduler.LRScheduler(0.1, warmup_begin_lr=1.0), "higher than warmup_begin_lr, got 0.1 and 1.0"),
    (lambda: lr_scheduler.LRScheduler(warmup_steps=-1), "has to be positive or 0, got -1"),
    (lambda: lr_scheduler.LRScheduler(warmup_mode="square"), "modes of warmup, got 'square'"),
    (lambda: lr_scheduler.FactorScheduler(1, factor=2.0), "to make lr reduce, got 2.0"),
    (lambda: lr_scheduler.FactorScheduler(0), "greater or equal than 1 round, got 0"),
    (lambda: lr_scheduler.MultiFactorScheduler([3, 2]), "an increasing integer list, got [3, 2]"),
    (lambda: lr_scheduler.MultiFactorScheduler([0, 2]), "greater or equal than 1 round, got [0, 2]"),
    (lambda: lr_scheduler.PolyScheduler(0), "must be strictly positive, got 0"),
    (lambda: mx.kv.create(5), "name must be a string, got int"),
    (lambda: LoggingHandler(log_interval="batch"), "or string 'epoch', got 'batch'"),
    (lambda: nd.split_v2(nd.ones((3, 2)), 2), "does not result in an equal division: 3 by 2"),
    (lambda: nd.split_v2(nd.ones((3, 2)), 1.5), "must either int or tuple of ints, got float"),
    (lambda: mx.np.vsplit(mx.np.ones(3), 3), "of 2 or more dimensions, got 1"),
    (lambda: mx.np.moveaxis(mx.np.ones((2, 3)), (0, 1), 1), "the same number of elements, got (0, 1) and 1"),
    (lambda: nd.moveaxis(nd.ones((2, 3)), (0, 1), 1), "must have the same number of elements, got (0, 1)"),
    (lambda: sym.Group([X, 5]), "expected a list of symbols as input, got ['Symbol', 'int']"),
    (lambda: SVRGModule(X, update_freq=1.5), "calculating full gradients, got 1.5"),
    (lambda: SVRGModule(X, update_freq=0), "gradients, got 0"),
    (lambda: mx.npx.random.bernoulli(2.0), "prob must be between 0 and 1, got 2.0"),
    (lambda: model(X=5), "X must be DataIter, NDArray or numpy.ndarray, got int"),
    (lambda: model(np.ones((3, 2)), np.ones(2)), "data points and labels not equal: 3 and 2"),
    (lambda: model(np.ones((3, 2)), np.ones((3, 2))), "(with 2nd dimension being 1), got shape (3, 2)"),
    (lambda: model(np.ones((3, 2)), 5), "y must be ndarray when X is numpy.ndarray, got int"),
    (lambda: mx.executor_manager._split_input_slice(1, [1, 1]), "Some splits are empty: a batch of 1 for 2"),
    (lambda: sym.contrib.cond(sym.Group([X, X]), lambda: X, lambda: X), "single output, got 2"),
])  # fmt: skip
def test_words(call, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: nd.LRN(x, nsize=0), "LRN: nsize must be at least 1, got 0"),
        (lambda x: nd.UpSampling(x, scale=0, sample_type="nearest"), "UpSampling: scale must be at least 1, got 0"),
        (
            lambda x: nd.Convolution(x, nd.ones((2, 2, 3, 3)), None, (3, 3), num_filter=2, num_group=0, no_bias=True),
            "Convolution: num_group 0 must divide",
        ),
    ],
)
def test_a_zero_that_a_size_is_divided_by_is_named(call, words):
    with pytest.raises(mx.MXNetError, match=words):
        call(nd.ones((1, 2, 6, 6)))


def test_operators_over_empty_axes():
    assert nd.contrib.div_sqrt_dim(nd.array(np.zeros((2, 0)))).shape == (2, 0)
    empty = nd.array(np.zeros((2, 0, 4)))
    assert nd.SoftmaxOutput(empty, empty).shape == (2, 0, 4)
