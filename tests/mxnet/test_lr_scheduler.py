"""Learning rate schedulers give exactly the numbers recorded from MXNet."""

import json

import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import lr_scheduler, misc
from tests.golden import mxnet_metrics as golden


def test_rates_as_recorded():
    assert golden.schedulers(mx) == json.loads(golden.GOLDEN.read_text())["schedulers"]


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: lr_scheduler.FactorScheduler(0), ValueError, "step"),
        (lambda: lr_scheduler.FactorScheduler(1, 1.5), ValueError, "Factor"),
        (lambda: lr_scheduler.MultiFactorScheduler([3, 3]), ValueError, "increasing"),
        (lambda: lr_scheduler.MultiFactorScheduler([0, 3]), ValueError, "at least|greater"),
        (lambda: lr_scheduler.MultiFactorScheduler((1, 3)), AssertionError, "list"),
        (lambda: lr_scheduler.PolyScheduler(0), ValueError, "positive"),
        (lambda: lr_scheduler.CosineScheduler(1.5), AssertionError, "max_update.*float"),
        (lambda: lr_scheduler.LRScheduler(warmup_begin_lr=1), ValueError, "warmup_begin_lr"),
        (lambda: lr_scheduler.LRScheduler(warmup_steps=-1), ValueError, "Warmup steps"),
        (lambda: lr_scheduler.LRScheduler(warmup_mode="slow"), ValueError, "modes"),
        (lambda: lr_scheduler.LRScheduler()(3), NotImplementedError, "__call__"),
        (lambda: misc.FactorScheduler(0), ValueError, "step"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_schedulers_of_misc():
    scheduler = misc.FactorScheduler(2, 0.5)
    assert [scheduler(n) for n in range(5)] == [0.01, 0.01, 0.005, 0.005, 0.0025]
