"""What the models share."""

from ... import nn
from ...block import HybridBlock


def sequence(*blocks, prefix=""):
    """The blocks one after the other. With the empty prefix they belong to the scope around."""
    made = nn.HybridSequential(prefix=prefix)
    made.add(*blocks)
    return made


class Classifier(HybridBlock):
    """A model of two parts: `features`, and `output`, which gives the classes."""

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


def with_weights(net, name, pretrained, ctx, root):
    """`net`, with the parameters of the file of the model `name` where `pretrained`."""
    if pretrained:
        from ..model_store import get_model_file

        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net


def named(make, name, *args, **fixed):
    """The function `name` of keyword arguments: `make(*args, **kwargs, **fixed)`."""

    def model(**kwargs):
        return make(*args, **kwargs, **fixed)

    model.__name__ = model.__qualname__ = name
    model.__doc__ = f"{make.__name__} with {', '.join(map(str, args))}: the arguments are the rest of its own."
    return model
