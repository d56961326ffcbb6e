"""What the lines of a program can be: each function draws one expression, or None if it has nothing to offer.

` ->` behind an expression, repeated, says how many results it has. A function whose derivative jumps is
applied to variables moved apart by a constant, so that no result hangs on a tie. What is left out, and why,
is said in tests/nnabla/test_random_programs.py.
"""

import math

CONV_SIZE = 5


def _unary(template):
    """An elementwise function of one variable; {v} is the variable, {a} the same moved away from ties,
    {c} a constant of its shape."""

    def operation(p):
        name = p.pick()
        a = p.apart(name) if "{a}" in template else ""
        c = p.const(p.shape(name)) if "{c}" in template else ""
        return template.format(v=name, a=a, c=c, s=p.scalar())

    return operation


ELEMENTWISE = [
    _unary(template)
    for template in [
        "-{v}",
        "{v} * {s}",
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
        "F.pow_scalar({v} * {v} + 0.5, 0.5)",
        "F.r_pow_scalar(F.tanh({v}), 1.7)",
        "F.r_sub_scalar({v}, {s})",
        "F.r_div_scalar({v} * {v} + 1, {s})",
        "F.add_scalar({v}, {s})",
        "F.mul_scalar({v}, {s})",
        "F.abs({a})",
        "F.sin({v})",
        "F.cos({v})",
        "F.tan(0.5 * F.tanh({v}))",
        "F.asin(0.9 * F.sin({v}))",
        "F.acos(0.9 * F.sin({v}))",
        "F.atan({v})",
        "F.sinh(F.tanh({v}))",
        "F.cosh(F.tanh({v}))",
        "F.asinh({v})",
        "F.acosh({v} * {v} + 1.5)",
        "F.atanh(0.8 * F.tanh({v}))",
        "F.exp(F.tanh({v}))",
        "F.log({v} * {v} + 0.5)",
        "F.erf({v})",
        "F.sinc({v} * {v} + 0.5)",
        "F.sigmoid({v})",
        "F.swish({v})",
        "F.tanh({v})",
        "F.relu({a})",
        "F.leaky_relu({a}, alpha=0.3)",
        "F.elu({a}, alpha=0.8)",
        "F.selu({a})",
        "F.relu6(4 * {a})",
        "F.gelu({v})",
        "F.softplus({v}, beta=2.0)",
        "F.softsign({v})",
        "F.tanh_shrink({v})",
        "F.log_sigmoid({v})",
        "F.hard_sigmoid({a})",
        "F.hard_tanh({a})",
        "F.minimum_scalar({a}, 0.3)",
        "F.maximum_scalar({a}, -0.2)",
        "F.clip_by_value({a}, -0.4, 0.6)",
        "F.identity({v})",
        "F.sign({a}) * {v}",
        "F.where(F.greater_scalar({c}, 0.1), {v}, {s} * {v})",
        "F.less_scalar({c}, 0.2) * {v}",
        "nodes.gate({v}, 0.7)",
        "{v} * {v}",  # the same variable twice
        "{v} + {v}",
        "{v} - {v}",
        "F.mul2({v}, {v})",
        "F.sin({v}) / ({v} * {v} + 1)",
        "F.add_n({v}, {v}, F.sin({v}))",
        "F.constant({s}, {v}.shape) * {v}",
        # Functions that write into their input's array, over what nothing else reads.
        "F.relu(F.add2({a}, {v}), inplace=True)",
        "F.leaky_relu(F.sub2({a}, {v} * 0.5), 0.2, inplace=True)",
        "F.add_scalar(F.mul_scalar({v}, {s}), 0.5, inplace=True)",
        "F.mul_scalar(F.add_scalar({v}, {s}), 0.5, inplace=True)",
        "F.add2(F.sin({v}), {v}, inplace=True)",
    ]
]


def binary(p):
    """Two variables of one shape, or of shapes that broadcast; nnabla wants as many axes in both."""
    a = p.pick()
    shape = tuple(1 if p.rng.random() < 0.2 else n for n in p.shape(a))
    b = p.pick(shape=shape)
    if p.rng.random() < 0.2:
        # Not broadcast: `nn.grad` of nnabla gives the exponent a gradient of the result's shape.
        b = p.pick(shape=p.shape(a))
        return p.rng.choice([f"({a} * {a} + 1) ** F.tanh({b})", f"F.pow2({a} * {a} + 0.5, F.tanh({b}))"])
    if p.rng.random() < 0.5:
        a, b = b, a
    return p.rng.choice(
        [
            "{a} + {b}",
            "{a} - {b}",
            "{a} * {b}",
            "{a} / ({b} * {b} + 1)",
            "F.add2({a}, {b})",
            "F.sub2({a}, {b})",
            "F.mul2({a}, {b})",
            "F.div2({a}, F.exp(F.tanh({b})))",
        ]
    ).format(a=a, b=b)


def same_shape(p):
    a = p.pick()
    b = p.pick(shape=p.shape(a))
    return p.rng.choice(
        [
            f"F.maximum2({p.apart(a)}, 0.9 * {b})",
            f"F.minimum2({p.apart(a)}, 0.9 * {b})",
            f"F.add_n({a}, {b}, {a})",
            f"F.mul_n(F.sigmoid({a}), F.sigmoid({b}), 0.5 + F.sigmoid({a}))",
            f"F.squared_error({a}, {b} + 1)",
            f"F.absolute_error({p.apart(a)}, 0.9 * {b})",
            f"F.huber_loss({p.apart(a)}, 0.9 * {b}, 0.6)",
            f"F.epsilon_insensitive_loss({p.apart(a)}, 0.9 * {b}, 0.2)",
            f"F.atan2({a}, {b} * {b} + 0.5)",
            f"F.sigmoid_cross_entropy({a}, F.greater_scalar({p.const(p.shape(a))}, 0))",
            f"F.binary_cross_entropy(F.sigmoid({a}), {p.const(p.shape(a), 0.1, 0.9)})",
            f"F.where(F.greater({p.const(p.shape(a))}, {p.const(p.shape(a))}), {a}, {b})",
            f"nodes.mix({a}, {b}) -> ->",
            f"nodes.mix({a}, {a}) -> ->",
        ]
    )


def with_array(p):
    a = p.pick()
    c = p.const(p.shape(a))
    return p.rng.choice(["{a} * {c}", "{c} * {a}", "{c} - {a}", "{a} / ({c} + 2)", "{a} + {c}"]).format(a=a, c=c)


def reduction(p):
    a = p.pick()
    ndim = len(p.shape(a))
    axis = p.rng.choice([p.axis(a), p.axis(a), tuple(p.rng.sample(range(ndim), p.rng.randint(1, ndim)))])
    keep = p.rng.random() < 0.5
    if isinstance(axis, tuple) and len(axis) == ndim or ndim == 1:
        keep = True  # later lines have use for axes
    name = p.rng.choice(["sum", "mean", "max", "min", "prod", "norm", "cumsum"])
    if name == "cumsum":
        return f"F.cumsum({a}, axis={axis % ndim if isinstance(axis, int) else None}, exclusive={keep})"
    if name == "norm":
        return f"F.norm({p.apart(a)} + 2, p=2, axis={axis}, keepdims={keep})"
    if name in ("max", "min"):
        return f"F.{name}({p.apart(a)}, axis={axis}, keepdims={keep})"
    if name == "prod":
        return f"F.prod(0.5 + F.sigmoid({a}), axis={axis}, keepdims={keep})"
    return f"F.{name}({a}, axis={axis}, keepdims={keep})"


def softmax(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    return f"F.{p.rng.choice(['softmax', 'log_softmax'])}({a}, axis={p.rng.randrange(len(p.shape(a)))})"


def matmul(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    *batch, n, k = p.shape(a)
    m = p.rng.randint(2, 4)
    if not batch:
        return f"0.5 * ({a} @ {p.pick(shape=(k, m))})"
    transa, transb = p.rng.random() < 0.4, p.rng.random() < 0.4
    inner = n if transa else k
    b = p.pick(shape=(*batch, m, inner) if transb else (*batch, inner, m))
    if not transa and not transb and p.rng.random() < 0.5:
        return f"0.5 * ({a} @ {b})"
    return f"0.5 * F.batch_matmul({a}, {b}, transpose_a={transa}, transpose_b={transb})"


def affine(p):
    a = p.pick(min_ndim=2)
    shape = p.shape(a)
    base_axis = p.rng.randint(1, len(shape) - 1)
    size = math.prod(shape[base_axis:])
    if size > 40:
        return None
    out = p.rng.randint(2, 4)
    if p.rng.random() < 0.4:
        name = f"fc{p.number()}"
        return f"PF.affine({a}, {out}, base_axis={base_axis}, name='{name}', with_bias={p.rng.random() < 0.7})"
    w = p.leaf((size, out))
    if p.rng.random() < 0.3:
        return f"0.5 * F.affine({a}, {w}, base_axis={base_axis})"
    return f"0.5 * F.affine({a}, {w}, {p.leaf((out,))}, base_axis={base_axis})"


def embed(p):
    ids = [p.rng.randint(0, 3) for _ in range(5)]
    if p.rng.random() < 0.3:
        return f"PF.embed(integers({ids}), 4, 3, name='embed{p.number()}')"
    return f"F.embed(integers({ids}), {p.leaf((4, p.rng.randint(2, 3)))})"


def reshape(p):
    a = p.pick()
    shape = p.shape(a)
    grown = math.prod(shape) <= 60
    choices = [
        f"F.reshape({a}, (-1, 1), inplace=False)",
        f"F.reshape({a}, {shape[::-1]})",
        f"{a}.reshape({shape[::-1]}, unlink=False)",
        f"F.transpose({a}, {tuple(p.rng.sample(range(len(shape)), len(shape)))})",
        f"F.reshape(F.sin({a}), {(1, *shape)})",
    ]
    if grown:
        before = tuple(p.rng.randint(0, 1) for _ in range(2))
        choices += [
            f"F.broadcast(F.reshape({a}, {(1, *shape)}, inplace=False), {(2, *shape)})",
            f"F.broadcast(F.sum({a}, axis=0, keepdims=True), {shape})",
            f"F.pad({a}, {before}, 'constant', {p.scalar()})",
            f"F.crelu({p.apart(a)}, axis={len(shape) - 1})",
            f"F.celu({p.apart(a)}, alpha=0.7, axis={len(shape) - 1})",
        ]
    return p.rng.choice(choices)


def getitem(p):
    a = p.pick(min_ndim=2)
    shape = p.shape(a)
    n = shape[0]
    key = p.rng.choice(
        [
            str(p.rng.randrange(-n, n)),
            "1:",
            "::-1",
            "..., 0",
            ":, -1:",
            "np.newaxis",
            f"[{p.rng.randrange(n)}, {p.rng.randrange(n)}, {p.rng.randrange(n)}]",
            "slice",
            "gather_nd",
        ]
    )
    if n < 2 and key == "1:":
        return None
    if key == "slice":
        stop = [p.rng.randint(1, m) for m in shape]
        return f"F.slice({a}, start={[0] * len(shape)}, stop={stop}, step={[1] * len(shape)})"
    if key == "gather_nd":
        index = [[p.rng.randrange(m) for _ in range(3)] for m in shape[:2]]
        return f"F.gather_nd({a}, integers({index}))"
    return f"{a}[{key}]"


def scatter(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    n = p.shape(a)[0]
    index = p.rng.sample(range(n + 1), n)
    return f"F.scatter_nd({a}, integers([{index}]), shape={(n + 1, *p.shape(a)[1:])})"


def join(p):
    a = p.pick(max_ndim=3)
    b = p.pick(shape=p.shape(a))
    return p.rng.choice(
        [
            f"F.concatenate({a}, {b}, axis={p.rng.randrange(len(p.shape(a)))})",
            f"F.concatenate({a}, {a}, {b}, axis=0)",
            f"F.stack({a}, {b}, axis={p.rng.randint(0, len(p.shape(a)))})",
            f"F.concatenate(*[{b}, {a}], axis=0)",
        ]
    )


def split(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    shape = p.shape(a)
    axis = p.rng.randrange(len(shape))
    n = shape[axis]
    if n > 4 or n < 2:
        return None
    return f"F.split({a}, axis={axis})" + " ->" * n


def matrices(p):
    k = p.rng.randint(2, 3)
    kind = p.rng.randrange(4)
    if kind == 0:
        return f"F.matrix_diag({p.pick(max_ndim=2)})"
    a = p.pick(shape=(2, k, k))
    if kind == 1:
        return f"F.matrix_diag_part({a})"
    shifted = f"{a} + 3 * F.matrix_diag(F.constant(1, (2, {k})))"
    return f"F.batch_inv({shifted})" if kind == 2 else f"F.reshape(F.batch_det({shifted}), (1, 2))"


def labels_loss(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    n, k, *rest = p.shape(a)
    labels = [p.rng.randint(0, k - 1) for _ in range(n * math.prod(rest))]
    t = f"integers(np.reshape({labels}, {(n, 1, *rest)}))"
    if p.rng.random() < 0.7:
        return f"F.softmax_cross_entropy({a}, {t}, axis=1)"
    return f"F.categorical_cross_entropy(F.softmax({a}, axis=1), {t}, axis=1)"


def other_losses(p):
    a = p.pick(min_ndim=2, max_ndim=2)
    b = p.pick(shape=p.shape(a))
    return f"F.kl_multinomial(F.softmax({a}), F.softmax({b}))"


def one_hot(p):
    a = p.pick(min_ndim=2, max_ndim=2)
    n, k = p.shape(a)
    return f"{a} * F.one_hot(integers({[[p.rng.randrange(k)] for _ in range(n)]}), ({k},))"


def prelu(p):
    a = p.pick(min_ndim=2, max_ndim=4)
    slope = p.leaf((p.shape(a)[1],) if p.rng.random() < 0.5 else ())
    return f"F.prelu({p.apart(a)}, {slope}, base_axis=1)"


def _images(p):
    """Text of a batch of images made of the pool, so that images depend on earlier lines."""
    for name in reversed(p.pool):
        shape = p.shape(name)
        if len(shape) == 4 and shape[1] <= 4 and min(shape[2:]) >= 3 and max(shape) <= CONV_SIZE:
            return name, shape
    name = p.leaf((2, p.rng.choice([2, 4]), CONV_SIZE, CONV_SIZE))
    return name, p.shape(name)


def convolution(p):
    x, (_, c, _, _) = _images(p)
    group = 2 if c % 2 == 0 and p.rng.random() < 0.3 else 1
    out = 2 * p.rng.randint(1, 2)
    k = p.rng.randint(1, 3)
    bias = p.rng.random() < 0.6
    pad, stride = (p.rng.randint(0, 1),) * 2, (p.rng.randint(1, 2),) * 2
    if p.rng.random() < 0.3:
        name = f"conv{p.number()}"
        return (
            f"F.relu(PF.convolution({x}, {out}, ({k}, {k}), pad={pad}, stride={stride}, group={group}, "
            f"with_bias={bias}, name='{name}') + 0.1, inplace=True)"
        )
    if p.rng.random() < 0.6:
        dilation = (2, 2) if k == 2 and p.rng.random() < 0.4 else (1, 1)
        w = p.leaf((out, c // group, k, k))
        b = f", {p.leaf((out,))}" if bias else ""
        return (
            f"F.tanh(0.4 * F.convolution({x}, {w}{b}, pad={pad}, stride={stride}, dilation={dilation}, group={group}))"
        )
    w = p.leaf((c, out // group, k, k))
    b = f", {p.leaf((out,))}" if bias else ""
    return f"F.tanh(0.4 * F.deconvolution({x}, {w}{b}, stride={stride}, group={group}))"


def convolution_nd(p):
    if p.rng.random() < 0.5:
        x, w = p.leaf((2, 2, 6)), p.leaf((3, 2, 3))
        return f"F.tanh(0.4 * F.convolution({x}, {w}, stride=({p.rng.randint(1, 2)},), pad=(1,)))"
    x, w = p.leaf((1, 2, 3, 4, 3)), p.leaf((2, 2, 2, 2, 2))
    return f"F.tanh(0.4 * F.convolution({x}, {w}, {p.leaf((2,))}))"


def pooling(p):
    x, _ = _images(p)
    k, stride, pad = p.rng.randint(2, 3), p.rng.randint(1, 2), p.rng.randint(0, 1)
    border = p.rng.random() < 0.7
    arguments = f"({k}, {k}), stride=({stride}, {stride}), pad=({pad}, {pad}), ignore_border={border}"
    return p.rng.choice(
        [
            f"F.max_pooling({p.apart(x)}, {arguments})",
            f"F.max_pooling({p.apart(x)}, (2, 2))",
            f"F.average_pooling({x}, {arguments}, including_pad={p.rng.random() < 0.5})",
            f"F.sum_pooling({x}, {arguments})",
            f"F.unpooling({x}, (2, 1))",
            f"F.global_average_pooling({x})",
            f"F.interpolate({x}, scale=(2, 2), mode='{p.rng.choice(['nearest', 'linear'])}')",
        ]
    )


def normalization(p):
    x, (_, c, _, _) = _images(p)
    # nnabla crashes where the number of groups does not divide that of the channels.
    beta, gamma = p.leaf((1, c, 1, 1)), p.leaf((1, c, 1, 1))
    mean, variance = p.const((1, c, 1, 1)), p.const((1, c, 1, 1), 0.5, 1.5)
    a = p.apart(x)
    return p.rng.choice(
        [
            f"PF.batch_normalization({a}, name='bn{p.number()}')",
            f"F.batch_normalization({a}, {beta}, {gamma}, {mean}, {variance})",
            f"F.batch_normalization({x}, {beta}, {gamma}, {mean}, {variance}, batch_stat=False)",
            f"F.layer_normalization({a}, {p.leaf((1, *p.shape(x)[1:]))}, {p.leaf((1, *p.shape(x)[1:]))})",
            f"F.instance_normalization({a}, {beta}, {gamma})",
            f"F.group_normalization({a}, {beta}, {gamma}, {2 - c % 2})",
            f"F.weight_standardization({a})",
            f"F.weight_normalization({a} + 2, {p.leaf((p.shape(x)[0],))})",
            f"F.norm_normalization({a} + 2, p=2, axes=[1])",
        ]
    )


def once(p):
    """What nnabla can differentiate, but `nn.grad` of nnabla cannot or does wrongly."""
    a = p.pick(max_ndim=3)
    shape = p.shape(a)
    axis = p.rng.randrange(len(shape))
    choices = [
        f"F.mish({a})",
        f"F.cumprod(0.5 + F.sigmoid({a}), axis={axis})",
        f"F.flip({a}, axes=[{axis}])",
        f"F.shift({a}, shifts={(1,) * len(shape)}, border_mode='nearest')",
        f"F.gather({a}, integers({[p.rng.randrange(shape[axis]) for _ in range(3)]}), axis={axis})",
        f"F.pad({a}, (1, 1), 'reflect')" if shape[-1] > 1 else None,
        f"F.reset_nan({a})",
    ]
    if math.prod(shape) <= 60:
        choices.append(f"F.tile({a}, {tuple(p.rng.randint(1, 2) for _ in shape)})")
    if len(shape) == 2:
        choices += [
            f"F.top_k_data({p.apart(a)}, 1)",
            f"F.einsum({a}, {p.pick(shape=(shape[1], 2))}, equation='ij,jk->ik')",
        ]
    if len(shape) == 3:
        choices.append(f"F.depthwise_convolution({a}, {p.leaf((shape[1], 2))})" if shape[2] > 2 else None)
    return p.rng.choice(choices)


def reads_freed_memory(expression):
    """Whether nnabla's gradient of its gradient, in a dynamic graph, reads what was freed."""
    return any(word in expression for word in (" ** F.", "pow2", "batch_det"))


ONCE = [once]
OPERATIONS = (
    ELEMENTWISE
    + [binary] * 14
    + [same_shape] * 10
    + [with_array] * 3
    + [reduction] * 10
    + [softmax] * 3
    + [matmul] * 5
    + [affine] * 6
    + [embed]
    + [reshape] * 8
    + [getitem] * 6
    + [scatter]
    + [join] * 4
    + [split] * 4
    + [matrices] * 2
    + [labels_loss] * 3
    + [other_losses]
    + [one_hot]
    + [prelu]
    + [convolution] * 6
    + [convolution_nd]
    + [pooling] * 5
    + [normalization] * 5
    + [once] * 20
)
