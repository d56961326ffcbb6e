"""What the lines of a program can be: each function draws one expression, or None if it has nothing to offer.

` ->` behind an expression, repeated, says how many results it has. A function whose derivative jumps is
applied to arrays moved apart by a constant, so that no result hangs on a tie. What is left out, and why, is
said in tests/mxnet/test_random_programs.py.
"""

import math

from tests.random_programs.mxnet.images import convolution, convolution_1d, normalization, pooling


def _unary(template):
    """An elementwise function of one array; {v} is the array, {a} the same moved away from ties, {c} a
    constant of its shape."""

    def operation(p):
        name = p.pick()
        a = p.apart(name) if "{a}" in template else ""
        c = p.const(p.shape(name)) if "{c}" in template else ""
        return template.format(v=name, a=a, c=c, s=p.scalar())

    return operation


# What MXNet differentiates twice.
TWICE = [
    "{v} + {s}",
    "{v} - {s}",
    "nd.sin({v})",
    "nd.cos({v})",
    "nd.tan(nd.tanh({v}))",
    "nd.sinh(nd.tanh({v}))",
    "nd.cosh(nd.tanh({v}))",
    "nd.tanh({v})",
    "nd.arcsin(nd.sin(nd.tanh({v})))",
    "nd.arccos(nd.sin(nd.tanh({v})))",
    "nd.arctan({v})",
    "nd.arctanh(nd.sin(nd.tanh({v})))",
    "nd.exp(nd.tanh({v}))",
    "nd.expm1(nd.tanh({v}))",
    "nd.log(nd.square({v}) + 0.5)",
    "nd.log1p(nd.square({v}))",
    "nd.log2(nd.square({v}) + 0.5)",
    "nd.log10(nd.square({v}) + 0.5)",
    "nd.square({v})",
    "nd.sqrt(nd.square({v}) + 0.5)",
    "nd.cbrt(nd.square({v}) + 0.5)",
    "nd.rsqrt(nd.square({v}) + 0.5)",
    "nd.rcbrt(nd.square({v}) + 0.5)",
    "nd.reciprocal(nd.square({v}) + 1)",
    "nd.sigmoid({v})",
    "nd.relu({a})",
    "nd.abs({a})",
    "nd.identity({v})",
    "nd.elemwise_add({v}, {v})",
    "nd.elemwise_add({v}, nd.sin({v}))",
    "nd.add_n({v}, nd.cos({v}), {v})",
    "nd.contrib.div_sqrt_dim({v})",
    "{v}.sin()",
    "{v}.tanh()",
    "{v}.square()",
]
ONCE = [
    "-{v}",
    "{v} * {s}",
    "{s} * {v}",
    "{s} + {v}",
    "{s} - {v}",
    "{v} / {s}",
    "{s} / ({v} * {v} + 1)",
    "{v} ** 2",
    "nd.tanh({v}) ** 3",
    "({v} * {v} + 0.5) ** -1.5",
    "2.0 ** nd.tanh({v})",
    "nd.power({v} * {v} + 0.5, nd.sigmoid({v}))",
    "abs({a})",
    "nd.arcsinh({v})",
    "nd.arccosh({v} * {v} + 1.5)",
    "nd.arctanh(0.8 * nd.tanh({v}))",
    "nd.degrees(nd.tanh({v})) / 50",
    "nd.radians({v})",
    "nd.erf({v})",
    "nd.erfinv(0.8 * nd.tanh({v}))",
    "nd.gamma(1 + nd.sigmoid({v}))",
    "nd.gammaln({v} * {v} + 0.5)",
    "nd.softsign({v})",
    "nd.hard_sigmoid({a})",
    "nd.negative({v})",
    "nd.smooth_l1(2 * {a}, scalar=1.0)",
    "nd.clip({a}, -0.4, 0.6)",
    "{a}.clip(-0.5, 0.5)",
    "nd.maximum({a}, 0.3)",
    "nd.minimum({a}, -0.2)",
    "nd.sign({a}) * {v}",
    "nd.floor(3 * {a}) + {v}",
    "nd.ceil(3 * {a}) - {v}",
    "nd.round(3 * {a}) * {v}",
    "nd.rint(3 * {a}) * {v}",
    "nd.fix(3 * {a}) + {v}",
    "nd.trunc(3 * {a}) + {v}",
    "nd.BlockGrad({v}) * {v}",
    "nd.stop_gradient(nd.sin({v})) + {v}",
    "{v}.detach() * {v}",
    "({c} > 0.1) * {v}",
    "{v} * ({c} <= {s})",
    "nd.where({c} > 0.1, {v}, {s} * {v})",
    "nd.where({c} < 0.3, {v}, nd.sin({v}))",
    "nd.Activation({v}, act_type='tanh')",
    "nd.Activation({v}, act_type='sigmoid')",
    "nd.Activation({v}, act_type='softrelu')",
    "nd.Activation({v}, act_type='softsign')",
    "nd.Activation({a}, 'relu')",
    "nd.LeakyReLU({a}, act_type='leaky', slope=0.3)",
    "nd.LeakyReLU({a}, act_type='elu', slope=0.8)",
    "nd.LeakyReLU({a}, act_type='selu')",
    "nd.LeakyReLU({v}, act_type='gelu')",
    "{v} * {v}",  # the same array twice
    "{v} + {v}",
    "{v} - {v}",
    "{v} / ({v} * {v} + 1)",
    "nd.elemwise_mul({v}, nd.sin({v}))",
    "nd.sin({v}) / ({v} * {v} + 1)",
    "nd.ElementWiseSum({v}, {v}, nd.sin({v}))",
    "nd.zeros_like({v}) + {v}",
    "nd.ones_like({v}) * {v}",
    "{v}.zeros_like() - {v}",
    "nd.full({v}.shape, {s}, dtype={v}.dtype) * {v}",
    "{v}.copy()",
    "{v}.astype('float64').astype({v}.dtype)",
    "nd.cast(nd.cast({v}, 'float32'), dtype={v}.dtype)",
    "nd.exp({v}.sigmoid())",
    "nd.log({v}.exp() + 1)",
    "nd.square(nd.abs({a}))",
    "nd.sqrt({v} ** 2 + 1)",
    "nd.identity({v}) * 2",
]


def binary(p):
    """Two arrays of one shape, or of shapes that broadcast."""
    a = p.pick()
    shape = tuple(1 if p.rng.random() < 0.3 else n for n in p.shape(a))
    b = p.pick(shape=shape)
    if p.rng.random() < 0.5:
        a, b = b, a
    return p.rng.choice(
        [
            "{a} + {b}",
            "{a} - {b}",
            "{a} * {b}",
            "{a} / ({b} * {b} + 1)",
            "({a} * {a} + 0.5) ** nd.tanh({b})",
            "nd.add({a}, {b})",
            "nd.multiply({a}, {b})",
            "nd.subtract({a}, {b})",
            "nd.broadcast_add({a}, {b})",
            "nd.broadcast_sub({a}, {b})",
            "nd.broadcast_mul({a}, {b})",
            "nd.broadcast_div({a}, nd.exp(nd.tanh({b})))",
            "nd.broadcast_power({a} * {a} + 0.5, nd.tanh({b}))",
            "nd.broadcast_plus({a}, {b})",
            "nd.broadcast_hypot({a}, {b} * {b} + 0.5)",
            "nd.broadcast_minus({a}, {b})",
        ]
    ).format(a=a, b=b)


def same_shape(p):
    a = p.pick()
    b = p.pick(shape=p.shape(a))
    c, d = p.const(p.shape(a)), p.const(p.shape(a))
    return p.rng.choice(
        [
            f"nd.maximum({p.apart(a)}, 0.9 * {b})",
            f"nd.minimum({p.apart(a)}, 0.9 * {b})",
            f"nd.broadcast_maximum({p.apart(a)}, 0.9 * {b})",
            f"nd.elemwise_add({a}, {b})",
            f"nd.elemwise_sub({a}, {b})",
            f"nd.elemwise_mul({a}, {b})",
            f"nd.elemwise_div({a}, {b} * {b} + 1)",
            f"nd.add_n({a}, {b}, {a})",
            f"nd.where({c} > {d}, {a}, {b})",
            f"nd.where(nd.broadcast_lesser({c}, {d}), {a}, {b})",
            f"nd.broadcast_like({a}, {b})",
        ]
    )


def functions(p):
    """The functions of nodes.py. MXNet's work on arrays that need a gradient only."""
    a = p.pick(active=True)
    if a is None:
        return None
    b = p.pick(active=True, shape=p.shape(a))
    # not on an input itself: MXNet forgets the gradient where the request is 'add'
    x, y = f"nd.tanh({a})", f"nd.sin({b or a})"
    # both outputs in use: for one that is not, MXNet passes what is in the memory
    choices = [f"nd.concat(*nodes.mix({x}, {y}), dim=0)", f"nodes.gate({x}, 0.7)", f"nodes.numpy_cube({x})"]
    return p.rng.choice([*choices, f"nodes.straight({p.apart(a)})"])


def with_array(p):
    a = p.pick()
    c = p.const(p.shape(a))
    return p.rng.choice(["{a} * {c}", "{c} * {a}", "{c} - {a}", "{a} / ({c} + 2)", "{a} + {c}"]).format(a=a, c=c)


def reduction(p):
    a = p.pick()
    ndim = len(p.shape(a))
    axis = p.rng.choice([p.axis(a), p.axis(a), tuple(p.rng.sample(range(ndim), p.rng.randint(1, ndim)))])
    keep = ndim == 1 or isinstance(axis, tuple) and len(axis) == ndim or p.rng.random() < 0.5
    name = p.rng.choice(["sum", "mean", "max", "min", "prod", "norm", "nansum", "sum_axis", "exclude", "method", "all"])
    if name == "all":
        return p.rng.choice([f"{a}.sum()", f"nd.mean({a})", f"{a}.norm() + {a}", f"nd.max({p.apart(a)})"])
    if name == "method":
        return f"{a}.{p.rng.choice(['sum', 'mean', 'nansum'])}(axis={axis}, keepdims={keep})"
    if name == "exclude":
        return f"nd.{p.rng.choice(['sum', 'mean'])}({a}, axis={axis}, keepdims=True, exclude=True)"
    if name == "norm":
        axis = axis if isinstance(axis, int) else axis[:2]
        return f"nd.norm({p.apart(a)} + 2, ord={p.rng.choice([1, 2])}, axis={axis}, keepdims={keep})"
    if name in ("max", "min"):
        return f"nd.{name}({p.apart(a)}, axis={axis}, keepdims={keep})"
    if name == "prod":
        return f"nd.prod(0.5 + nd.sigmoid({a}), axis={axis}, keepdims={keep})"
    return f"nd.{name}({a}, axis={axis}, keepdims={keep})"


def softmax(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    axis = p.axis(a)
    more = p.rng.choice(["", "", ", temperature=1.7"])
    return p.rng.choice(
        [
            f"nd.softmax({a}, axis={axis}{more})",
            f"nd.log_softmax({a}, axis={axis}{more})",
            f"nd.softmin({a}, axis={axis})",
            f"{a}.softmax()",
            f"nd.SoftmaxActivation({a})" if p.dtype == "float32" and len(p.shape(a)) == 2 else f"{a}.log_softmax()",
        ]
    )


def dot(p):
    a = p.pick(min_ndim=2, max_ndim=2)
    n, k = p.shape(a)
    m = p.rng.randint(2, 4)
    ta, tb = p.rng.random() < 0.4, p.rng.random() < 0.4
    inner = n if ta else k
    b = p.pick(shape=(m, inner) if tb else (inner, m))
    if p.rng.random() < 0.3:
        return f"0.5 * nd.linalg.gemm2({a}, {b}, transpose_a={ta}, transpose_b={tb}, alpha=0.7)"
    if not ta and not tb and p.rng.random() < 0.5:
        return f"0.5 * nd.dot({a}, {b})"
    return f"0.5 * nd.dot({a}, {b}, transpose_a={ta}, transpose_b={tb})"


def batch_dot(p):
    a = p.pick(min_ndim=3, max_ndim=3)
    batch, n, k = p.shape(a)
    m = p.rng.randint(2, 3)
    ta, tb = p.rng.random() < 0.4, p.rng.random() < 0.4
    inner = n if ta else k
    b = p.pick(shape=(batch, m, inner) if tb else (batch, inner, m))
    return f"nd.batch_dot({a}, {b}, transpose_a={ta}, transpose_b={tb})"


def dense(p):
    a = p.pick(min_ndim=2)
    flatten = p.rng.random() < 0.5
    shape = p.shape(a)
    size = math.prod(shape[1:]) if flatten else shape[-1]
    if size > 40:
        return None
    out = p.rng.randint(2, 4)
    w = p.leaf((out, size))
    more = f"num_hidden={out}, flatten={flatten}"
    if p.rng.random() < 0.3:
        return f"0.5 * nd.FullyConnected({a}, {w}, {more}, no_bias=True)"
    return f"0.5 * nd.FullyConnected({a}, {w}, {p.leaf((out,))}, {more})"


def embed(p):
    ids = [p.rng.randint(0, 3) for _ in range(4)]
    n = p.rng.randint(2, 3)
    w = p.leaf((4, n))
    return p.rng.choice(
        [
            f"nd.Embedding(nd.array({ids}, dtype=dtype), {w}, input_dim=4, output_dim={n})",
            f"nd.take({w}, nd.array({ids}))",
            f"nd.take({w}, nd.array({[i % n - 1 for i in ids]}), axis=1, mode='wrap')",
            f"nd.take({w}, nd.array({[i + 2 for i in ids]}, dtype='int32'), axis=0)",
            f"{w}.take(nd.array({[ids[:2], ids[2:]]}))",
            f"nd.dot(nd.one_hot(nd.array({ids}), 4, dtype=dtype), {w})",
        ]
    )


def reshape(p):
    a = p.pick()
    shape = p.shape(a)
    axes = tuple(p.rng.sample(range(len(shape)), len(shape)))
    choices = [
        f"nd.reshape({a}, shape={shape[::-1]})",
        f"{a}.reshape({shape[::-1]})",
        f"{a}.reshape((-1, 1))",
        f"{a}.reshape((0, -1))",
        f"nd.reshape({a}, shape=(-2, 1))" if len(shape) < 4 else f"nd.reshape({a}, shape=(-3, -2))",
        f"nd.reshape({a}, shape=(0, -1), reverse=True)" if len(shape) > 1 else f"{a}.reshape(-1)",
        f"nd.transpose({a}, axes={axes})",
        f"{a}.transpose({axes})",
        f"{a}.T",
        f"nd.flatten({a})",
        f"nd.expand_dims({a}, axis={p.rng.randint(0, len(shape))})" if len(shape) < 4 else f"nd.Flatten({a})",
        f"{a}.reshape_like({a})",
        f"nd.reverse({a}, axis={p.rng.randrange(len(shape))})",
        f"nd.flip({a}, axis={p.rng.randrange(len(shape))})",
        f"nd.squeeze({a}.expand_dims(axis=0), axis=0)",
        f"nd.SwapAxis({a}, 0, {len(shape) - 1})",
        f"{a}.swapaxes(0, {len(shape) - 1})",
    ]
    if math.prod(shape) <= 60:
        axis = p.rng.randrange(len(shape))
        choices += [
            f"nd.broadcast_to({a}.expand_dims(axis=0), shape={(2, *shape)})" if len(shape) < 4 else None,
            f"nd.broadcast_axis(nd.sum({a}, axis={axis}, keepdims=True), axis={axis}, size=3)",
            f"nd.tile({a}, reps={tuple(p.rng.randint(1, 2) for _ in shape)})",
            f"nd.repeat({a}, repeats=2, axis={axis})",
            f"{a}.tile(2)",
            f"nd.concat({a}, {a}, dim={axis})",
        ]
        if len(shape) == 4:
            mode = p.rng.choice(["constant", "edge"])
            choices.append(f"nd.pad({a}, mode='{mode}', pad_width=(0, 0, 0, 0, 1, 0, 0, 1))")
    return p.rng.choice(choices)


def twice_shapes(p):
    """Operators on axes that MXNet differentiates twice."""
    a = p.pick()
    shape = p.shape(a)
    axes = tuple(p.rng.sample(range(len(shape)), len(shape)))
    return p.rng.choice([f"nd.transpose({a}, axes={axes})", f"{a}.T", f"{a}.transpose({axes})"])


def twice_binary(p):
    a = p.pick()
    b = p.pick(shape=p.shape(a))
    return p.rng.choice([f"nd.elemwise_add({a}, {b})", f"nd.add_n({a}, {b}, {a})", f"nd.ElementWiseSum({a}, {b})"])


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
            "0:1",
            ":, None",
            "1, 1:",
            f"[{p.rng.randrange(n)}, {p.rng.randrange(n)}, {p.rng.randrange(n)}]",
            f"nd.array([{p.rng.randrange(n)}, {p.rng.randrange(n)}])",
            f"[0, {n - 1}], [0, 0]",
            "slice",
            "slice_axis",
            "slice_like",
            "gather_nd",
            "pick",
        ]
    )
    if n < 2 and "1:" in key or shape[1] < 2 and key == "1, 1:":
        return None
    if key == "slice":
        end = tuple(p.rng.randint(1, m) for m in shape)
        return f"nd.slice({a}, begin={(0,) * len(shape)}, end={end})"
    if key == "slice_axis":
        axis = p.axis(a)
        return f"nd.slice_axis({a}, axis={axis}, begin={p.rng.randrange(shape[axis])}, end=None)"
    if key == "slice_like":
        return f"nd.slice_like({a}, nd.zeros({tuple(p.rng.randint(1, m) for m in shape)}, dtype=dtype))"
    if key == "gather_nd":
        index = [[p.rng.randrange(m) for _ in range(3)] for m in shape[:2]]
        return f"nd.gather_nd({a}, nd.array({index}))"
    if key == "pick":
        index = [p.rng.randrange(shape[1]) for _ in range(n)]
        keep = p.rng.choice(["", ", keepdims=True"])
        return f"nd.pick({a}, nd.array({index}, dtype=dtype), axis=1{keep})" if len(shape) == 2 else None
    return f"{a}[{key}]"


def scatter(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    n = p.shape(a)[0]
    index = p.rng.sample(range(n + 1), n)
    return f"nd.scatter_nd({a}, nd.array([{index}]), shape={(n + 1, *p.shape(a)[1:])})"


def join(p):
    a = p.pick(max_ndim=3)
    b = p.pick(shape=p.shape(a))
    axis = p.rng.randrange(len(p.shape(a)))
    return p.rng.choice(
        [
            f"nd.concat({a}, {b}, dim={axis})",
            f"nd.concat(*[{b}, {a}], dim={axis - len(p.shape(a))})",
            f"nd.Concat({a}, {a}, {b}, dim=0)",
            f"nd.stack({a}, {b}, axis={p.rng.randint(0, len(p.shape(a)))})",
            f"nd.concat({a}, nd.identity({b}), {a}, dim={axis})",
        ]
    )


def split(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    shape = p.shape(a)
    axis = p.rng.randrange(len(shape))
    n = shape[axis]
    if n > 4 or n < 2:
        return None
    kind = p.rng.randrange(3)
    if kind == 0:
        squeeze = p.rng.choice(["", ", squeeze_axis=True"])
        return f"nd.split({a}, num_outputs={n}, axis={axis}{squeeze})" + " ->" * n
    if kind == 1:
        return f"nd.SliceChannel({a}, num_outputs={n}, axis={axis})" + " ->" * n
    return f"nd.split_v2({a}, (1,), axis={axis}) -> ->"


def sorting(p):
    a = p.pick(min_ndim=2, max_ndim=3)
    axis = p.axis(a)
    return p.rng.choice(
        [
            f"nd.topk({p.apart(a)}, axis={axis}, k=1, ret_typ='value')",
            f"nd.sort({p.apart(a)}, axis={axis})",
            f"nd.cumsum({a}, axis={axis % len(p.shape(a))})",
            f"nd.argmax({p.apart(a)}, axis={axis}, keepdims=True) * {a}",
            f"nd.argmin({p.apart(a)}, axis={axis}, keepdims=True) + {a}",
            f"nd.argsort({p.apart(a)}, axis={axis}, dtype=dtype) * {a}",
        ]
    )


def losses(p):
    a = p.pick(min_ndim=2, max_ndim=2)
    n, k = p.shape(a)
    labels = [p.rng.randrange(k) for _ in range(n)]
    t = f"nd.array({labels}, dtype=dtype)"
    choices = [
        f"nd.softmax_cross_entropy({a}, {t})",
        f"-nd.pick(nd.log_softmax({a}), {t}, axis=-1, keepdims=True)",
        f"-(nd.log_softmax({a}, axis=-1) * {p.const((n, k), 0, 1)}).sum(axis=-1, keepdims=True)",
        f"nd.relu({p.apart(a)}) - {a} * {p.const((n, k), 0, 1)} + nd.Activation(-nd.abs({p.apart(a)}), 'softrelu')",
        f"nd.square({a} - {p.const((n, k))}) / 2",
        f"nd.SoftmaxOutput({a}, {t}, grad_scale=0.5)",
        f"nd.LinearRegressionOutput({a}, {p.const((n, k))})",
        f"nd.LogisticRegressionOutput({a}, {p.const((n, k), 0, 1)}, grad_scale=2)",
        f"nd.MakeLoss(nd.square({a}))",
        f"nd.make_loss(nd.sin({a}))",
    ]
    return p.rng.choice(choices if p.stops else choices[:5])


def sequence(p):
    a = p.pick(min_ndim=3, max_ndim=3)
    t, n, _ = p.shape(a)
    length = f"nd.array({[p.rng.randint(1, t) for _ in range(n)]}, dtype=dtype)"
    choices = [
        f"nd.SequenceMask({a}, {length}, use_sequence_length=True, value=0.3)",
        f"nd.SequenceLast({a}, {length}, use_sequence_length=True)",
        f"nd.SequenceReverse({a}, {length}, use_sequence_length=True)",
    ]
    # The last would end MXNet.
    return p.rng.choice(choices if p.stops else [*choices, f"nd.SequenceLast({a})"])


def dropout(p):
    """Dropout that does nothing."""
    return f"nd.Dropout({p.pick()}, p=0.5)" if not p.train_mode else None


def matrices(p):
    a = p.pick(shape=(3, 3))
    positive = f"nd.linalg.syrk({a}) + 2 * nd.eye(3, dtype=dtype)"
    return p.rng.choice(
        [
            f"nd.linalg.potrf({positive})",
            f"nd.linalg.sumlogdiag(nd.linalg.potrf({positive}))",
            f"nd.linalg.trsm(nd.linalg.potrf({positive}), {p.pick(shape=(3, 2))})",
            f"nd.diag({a})",
            f"nd.linalg.extractdiag({a})",
        ]
    )


OPERATIONS = (
    [_unary(template) for template in TWICE + ONCE]
    + [binary] * 16
    + [same_shape] * 10
    + [with_array] * 4
    + [functions] * 8
    + [reduction] * 12
    + [softmax] * 4
    + [dot] * 4
    + [batch_dot] * 2
    + [dense] * 5
    + [embed] * 2
    + [reshape] * 12
    + [getitem] * 9
    + [scatter]
    + [join] * 4
    + [split] * 4
    + [sorting] * 3
    + [losses] * 4
    + [sequence] * 2
    + [convolution] * 5
    + [convolution_1d]
    + [pooling] * 5
    + [normalization] * 5
    + [dropout] * 2
    + [matrices] * 2
)
OPERATIONS_TWICE = [_unary(template) for template in TWICE] + [twice_shapes] * 4 + [twice_binary] * 7 + [batch_dot] * 4
