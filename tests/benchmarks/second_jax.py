"""Programs that differentiate twice, in JAX: a gradient penalty, a Hessian-vector product, MAML.

Each step is one jitted function. Images have their channels last, which XLA's convolutions are fastest with.
"""

import jax
import jax.numpy as jnp
from jax import lax

from tests.benchmarks import second
from tests.benchmarks.steps_jax import (
    adam,
    cross_entropy,
    floats,
    labels,
    momentum,
    training_step,
    weight,
)
from tests.benchmarks.worker import serve


def convolution(x, w, stride, pad):
    return lax.conv_general_dilated(
        x, w, (stride, stride), ((pad, pad), (pad, pad)), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def batch_normalization(x, gamma, beta):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gamma + beta, mean, variance


def normal(size):
    return jnp.ones(size), jnp.zeros(size)


def blocks():
    """Of each block of ResNet-18: the channels before and after it, its stride."""
    n_in = 64
    for n_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        yield n_in, n_out, stride
        yield n_out, n_out, 1
        n_in = n_out


def penalty():
    parameters = {
        "stem": (weight(7, 7, 3, 64), *normal(64)),
        "fc": (weight(512, second.CLASSES), jnp.zeros(second.CLASSES)),
    }
    for i, (n_in, n_out, _) in enumerate(blocks()):
        parameters[f"{i} 1"] = weight(3, 3, n_in, n_out), *normal(n_out)
        parameters[f"{i} 2"] = weight(3, 3, n_out, n_out), *normal(n_out)
        if n_in != n_out:
            parameters[f"{i} 3"] = weight(1, 1, n_in, n_out), *normal(n_out)
    x, t = floats(second.BATCH, second.SIDE, second.SIDE, 3), labels(second.CLASSES, second.BATCH)

    def network(p, x):
        running = {}

        def normalized(name, h, stride, pad):
            w, gamma, beta = p[name]
            h, *running[name] = batch_normalization(convolution(h, w, stride, pad), gamma, beta)
            return h

        h = jax.nn.relu(normalized("stem", x, 2, 3))
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
        for i, (n_in, n_out, stride) in enumerate(blocks()):
            inner = normalized(f"{i} 2", jax.nn.relu(normalized(f"{i} 1", h, stride, 1)), 1, 1)
            h = jax.nn.relu(inner + (h if n_in == n_out else normalized(f"{i} 3", h, stride, 0)))
        w, b = p["fc"]
        return h.mean((1, 2)) @ w + b, running

    def loss(p, running):
        def inner(x):
            y, now = network(p, x)
            return cross_entropy(y, t), now

        (value, now), g = jax.value_and_grad(inner, has_aux=True)(x)
        return value + second.PENALTY * (g * g).sum(), jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, running, now)

    start, update = momentum(0.01)
    running = {name: [jnp.zeros(p[1].shape), jnp.ones(p[1].shape)] for name, p in parameters.items() if len(p) == 3}
    state = [parameters, start(parameters), running]

    @jax.jit
    def whole(p, s, running):
        (value, running), g = jax.value_and_grad(loss, has_aux=True)(p, running)
        return value, *update(p, g, s), running

    def step():
        value, *state[:] = whole(*state)
        jax.block_until_ready((value, state))

    return step


def linear(n_in, n_out):
    return weight(n_in, n_out), jnp.zeros(n_out)


def hessian():
    parameters = {
        "embed": weight(second.VOCABULARY, second.UNITS),
        "places": weight(second.LENGTH, second.UNITS),
        "layers": [
            (normal(second.UNITS), linear(second.UNITS, 3 * second.UNITS), linear(second.UNITS, second.UNITS))
            + (normal(second.UNITS), linear(second.UNITS, 4 * second.UNITS), linear(4 * second.UNITS, second.UNITS))
            for _ in range(second.LAYERS)
        ],
        "norm": normal(second.UNITS),
        "out": linear(second.UNITS, second.VOCABULARY),
    }
    x, t = labels(second.VOCABULARY, 2, second.BATCH, second.LENGTH)
    vector = jax.tree.map(lambda p: floats(*p.shape), parameters)

    def norm(p, x):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * p[0] + p[1]

    def affine(p, x):
        return x @ p[0] + p[1]

    def loss(p):
        h = p["embed"][x] + p["places"]
        for norm1, qkv, out, norm2, up, down in p["layers"]:
            q, k, v = jnp.moveaxis(
                affine(qkv, norm(norm1, h)).reshape(second.BATCH, second.LENGTH, 3, second.HEADS, -1), (2, 3), (0, 2)
            )
            weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) * (second.UNITS // second.HEADS) ** -0.5)
            h = h + affine(out, (weights @ v).swapaxes(1, 2).reshape(second.BATCH, second.LENGTH, second.UNITS))
            h = h + affine(down, jax.nn.relu(affine(up, norm(norm2, h))))
        return cross_entropy(affine(p["out"], norm(p["norm"], h)), t)

    @jax.jit
    def product(p, v):
        return jax.jvp(jax.grad(loss), (p,), (v,))[1]  # forward over reverse, which needs least time and memory

    return lambda: jax.block_until_ready(product(parameters, vector))


def maml(parameters, forward, lossfun, tasks, n_steps, together):
    """A step of Adam on the losses after `n_steps` steps of gradient descent in each task. `together`: all tasks run
    as one batch (vmap), not one after the other; both are compiled into one function."""

    def one(p, x, t, new_x, new_t):
        for _ in range(n_steps):
            gradient = jax.grad(lambda p: lossfun(forward(p, x), t))(p)
            p = jax.tree.map(lambda p, g: p - second.INNER_RATE * g, p, gradient)
        return lossfun(forward(p, new_x), new_t)

    def outer(p):
        if together:
            return jax.vmap(one, (None, 0, 0, 0, 0))(p, *tasks).mean()
        return sum(one(p, *task) for task in zip(*tasks, strict=True)) / second.TASKS

    return training_step(parameters, outer, adam())


def sine(n_steps, together=True):
    tasks = tuple(floats(second.TASKS, second.SHOTS, 1) for _ in range(4))

    def forward(p, x):
        for w, b in p[:-1]:
            x = jax.nn.relu(x @ w + b)
        return x @ p[-1][0] + p[-1][1]

    def squares(y, t):
        return ((y - t) ** 2).mean()

    return maml([linear(1, 40), linear(40, 40), linear(40, 1)], forward, squares, tasks, n_steps, together)


def images(n_steps, together=False):
    parameters = [(weight(3, 3, n_in, 64), jnp.zeros(64), *normal(64)) for n_in in (1, 64, 64, 64)]
    parameters.append(linear(64, second.WAYS))
    t = jnp.tile(jnp.arange(second.WAYS), (second.TASKS, 1))
    tasks = floats(second.TASKS, second.WAYS, 28, 28, 1), t, floats(second.TASKS, second.WAYS, 28, 28, 1), t

    def forward(p, h):
        for w, b, gamma, beta in p[:-1]:
            h = jax.nn.relu(batch_normalization(convolution(h, w, 2, 1) + b, gamma, beta)[0])
        w, b = p[-1]
        return h.mean((1, 2)) @ w + b

    return maml(parameters, forward, cross_entropy, tasks, n_steps, together)


if __name__ == "__main__":
    serve(second.programs(penalty, hessian, sine, images))
