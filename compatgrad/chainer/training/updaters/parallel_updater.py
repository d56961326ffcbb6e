"""The updater of one model on several devices."""

import copy

from compatgrad.chainer import function
from compatgrad.chainer.backend import using_device
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.training.updaters import standard_updater


class ParallelUpdater(standard_updater.StandardUpdater):
    """Updater that splits each batch among copies of a model on several devices of this process.

    `models`: dict of the copies, by default made of the optimizer's target, which is the model "main";
    `devices`: dict of devices with the same keys. Raises ValueError where neither is given, KeyError
    without "main". The other arguments are those of `StandardUpdater`.
    """

    def __init__(
        self,
        iterator,
        optimizer,
        converter=convert.concat_examples,
        models=None,
        devices=None,
        loss_func=None,
        loss_scale=None,
        auto_new_epoch=True,
    ):
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

    def connect_trainer(self, trainer):
        for name, model in self._get_copies().items():
            trainer.reporter.add_observer(name, model)

    def update_core(self):
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
            model.cleargrads()  # parameters that the forward pass initialised
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
