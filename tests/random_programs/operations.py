"""What the lines of a program can be: each function draws one expression, or None if it has nothing to offer.

` ->` in front of an expression, repeated, says how many results it has. A function whose derivative jumps is
applied to variables moved apart by a constant, so that no result hangs on a tie.
"""

CONV_SIZE = 5


def _unary(template):
    """An elementwise function of one variable; {v} is the variable, {a} the same moved away from ties."""

    def operation(p):
        name = p.pick()
        return template.format(v=name, a=p.apart(name) if "{a}" in template else "", s=p.scalar())

    return operation


ELEMENTWISE = [
    _unary(template)
    for template in [
        "-{v}",
        "+{v} * {s}",
        "{s} * {v}",
        "{v} + {s}",
        "{s} + {v}",
        "{v} - {s}",
        "{s} - {v}",
        "{v} / {s}",
        "{s} / ({v} * {v} + 1)",
        "{v} ** 2",
        "F.tanh({v}) ** 3",
        "({v} * {v} + 0.5) ** -1.5",
        "2.0 ** F.tanh({v})",
        "({v} * {v} + 0.5) ** F.sigmoid({v})",
        "abs({a})",
        "F.absolute({a})",
        "F.sin({v})",
        "F.cos({v})",
        "F.tan(0.5 * F.tanh({v}))",
        "F.arcsin(0.9 * F.sin({v}))",
        "F.arccos(0.9 * F.sin({v}))",
        "F.arctan({v})",
        "F.sinh(F.tanh({v}))",
        "F.cosh(F.tanh({v}))",
        "F.exp(F.tanh({v}))",
        "F.expm1(F.tanh({v}))",
        "F.log({v} * {v} + 0.5)",
        "F.log2({v} * {v} + 0.5)",
        "F.log1p({v} * {v})",
        "F.sqrt({v} * {v} + 0.3)",
        "F.rsqrt({v} * {v} + 0.3)",
        "F.square({v})",
        "F.erf({v})",
        "F.sign({a})",
        "F.sigmoid({v})",
        "F.tanh({v})",
        "F.relu({a})",
        "F.leaky_relu({a}, slope=0.3)",
        "F.elu({a}, alpha=0.8)",
        "F.selu({a})",
        "F.softplus({v}, beta=2.0)",
        "F.hard_sigmoid({a})",
        "F.clipped_relu({a}, 0.7)",
        "F.clip({a}, -0.4, 0.6)",
        "F.identity({v})",
        "F.copy({v}, -1)",
        "nodes.gate({v}, 0.7)",
        "F.where({a}.array > 0, {v}, {s} * {v})",
        "{v} * {v}",  # the same variable twice
        "{v} + {v}",
        "{v} - {v}",
        "F.sin({v}) / ({v} * {v} + 1)",
        "F.cast({v}, {v}.dtype)",
        "F.cast(F.cast({v}, 'd'), {v}.dtype)",
        "chainer.Variable({v}.array) * {v}",
        "chainer.as_variable({v}) * 2",
    ]
]


def binary(p):
    """Two variables of one shape, or of shapes that broadcast."""
    a = p.pick()
    shape = list(p.shape(a))
    if p.rng.random() < 0.4 and shape:
        for i in range(len(shape)):
            if p.rng.random() < 0.4:
                shape[i] = 1
        shape = shape[p.rng.randint(0, len(shape) - 1) :]
    b = p.pick(shape=tuple(shape))
    if p.rng.random() < 0.5:
        a, b = b, a
    return p.rng.choice(
        ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / ({b} * {b} + 1)", "({a} * {a} + 1) ** F.tanh({b})"]
    ).format(a=a, b=b)


def same_shape(p):
    a = p.pick()
    b = p.pick(shape=p.shape(a))
    return p.rng.choice(
        [
            f"F.maximum({p.apart(a)}, {b} * 0.9)",
            f"F.minimum({p.apart(a)}, {b} * 0.9)",
            f"F.add({a}, {b}, {a})",
            f"F.squared_error({a}, {b} + 1)",
            f"F.absolute_error({p.apart(a)}, 0.9 * {b})",
            f"F.mean_squared_error({a}, {b} + 1)",
            f"F.mean_absolute_error({p.apart(a)}, 0.9 * {b})",
            f"F.arctan2({a}, {b} * {b} + 0.5)",
            f"F.where({p.const(p.shape(a))} > 0, {a}, {b})",
            f"nodes.mix({a}, {b}) -> ->",
            f"nodes.accumulate({a}, {b})",
            f"nodes.accumulate({a}, {a})",
        ]
    )


def with_array(p):
    a = p.pick()
    c = p.const(p.shape(a))
    return p.rng.choice(["{a} * {c}", "{c} * {a}", "{c} - {a}", "{a} / ({c} + 2)", "{a} + {c}"]).format(a=a, c=c)


def reduction(p):
    a = p.pick(min_ndim=1)
    ndim = len(p.shape(a))
    axis = p.rng.choice([None, p.axis(a), p.axis(a), tuple(p.rng.sample(range(ndim), p.rng.randint(1, ndim)))])
    keep = p.rng.random() < 0.4
    name = p.rng.choice(["sum", "mean", "max", "min", "logsumexp", "prod", "cumsum", "cumprod"])
    if name in ("cumsum", "cumprod"):
        return f"F.{name}(0.5 + F.sigmoid({a}), axis={axis if isinstance(axis, int) else None})"
    if name == "logsumexp":
        return f"F.logsumexp({a}, axis={axis})"
    if name in ("max", "min"):
        return f"F.{name}({p.apart(a)}, axis={axis}, keepdims={keep})"
    if name == "prod":
        return f"F.prod(0.5 + F.sigmoid({a}), axis={axis}, keepdims={keep})"
    return f"F.{name}({a}, axis={axis}, keepdims={keep})"


def softmax(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    return f"F.{p.rng.choice(['softmax', 'log_softmax'])}({a}, axis={p.axis(a)})"


def normalize(p):
    a = p.pick(min_ndim=2, max_ndim=2)
    return f"F.normalize({a} + {p.const(p.shape(a), 0.5, 1.5)}, axis={p.rng.choice([0, 1])})"


def matmul(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    *batch, n, k = p.shape(a)
    m = p.rng.randint(2, 4)
    transa, transb = p.rng.random() < 0.4, p.rng.random() < 0.4
    inner = n if transa else k
    b = p.pick(shape=(*batch, m, inner) if transb else (*batch, inner, m))
    if not transa and not transb and p.rng.random() < 0.5:
        return f"0.5 * ({a} @ {b})"
    return f"0.5 * F.matmul({a}, {b}, transa={transa}, transb={transb})"


def linear(p):
    a = p.pick(min_ndim=2)
    size = 1
    for n in p.shape(a)[1:]:
        size *= n
    if size > 40:
        return None
    out = p.rng.randint(2, 4)
    w = p.leaf((out, size))
    if p.rng.random() < 0.3:
        return f"0.5 * F.linear({a}, {w})"
    return f"0.5 * F.linear({a}, {w}, {p.leaf((out,))})"


def embed_id(p):
    w = p.leaf((4, p.rng.randint(2, 3)))
    ids = [p.rng.randint(0, 3) for _ in range(5)]
    if p.rng.random() < 0.5:
        return f"F.embed_id(np.array({ids}, 'i'), {w})"
    ids[2] = -1
    return f"F.embed_id(np.array({ids}, 'i'), {w}, ignore_label=-1)"


def reshape(p):
    a = p.pick(min_ndim=1)
    shape = p.shape(a)
    choices = [
        f"F.reshape({a}, (-1,))",
        f"{a}.reshape({', '.join(map(str, shape[::-1]))})",
        f"F.reshape({a}, {shape})",
        f"F.flatten({a})",
        f"F.expand_dims({a}, {p.rng.randint(0, len(shape))})",
        f"F.squeeze(F.expand_dims({a}, {p.rng.randint(0, len(shape))}))",
        f"F.broadcast_to({a}, {(2, *shape)})",
        f"F.broadcast_to({a}, {shape})",
        f"F.tile({a}, {tuple(p.rng.randint(1, 2) for _ in shape)})",
        f"F.repeat({a}, 2, axis={p.axis(a)})",
        f"F.flip({a}, {p.rng.randrange(len(shape))})",
        f"F.pad({a}, {p.rng.randint(1, 2)}, 'constant')",
        f"F.moveaxis({a}, 0, -1)",
        f"F.rollaxis({a}, {p.rng.randrange(len(shape))})",
        f"F.swapaxes({a}, {p.rng.randrange(len(shape))}, {p.rng.randrange(len(shape))})",
        f"{a}.T",
        f"F.transpose({a}, {tuple(p.rng.sample(range(len(shape)), len(shape)))})",
        f"{a}.transpose()",
        f"F.sum_to({a}, {(1,) * len(shape)})",
        f"F.permutate({a}, np.array({p.rng.sample(range(shape[0]), shape[0])}, 'i'))",
    ]
    choice = p.rng.choice(choices)
    size = 1
    for n in shape:
        size *= n
    grows = any(word in choice for word in ("tile", "repeat", "broadcast_to", "pad"))
    return None if grows and size > 60 else choice


def getitem(p):
    a = p.pick(min_ndim=1)
    shape = p.shape(a)
    n = shape[0]
    key = p.rng.choice(
        [
            str(p.rng.randrange(-n, n)),
            "1:",
            "::-1",
            "..., 0",
            "None, 0",
            "...",
            ":, None",
            f"[{p.rng.randrange(n)}, {p.rng.randrange(n)}, {p.rng.randrange(n)}]",
            f"np.array([[{p.rng.randrange(n)}, {p.rng.randrange(n)}]])",
            f"np.array({[p.rng.random() < 0.7 for _ in range(n - 1)] + [True]})",
        ]
    )
    if p.rng.random() < 0.3:
        return f"F.get_item({a}, {key})" if key.lstrip("-").isdigit() else f"{a}[{key}]"
    return f"{a}[{key}]"


def join(p):
    a = p.pick(min_ndim=1)
    b = p.pick(shape=p.shape(a))
    if len(p.shape(a)) > 3:
        return None
    return p.rng.choice(
        [
            f"F.concat([{a}, {b}], axis={p.rng.randrange(len(p.shape(a)))})",
            f"F.concat(({a}, {a}, {b}), axis=0)",
            f"F.stack([{a}, {b}], axis={p.rng.randint(0, len(p.shape(a)))})",
            f"F.vstack([{a}, {b}])",
            f"F.hstack([{a}, {b}])",
            f"F.concat([{a}], axis=0)",
        ]
    )


def split(p):
    a = p.pick(min_ndim=1, max_ndim=3)
    shape = p.shape(a)
    axis = p.rng.randrange(len(shape))
    n = shape[axis]
    if n > 6 or n < 2:
        return None
    kind = p.rng.randrange(3)
    if kind == 0:
        return f"F.split_axis({a}, [{p.rng.randint(1, n - 1)}], axis={axis}) -> ->"
    if kind == 1:
        return f"F.split_axis({a}, {n}, axis={axis})" + " ->" * n
    # All the parts are used: the original cannot go back through a part that nobody used.
    return f"F.stack(F.separate({a}, axis={axis})[::-1], axis={axis})"


def select_item(p):
    a = p.pick(min_ndim=2, max_ndim=2)
    n, k = p.shape(a)
    return f"F.select_item({a}, np.array({[p.rng.randrange(k) for _ in range(n)]}, 'i'))"


def softmax_cross_entropy(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    n, k, *rest = p.shape(a)
    count = n
    for r in rest:
        count *= r
    labels = [p.rng.randint(-1, k - 1) for _ in range(count - 1)] + [0]
    weight = f", class_weight={p.const((k,), 0.5, 1.5)}" if p.rng.random() < 0.3 else ""
    reduce = p.rng.choice(["", ", reduce='no'", ", normalize=False"])
    double = ", enable_double_backprop=True" if p.twice else ""
    t = f"np.array({labels}, 'i').reshape({(n, *rest)})"
    return f"F.softmax_cross_entropy({a}, {t}{weight}{reduce}{double})"


def other_losses(p):
    a = p.pick(min_ndim=2, max_ndim=2)
    n, k = p.shape(a)
    labels = f"np.array({[[p.rng.randint(0, 1) for _ in range(k)] for _ in range(n)]}, 'i')"
    return p.rng.choice(
        [
            f"F.sigmoid_cross_entropy({a}, {labels})",
            f"F.sigmoid_cross_entropy({a}, {labels}, reduce='no')",
            f"F.huber_loss({p.apart(a)}, {p.const((n, k))}, 0.6, reduce='no')",
            f"F.gaussian_kl_divergence({a}, F.tanh({a}))",
            f"F.gaussian_nll({a}, {p.const((n, k))}, F.tanh({a}))",
        ]
    )


def _images(p):
    """Text of a (2, 4, 5, 5) tensor made of the pool, so that images depend on earlier lines."""
    for name in reversed(p.pool):
        if len(p.shape(name)) == 4 and p.shape(name)[1] <= 4 and min(p.shape(name)[2:]) >= 3:
            if max(p.shape(name)) <= CONV_SIZE:
                return name, p.shape(name)
    name = p.leaf((2, p.rng.choice([2, 4]), CONV_SIZE, CONV_SIZE))
    return name, p.shape(name)


def convolution(p):
    x, (_, c, _, _) = _images(p)
    groups = 2 if c % 2 == 0 and p.rng.random() < 0.3 else 1
    out = 2 * p.rng.randint(1, 2)
    k = p.rng.randint(1, 3)
    bias = p.rng.random() < 0.6
    pad, stride = p.rng.randint(0, 1), p.rng.randint(1, 2)
    if p.rng.random() < 0.65:
        dilate = 2 if k == 2 and p.rng.random() < 0.4 else 1
        w = p.leaf((out, c // groups, k, k))
        b = f", b={p.leaf((out,))}" if bias else ""
        return (
            f"F.tanh(0.4 * F.convolution_2d({x}, {w}{b}, stride={stride}, pad={pad}, dilate={dilate}, groups={groups}))"
        )
    w = p.leaf((c, out // groups, k, k))
    b = f", b={p.leaf((out,))}" if bias else ""
    return f"F.tanh(0.4 * F.deconvolution_2d({x}, {w}{b}, stride={stride}, pad=0, groups={groups}))"


def convolution_nd(p):
    if p.rng.random() < 0.5:
        x, w = p.leaf((2, 2, 6)), p.leaf((3, 2, 3))
        return f"F.tanh(0.4 * F.convolution_nd({x}, {w}, stride={p.rng.randint(1, 2)}, pad=1))"
    x, w = p.leaf((1, 2, 3, 4, 3)), p.leaf((2, 2, 2, 2, 2))
    return f"F.tanh(0.4 * F.convolution_nd({x}, {w}, {p.leaf((2,))}))"


def pooling(p):
    x, _ = _images(p)
    k, stride, pad = p.rng.randint(2, 3), p.rng.randint(1, 2), p.rng.randint(0, 1)
    if p.rng.random() < 0.5:
        cover = pad == 0 and p.rng.random() < 0.5  # a window of padding alone would give -inf
        return f"F.max_pooling_2d({p.apart(x)}, {k}, stride={stride}, pad={pad}, cover_all={cover})"
    return p.rng.choice(
        [
            f"F.average_pooling_2d({x}, {k}, stride={stride}, pad={pad})",
            f"F.unpooling_2d({x}, 2, cover_all=False)",
            f"F.max_pooling_nd({p.apart(x)}, {k}, stride={stride})",
            f"F.average_pooling_nd({x}, {k}, stride={stride})",
        ]
    )


def normalization(p):
    kind = p.rng.randrange(4)
    if kind == 0:
        x, (_, c, _, _) = _images(p)
        return f"F.batch_normalization({p.apart(x)}, {p.leaf((c,))}, {p.leaf((c,))})"
    x = p.pick(min_ndim=2, max_ndim=2)
    n, k = p.shape(x)
    gamma, beta = p.leaf((k,)), p.leaf((k,))
    if kind == 1:
        return f"F.layer_normalization(2 * {p.apart(x)}, {gamma}, {beta})"
    if kind == 2:
        return f"F.fixed_batch_normalization({x}, {gamma}, {beta}, {p.const((k,))}, {p.const((k,), 0.5, 1.5)})"
    if n < 3:
        return None
    return f"F.batch_normalization(2 * {p.apart(x)}, {gamma}, {beta})"


def dropout(p):
    return f"F.dropout({p.pick(min_ndim=1)}, {p.rng.choice([0.2, 0.5])})"


def forget(p):
    return f"F.forget(lambda a: F.sin(a) * a, {p.pick()})"


def old_style(p):
    a = p.pick()
    if p.rng.random() < 0.4:
        return f"nodes.old_cube(F.tanh({a}))"
    b = p.pick(shape=p.shape(a))
    return f"nodes.old_pair({a}, F.tanh({b})) -> ->"


ONCE = [forget, old_style]
OPERATIONS = (
    ELEMENTWISE
    + [binary] * 14
    + [same_shape] * 8
    + [with_array] * 3
    + [reduction] * 10
    + [softmax] * 3
    + [normalize]
    + [matmul] * 5
    + [linear] * 4
    + [embed_id]
    + [reshape] * 10
    + [getitem] * 6
    + [join] * 4
    + [split] * 4
    + [select_item]
    + [softmax_cross_entropy] * 4
    + [other_losses] * 3
    + [convolution] * 5
    + [convolution_nd]
    + [pooling] * 4
    + [normalization] * 4
    + [dropout] * 3
    + [forget]
    + [old_style] * 8
)
