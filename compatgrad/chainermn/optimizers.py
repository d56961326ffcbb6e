"""Optimizers that update by the mean of the gradients of all processes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from compatgrad import _C
from compatgrad.chainer._link_walk import all_params
from compatgrad.chainermn.communicators import _gradients

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase

_OWN = object.__setattr__


class _Wrapper:
    """An optimizer that wraps another one, and reads and sets its attributes."""

    def __init__(self, actual_optimizer, communicator, zero_fill):
        _OWN(self, "actual_optimizer", actual_optimizer)
        _OWN(self, "communicator", communicator)
        _OWN(self, "zero_fill", zero_fill)
        _OWN(self, "target_params", [])
        _OWN(self, "_seen", ([], []))

    def setup(self, link):
        self.actual_optimizer.setup(link)
        return self

    def update(self, lossfun=None, *args, **kwds):
        """Runs one step, for the loss `lossfun(*args, **kwds)` if it is given. Where the set of parameters has changed,
        it copies the parameters of the first process instead of updating.
        """
        actual = self.actual_optimizer
        target = actual.target
        if lossfun is not None:
            loss = lossfun(*args, **kwds)
            if getattr(actual, "_use_cleargrads", True):
                target.cleargrads()
            else:
                target.zerograds()
            self._backward(loss, target)
            del loss
        if self.is_changed(target):
            self.communicator.bcast_data(target)
            self._restart(target)
        else:
            self._step(target, args, kwds)

    def _backward(self, loss, target):
        loss.backward(loss_scale=self.actual_optimizer._loss_scale)

    def _known(self, target):
        """Whether parameters are the same objects as in the last call of `is_changed`, which is quick to find out. The
        second result is their list, with what is compared."""
        params = list(all_params(target))
        state = [(id(param), param.tensor is not None) for param in params]
        return state == self._seen[0], (state, params)

    def is_changed(self, target):
        """Whether, since the last call, the set of parameters has changed, or the set of those that have data."""
        known, seen = self._known(target)
        if known:
            return False
        _OWN(self, "_seen", seen)
        before = self.target_params
        _OWN(self, "target_params", [(name, p.tensor is not None) for name, p in sorted(target.namedparams())])
        return before != self.target_params

    def _restart(self, target):
        pass

    def __getattr__(self, name):
        if name == "actual_optimizer":  # while it is copied or unpickled, `actual_optimizer` is missing
            raise AttributeError(name)
        return getattr(self.actual_optimizer, name)

    def __setattr__(self, name, value):
        setattr(self.actual_optimizer, name, value)


class _MultiNodeOptimizer(_Wrapper):
    """Sends gradients while backward goes on, in messages whose order all processes agree on: that in which the first
    backward of the first process has finished them."""

    def __init__(self, actual_optimizer, communicator, zero_fill):
        super().__init__(actual_optimizer, communicator, zero_fill)
        _OWN(self, "_finished", ())  # names of the parameters, as the last recorded backward has finished them
        _OWN(self, "_order", ())  # the same, of the first process
        _OWN(self, "_means", None)

    def _early(self):
        """Whether gradients can be sent before all of them are known: which ones a step sends must not depend on which
        ones exist, and the communicator must be one of this package, with its own way of taking the mean."""
        from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase

        comm = self.communicator
        mean = getattr(getattr(comm, "multi_node_mean_grad", None), "__func__", None)
        own = mean is MpiCommunicatorBase.multi_node_mean_grad
        return self.zero_fill and own and comm.size > 1 and not comm._is_dummy

    def _backward(self, loss, target):
        if not self._early():
            super()._backward(loss, target)
            return
        if not self._known(target)[0]:
            named, finished = sorted(target.namedparams()), []
            params = [param for _, param in named]
            _watched(params, lambda i, _: finished.append(named[i][0]), super()._backward, loss, target)
            _OWN(self, "_finished", tuple(finished))
            return
        means = self._new_means(target)
        try:
            _watched(means.params, means.put, super()._backward, loss, target)
        except BaseException:
            means.abandon()
            raise
        _OWN(self, "_means", means)

    def _new_means(self, target):
        return _gradients.Means(self.communicator, target, True, self._order, early=True)

    def _restart(self, target):
        if self._early():
            _OWN(self, "_order", self.communicator._group.broadcast_object(self._finished))
            self._new_means(target)  # here all processes agree on what they will send

    def _step(self, target, args, kwds):
        means = self._means
        _OWN(self, "_means", None)
        if means is not None:
            means.complete().finish()
        elif self._early():
            self._new_means(target).complete().finish()
        else:
            self.communicator.multi_node_mean_grad(target, self.zero_fill)
        self.actual_optimizer.update(None, *args, **kwds)


def _watched(params, told, backward, *args):
    """Runs a backward that calls told(i, gradient) as soon as the gradient of parameter i is final."""
    _C.watch_leaves(params, told)
    try:
        backward(*args)
    finally:
        _C.watch_leaves((), None)  # where the pass did not begin


class _DoubleBufferingOptimizer(_Wrapper):
    """Updates by the gradients of the previous call, while those of this call are exchanged."""

    def __init__(self, actual_optimizer, communicator, zero_fill):
        super().__init__(actual_optimizer, communicator, zero_fill)
        _OWN(self, "communicated_target", None)
        _OWN(self, "needs_update", False)
        _OWN(self, "_exchange", None)

    def _restart(self, target):
        self.wait()
        _OWN(self, "communicated_target", copy.deepcopy(target))
        _OWN(self, "needs_update", False)

    def _step(self, target, args, kwds):
        self.wait()
        pairs = zip(sorted(target.namedparams()), sorted(self.communicated_target.namedparams()), strict=True)
        # a parameter that links share has several names
        for own, sent in {id(own): (own, sent) for (_, own), (_, sent) in pairs}.values():
            own.grad, sent.grad = sent.grad, own.grad
        exchange = self.communicator._multi_node_mean_grad_async(self.communicated_target, self.zero_fill, None)
        _OWN(self, "_exchange", exchange)
        if self.needs_update:
            self.actual_optimizer.update(None, *args, **kwds)
        _OWN(self, "needs_update", True)

    def wait(self):
        """Waits for the exchange that the last call started."""
        exchange = self._exchange
        _OWN(self, "_exchange", None)
        if exchange is not None:
            exchange.finish()


def create_multi_node_optimizer(
    actual_optimizer: Any, communicator: CommunicatorBase, double_buffering: bool = False, zero_fill: bool = True
) -> Any:
    """Makes an optimizer that updates by the mean of the gradients of all processes. Its first `update` only copies the
    parameters of the first process.

    Args:
        actual_optimizer: the optimizer that does the updates.
        communicator: the communicator.
        double_buffering: True updates by the gradients of the previous call; it needs a communicator "pure_nccl".
        zero_fill: True counts a parameter without a gradient as zeros; False skips such parameters.

    Returns:
        An optimizer with the attributes of `actual_optimizer`.

    Raises:
        ValueError: `double_buffering` is True and the communicator is not a PureNcclCommunicator.

    Example:
        >>> link = L.Linear(1, 1, initialW=1.0)
        >>> comm = chainermn.create_communicator("naive")
        >>> optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.5), comm).setup(link)
        >>> for _ in range(2):
        ...     optimizer.update(lambda: F.sum(link(np.ones((1, 1), np.float32))))
        ...     print(link.W.array.tolist())
        [[1.0]]
        [[0.5]]

    Source: `chainermn.create_multi_node_optimizer` of Chainer 7.8.1.
    """
    if not double_buffering:
        return _MultiNodeOptimizer(actual_optimizer, communicator, zero_fill)
    from compatgrad.chainermn.communicators.pure_nccl_communicator import PureNcclCommunicator

    if not isinstance(communicator, PureNcclCommunicator):
        raise ValueError("This communicator does not support double buffering.")
    return _DoubleBufferingOptimizer(actual_optimizer, communicator, zero_fill)
