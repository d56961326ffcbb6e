"""The updater of one model on several devices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import function
from compatgrad.chainer.backend import using_device
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.training.updaters import standard_updater

if TYPE_CHECKING:
    from compatgrad.chainer.dataset.iterator import Iterator
    from compatgrad.chainer.link import Link
    from compatgrad.chainer.optimizer import Optimizer
    from compatgrad.chainer.types import DeviceSpec


class ParallelUpdater(standard_updater.StandardUpdater):
    """Updater that splits each batch among copies of a model on several devices of this process. Gradients are added up
    in the model "main", which the optimizer updates and whose parameters are copied back.

    Args:
        iterator: iterator over the examples, which is named "main", or a dict of iterators.
        optimizer: the optimizer, which is also named "main", or a dict of optimizers.
        converter: function of a part of the batch and a device that returns arrays.
        models: the copies of the model, the optimizer's target among them; None makes them.
        devices: the device of each copy, by the same names. Without `models` the one of the optimizer's target is named
            "main".
        loss_func: function of the arrays that returns the loss; None calls the copy itself.
        loss_scale: factor of the loss in backprop, for float16.
        auto_new_epoch: True calls the optimizer's `new_epoch` after each epoch.

    Raises:
        KeyError: neither `models` nor a device "main" is given.
        ValueError: neither `models` nor `devices` is given.

    Example:
        >>> data = [(np.ones(2, np.float32), np.int32(1))] * 4
        >>> optimizer = chainer.optimizers.SGD().setup(L.Classifier(L.Linear(2, 2)))
        >>> iterator = chainer.iterators.SerialIterator(data, 4)
        >>> devices = {"main": "@numpy", "second": "@numpy"}  # as "@cupy:0", "@cupy:1"
        >>> updater = chainer.training.ParallelUpdater(iterator, optimizer, devices=devices)
        >>> updater.update()
        >>> updater.epoch
        1

    Source: `chainer.training.ParallelUpdater` of Chainer 7.8.1.
    """

    def __init__(
        self,
        iterator: Iterator | dict[str, Iterator],
        optimizer: Optimizer | dict[str, Optimizer],
        converter: Callable[..., Any] = convert.concat_examples,
        models: dict[str, Link] | None = None,
        devices: dict[str, DeviceSpec] | None = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
    ) -> None:
        super().__init__(
            iterator, optimizer, converter, loss_func=loss_func, loss_scale=loss_scale, auto_new_epoch=auto_new_epoch
        )
        if models is None:
            if devices is None:
                raise ValueError("either models or devices must be specified")
            if "main" not in devices:
                raise KeyError(f"'devices' must contain a 'main' key. Actual: {list(devices)}")
            models = {"main": optimizer.target}
            for name, device in devices.items():
                if name != "main":
                    models[name] = copy.deepcopy(optimizer.target)
                    models[name].to_device(device)
            optimizer.target.to_device(devices["main"])
        self._devices = devices
        self._models = models

    def _get_copies(self):
        main = self.get_optimizer("main").target
        return {name: model for name, model in self._models.items() if model is not main}

    def connect_trainer(self, trainer: Any) -> None:
        """Registers the copies with the trainer's reporter under their names."""
        for name, model in self._get_copies().items():
            trainer.reporter.add_observer(name, model)

    def update_core(self) -> None:
        """Reads a batch, computes the losses of its parts and updates the parameters."""
        optimizer = self.get_optimizer("main")
        iterator = self.get_iterator("main")
        batch = iterator.next()
        models = self._models
        in_arrays = {
            name: self.converter(batch[i :: len(models)], self._devices[name]) for i, name in enumerate(models)
        }
        for model in models.values():
            model.cleargrads()  # free the memory before the forward pass
        losses = []
        for name, model in models.items():
            with function.force_backprop_mode(), using_device(self._devices[name]):
                losses.append(standard_updater._call(self.loss_func or model, in_arrays[name]))
        for model in models.values():
            model.cleargrads()  # the forward pass may have initialized parameters
        for loss in losses:
            loss.backward(loss_scale=self.loss_scale)
        copies = self._get_copies().values()
        for model in copies:
            optimizer.target.addgrads(model)
        optimizer.update()
        for model in copies:
            model.copyparams(optimizer.target)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)
