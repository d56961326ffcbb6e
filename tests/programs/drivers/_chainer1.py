"""The parts of Chainer 1's API that driven programs need, on Chainer 7: `train=`, `test=` and removed names."""

import chainer


class Rule(chainer.UpdateRule):
    """An update rule for an optimizer with `init_state` and `update_one_cpu`."""

    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer

    def init_state(self, param):
        self.optimizer.init_state(param, self.state)

    def update_core_cpu(self, param):
        self.optimizer.update_one_cpu(param, self.state)


def install():
    """Add the arguments and names of version 1 to Chainer."""
    functions, links = chainer.functions, chainer.links
    dropout, batch_normalization = functions.dropout, functions.batch_normalization
    functions.dropout = lambda x, ratio=0.5, train=True: dropout(x, ratio) if train else x
    functions.batch_normalization = lambda *args, use_cudnn=True, **kwargs: batch_normalization(*args, **kwargs)
    fixed = functions.fixed_batch_normalization
    functions.fixed_batch_normalization = lambda *args, use_cudnn=True, **kwargs: fixed(*args, **kwargs)

    class BatchNormalization(links.BatchNormalization):
        def __call__(self, x, test=False, finetune=False):
            with chainer.using_config("train", not test):
                return super().__call__(x, finetune=finetune)

    def initial(wscale=1, bias=0):
        return {"initialW": chainer.initializers.LeCunNormal(wscale), "initial_bias": bias}

    class Linear(links.Linear):
        def __init__(self, n_in, n_out, **kwargs):
            super().__init__(n_in, n_out, **initial(**kwargs))

    class Convolution2D(links.Convolution2D):
        def __init__(self, *args, **kwargs):
            old = {key: kwargs.pop(key) for key in ("wscale", "bias") if key in kwargs}
            super().__init__(*args, **{**(initial(**old) if old else {}), **kwargs})

    links.BatchNormalization, links.Linear, links.Convolution2D = BatchNormalization, Linear, Convolution2D
    chainer.Link._cpu = True
    chainer.FunctionSet = chainer.Chain
    chainer.Optimizer.zero_grads = lambda self: self.target.cleargrads()
    chainer.GradientMethod.create_update_rule = lambda self: Rule(self)

    def new(cls, *args, **kwargs):
        self = object.__new__(cls)
        chainer.GradientMethod.__init__(self)  # Chainer 1's optimizers did not call it themselves
        return self

    chainer.GradientMethod.__new__ = new


def deferred(link):
    """Add Chainer 1's API for uninitialized parameters to a class of links."""
    link.add_uninitialized_param = lambda self, name: self.__dict__.setdefault("_waiting", {name})
    link.has_uninitialized_params = property(lambda self: bool(self.__dict__.get("_waiting")))
    link._device_id = None
    initialize = link._initialize_params

    def _initialize_params(self, *args):
        initialize(self, *args)
        self.__dict__.get("_waiting", set()).clear()

    link._initialize_params = _initialize_params
