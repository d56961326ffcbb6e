"""The updater of one model with one optimizer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend, device_resident
from compatgrad.chainer.backend import get_device
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.dataset import iterator as iterator_module
from compatgrad.chainer.training import _updater

if TYPE_CHECKING:
    from compatgrad.chainer.dataset.iterator import Iterator
    from compatgrad.chainer.optimizer import Optimizer
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.types import DeviceSpec


def _call(function, arguments):
    """Call a function with a converter's result: a tuple of arguments, a dict of keyword arguments, or one argument."""
    if isinstance(arguments, tuple):
        return function(*arguments)
    if isinstance(arguments, dict):
        return function(**arguments)
    return function(arguments)


class StandardUpdater(_updater.Updater):
    """Updater of one optimizer with the batches of one iterator. Subclasses override `update_core` to use several.

    Args:
        iterator: iterator over the examples, which is named "main", or a dict of iterators.
        optimizer: the optimizer, named "main" too, or a dict of optimizers.
        converter: function of a batch and a device that returns the arguments of the loss: an array, a tuple of
            arguments or a dict of keyword arguments.
        device: device to which the models and the arrays are sent; None leaves them where they are.
        loss_func: function of the arrays that returns the loss; None is the optimizer's target.
        loss_scale: factor of the loss in backprop, for float16.
        auto_new_epoch: True calls the optimizer's `new_epoch` after each epoch.
        input_device: device of the arrays; None is `device`.

    Raises:
        KeyError: in an update, a dict has no "main".

    Example:
        >>> data = [(np.ones(2, np.float32), np.int32(1))] * 4
        >>> optimizer = chainer.optimizers.SGD().setup(L.Classifier(L.Linear(2, 2)))
        >>> updater = chainer.training.StandardUpdater(chainer.iterators.SerialIterator(data, 2), optimizer)
        >>> updater.update()
        >>> updater.iteration, updater.epoch_detail
        (1, 0.5)

    Source: `chainer.training.StandardUpdater` of Chainer 7.8.1.
    """

    def __init__(
        self,
        iterator: Iterator | dict[str, Iterator],
        optimizer: Optimizer | dict[str, Optimizer],
        converter: Callable[..., Any] = convert.concat_examples,
        device: DeviceSpec | None = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
        *,
        input_device: DeviceSpec | None = None,
    ) -> None:
        if device is not None:
            device = get_device(device)
        input_device = device if input_device is None else get_device(input_device)
        self._iterators = {"main": iterator} if isinstance(iterator, iterator_module.Iterator) else iterator
        self._optimizers = optimizer if isinstance(optimizer, dict) else {"main": optimizer}

        if device is not None:
            for optimizer in self._optimizers.values():
                _send(optimizer.target, device)

        self.converter = converter
        self.loss_func = loss_func
        self.iteration = 0
        self._device = device
        self._input_device = input_device

        self.loss_scale = loss_scale
        self.auto_new_epoch = auto_new_epoch
        for optimizer in self._optimizers.values():
            if loss_scale is not None:
                optimizer.set_loss_scale(loss_scale)
            if auto_new_epoch:
                optimizer.use_auto_new_epoch = True

    @property
    def device(self):
        """Device of the models, or None."""
        return self._device

    @property
    def input_device(self):
        """Device of the arrays, or None."""
        return self._input_device

    @property
    def epoch(self):
        """Completed epochs of the main iterator."""
        return self._iterators["main"].epoch

    @property
    def epoch_detail(self):
        """Completed epochs of the main iterator, with the fraction of this epoch."""
        return self._iterators["main"].epoch_detail

    @property
    def previous_epoch_detail(self):
        """`epoch_detail` before the last batch."""
        return self._iterators["main"].previous_epoch_detail

    @property
    def is_new_epoch(self):
        """Whether the last batch completed an epoch."""
        return self._iterators["main"].is_new_epoch

    def finalize(self) -> None:
        """Finalizes the iterators."""
        for iterator in self._iterators.values():
            iterator.finalize()

    def get_optimizer(self, name: str) -> Optimizer:
        """The optimizer of a name."""
        return self._optimizers[name]

    def get_all_optimizers(self) -> dict[str, Optimizer]:
        """A dict from names to optimizers."""
        return dict(self._optimizers)

    def get_iterator(self, name: str) -> Iterator:
        """The iterator of a name."""
        return self._iterators[name]

    def update(self) -> None:
        """Runs one iteration by `update_core`, and counts it."""
        self.update_core()
        self.iteration += 1

    def update_core(self) -> None:
        """Reads a batch and updates the parameters."""
        iterator = self._iterators["main"]
        in_arrays = convert._call_converter(self.converter, iterator.next(), self.input_device)
        optimizer = self._optimizers["main"]
        loss_func = self.loss_func or optimizer.target

        def update(*args, **kwargs):
            optimizer.update(loss_func, *args, **kwargs)

        _call(update, in_arrays)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the iterators, the optimizers with their targets, and the number of iterations."""
        for name, iterator in self._iterators.items():
            iterator.serialize(serializer["iterator:" + name])
        for name, optimizer in self._optimizers.items():
            optimizer.serialize(serializer["optimizer:" + name])
            optimizer.target.serialize(serializer["model:" + name])
        self.iteration = serializer("iteration", self.iteration)


def _send(model, device):
    """Send a model to a device. Parameters on another GPU stay there, with a FutureWarning."""
    if not isinstance(device, backend.GpuDevice):
        model.to_device(device)
        return
    state = device_resident._thread_local
    try:
        state.flag_gpu_to_gpu = False
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="to_gpu is deprecated.", category=DeprecationWarning)
            model.to_gpu(device.device.id)
        skipped = state.flag_gpu_to_gpu
    finally:
        state.flag_gpu_to_gpu = None
    if skipped:
        warnings.warn(
            "Transfer between @cupy devices was detected and skipped: the updater sends models to "
            "its device only from the CPU. To leave the model where it is and send the input data, "
            "give input_device instead of device; to move the model, call its to_device.",
            FutureWarning,
            stacklevel=4,
        )
