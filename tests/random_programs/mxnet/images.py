"""Operations on images, as in `operations.py`."""

IMAGE_SIZE = 5


def _images(p):
    """The name of an array of images, of the pool where there is one, so that images depend on earlier lines."""
    for name in reversed(p.pool):
        shape = p.shape(name)
        if len(shape) == 4 and shape[1] <= 4 and min(shape[2:]) >= 3 and max(shape) <= IMAGE_SIZE:
            return name
    return p.leaf((2, p.rng.choice([2, 4]), IMAGE_SIZE, IMAGE_SIZE))


def convolution(p):
    x = _images(p)
    c = p.shape(x)[1]
    groups = 2 if c % 2 == 0 and p.rng.random() < 0.3 else 1
    out = 2 * p.rng.randint(1, 2)
    k, pad, stride = p.rng.randint(1, 3), p.rng.randint(0, 1), p.rng.randint(1, 2)
    bias = p.rng.random() < 0.6
    more = f"kernel=({k}, {k}), stride=({stride}, {stride}), num_filter={out}, num_group={groups}, no_bias={not bias}"
    b = f", {p.leaf((out,))}" if bias else ""
    if p.rng.random() < 0.65:
        dilate = ", dilate=(2, 2)" if k == 2 and p.rng.random() < 0.4 else ""
        w = p.leaf((out, c // groups, k, k))
        return f"nd.tanh(0.4 * nd.Convolution({x}, {w}{b}, {more}, pad=({pad}, {pad}){dilate}))"
    w = p.leaf((c, out // groups, k, k))
    return f"nd.tanh(0.4 * nd.Deconvolution({x}, {w}{b}, {more}))"


def convolution_1d(p):
    x, w = p.leaf((2, 2, 6)), p.leaf((3, 2, 3))
    stride = p.rng.randint(1, 2)
    more = f"kernel=(3,), stride=({stride},), pad=(1,), num_filter=3"
    return f"nd.tanh(0.4 * nd.Convolution({x}, {w}, {p.leaf((3,))}, {more}))"


def pooling(p):
    x = _images(p)
    k, stride, pad = p.rng.randint(2, 3), p.rng.randint(1, 2), p.rng.randint(0, 1)
    more = f"kernel=({k}, {k}), stride=({stride}, {stride}), pad=({pad}, {pad})"
    return p.rng.choice(
        [
            f"nd.Pooling({p.apart(x)}, pool_type='max', {more})",
            f"nd.Pooling({x}, pool_type='avg', {more})",
            f"nd.Pooling({x}, pool_type='avg', {more}, count_include_pad=False)",
            f"nd.Pooling({x}, pool_type='sum', {more})",
            f"nd.Pooling({x}, pool_type='avg', kernel=(2, 2), stride=(2, 2), pooling_convention='full')",
            f"nd.Pooling({x}, pool_type='avg', kernel=(1, 1), global_pool=True)",
            f"nd.UpSampling({x}, scale=2, sample_type='nearest')",
        ]
    )


def normalization(p):
    kind = p.rng.randrange(4)
    if kind == 0:
        if p.dtype == "float64" and p.stops:
            return None  # MXNet has it in float32 only
        x = _images(p)
        c = p.shape(x)[1]
        return f"nd.InstanceNorm({p.apart(x)}, {p.leaf((c,))}, {p.leaf((c,))}, eps=0.01)"
    if kind == 1:
        x = p.pick(min_ndim=2, max_ndim=3)
        k = p.shape(x)[-1]
        return f"nd.LayerNorm(2 * {p.apart(x)}, {p.leaf((k,))}, {p.leaf((k,))}, eps=0.01)" if k > 1 else None
    if kind == 2:
        x = p.pick(min_ndim=3, max_ndim=4)
        mode = p.rng.choice(["instance", "channel", "spatial"])
        return f"nd.L2Normalization({p.apart(x)}, mode='{mode}')"
    x = p.pick(min_ndim=2)
    if len(p.shape(x)) not in (2, 4) or p.shape(x)[0] < 2:
        return None
    n, fix = p.number(), p.rng.random() < 0.4
    c = p.shape(x)[1]
    p.buffer(f"m{n}", (c,))
    p.buffer(f"s{n}", (c,), 0.5, 1.5)
    more = f"fix_gamma={fix}, eps=0.01, momentum=0.7, use_global_stats={p.rng.random() < 0.2}"
    return f"nd.BatchNorm(2 * {p.apart(x)}, {p.leaf((c,))}, {p.leaf((c,))}, m{n}, s{n}, {more})"
