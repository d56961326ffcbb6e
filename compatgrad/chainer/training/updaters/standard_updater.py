"""The updater of most trainings."""

import warnings

from compatgrad.chainer import backend, device_resident
from compatgrad.chainer.backend import get_device
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.dataset import iterator as iterator_module
from compatgrad.chainer.training import _updater


def _call(function, arguments):
    """Call a function with what a converter returned: a tuple of arguments, a dict of keywords, or one."""
    if isinstance(arguments, tuple):
        return function(*arguments)
    if isinstance(arguments, dict):
        return function(**arguments)
    return function(arguments)


class StandardUpdater(_updater.Updater):
    """Updater of one optimizer with the batches of one iterator; override `update_core` for more.

    `iterator`, `optimizer`: one, which is named "main", or a dict of them. `converter`: from a batch to
    arrays. `device`: where the models and, unless there is an `input_device`, the arrays are sent.
    `loss_func`: called with the arrays, by default the optimizer's target. `loss_scale`: factor of the loss
    in backprop. `auto_new_epoch`: call the optimizer's `new_epoch` after each epoch.
    """

    def __init__(
        self,
        iterator,
        optimizer,
        converter=convert.concat_examples,
        device=None,
        loss_func=None,
        loss_scale=None,
        auto_new_epoch=True,
        *,
        input_device=None,
    ):
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
        """The same with a fraction."""
        return self._iterators["main"].epoch_detail

    @property
    def previous_epoch_detail(self):
        """`epoch_detail` before the last batch."""
        return self._iterators["main"].previous_epoch_detail

    @property
    def is_new_epoch(self):
        """Whether the last batch completed an epoch."""
        return self._iterators["main"].is_new_epoch

    def finalize(self):
        """Finalize the iterators."""
        for iterator in self._iterators.values():
            iterator.finalize()

    def get_optimizer(self, name):
        """Return an optimizer by its name."""
        return self._optimizers[name]

    def get_all_optimizers(self):
        """Return a dict from names to optimizers."""
        return dict(self._optimizers)

    def get_iterator(self, name):
        """Return an iterator by its name."""
        return self._iterators[name]

    def update(self):
        """Run one iteration: `update_core`, and count it."""
        self.update_core()
        self.iteration += 1

    def update_core(self):
        """Read a batch and update the parameters."""
        iterator = self._iterators["main"]
        in_arrays = convert._call_converter(self.converter, iterator.next(), self.input_device)
        optimizer = self._optimizers["main"]
        loss_func = self.loss_func or optimizer.target

        def update(*args, **kwargs):
            optimizer.update(loss_func, *args, **kwargs)

        _call(update, in_arrays)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def serialize(self, serializer):
        for name, iterator in self._iterators.items():
            iterator.serialize(serializer["iterator:" + name])
        for name, optimizer in self._optimizers.items():
            optimizer.serialize(serializer["optimizer:" + name])
            optimizer.target.serialize(serializer["model:" + name])
        self.iteration = serializer("iteration", self.iteration)


def _send(model, device):
    """Send a model to a device, except for what lies on another GPU, of which a FutureWarning tells."""
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
