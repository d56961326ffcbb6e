"""Shared code of the links with a weight W and a bias b."""

from compatgrad.chainer import initializers, variable


def bias(initial_bias, shape=None, default=0):
    """Makes the bias parameter; its initial value is `default` where no initializer is given."""
    initializer = initializers._get_initializer(default if initial_bias is None else initial_bias)
    return variable.Parameter(initializer, shape)


def register(link, initialW, in_size, nobias, initial_bias, bias_shape):
    """Registers W and b. W is initialized at once, by the link's `_initialize_params`, where `in_size` is
    given."""
    with link.init_scope():
        link.W = variable.Parameter(initializers._get_initializer(initialW))
        if in_size is not None:
            link._initialize_params(in_size)
        link.b = None if nobias else bias(initial_bias, bias_shape)


def register_without_shapes(link, initialW, nobias, initial_bias, *sizes):
    """Registers W and b. They are initialized at once where all `sizes` of the inputs, which determine their shapes,
    are given."""
    with link.init_scope():
        link.W = variable.Parameter(initializers._get_initializer(initialW))
        link.b = None if nobias else bias(initial_bias)
    if None not in sizes:
        link._initialize_params(*sizes)


def check_groups(in_channels, out_channels, groups):
    """Raises ValueError unless both numbers of channels are divisible by `groups`."""
    for kind, channels in (("output", out_channels), ("input", in_channels)):
        if channels % groups != 0:
            raise ValueError(f"the number of {kind} channels must be divisible by the number of groups")


def check_bias_size(out_size, b, name):
    """Raises ValueError if `b` is given and does not have `out_size` elements."""
    if b is not None and out_size != b.size:
        raise ValueError(f"`{name}` does not match the size of `b`")
