"""Dataset iterators (`chainer.iterators`)."""

from compatgrad.chainer.iterators.dali_iterator import DaliIterator
from compatgrad.chainer.iterators.multiprocess_iterator import MultiprocessIterator
from compatgrad.chainer.iterators.multithread_iterator import MultithreadIterator
from compatgrad.chainer.iterators.order_samplers import OrderSampler, ShuffleOrderSampler
from compatgrad.chainer.iterators.serial_iterator import SerialIterator

__all__ = [
    "DaliIterator",
    "MultiprocessIterator",
    "MultithreadIterator",
    "OrderSampler",
    "SerialIterator",
    "ShuffleOrderSampler",
]
