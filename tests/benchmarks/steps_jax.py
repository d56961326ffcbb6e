"""The same training steps in JAX: each is one jitted function of parameters and optimizer states."""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.benchmarks.worker import BATCHES, serve

random = np.random.RandomState(0)


def floats(*shape):
    return jnp.asarray(random.rand(*shape), jnp.float32)


def labels(n_classes, *shape):
    return jnp.asarray(random.randint(0, n_classes, shape))


def weight(*shape):
    """Normal numbers divided by the square root of the number of inputs."""
    return jnp.asarray(random.randn(*shape) / np.sqrt(np.prod(shape[:-1])), jnp.float32)


def cross_entropy(y, t):
    return -jnp.take_along_axis(jax.nn.log_softmax(y), t[..., None], -1).mean()


def adam(rate=1e-3, beta1=0.9, beta2=0.999):
    """(the states for parameters, the update: parameters, gradients, states -> new parameters, new states)."""

    def start(p):
        zeros = jax.tree.map(jnp.zeros_like, p)
        return zeros, zeros, jnp.float32(0)

    def update(p, g, state):
        m, v, n = state
        n = n + 1
        m = jax.tree.map(lambda a, b: beta1 * a + (1 - beta1) * b, m, g)
        v = jax.tree.map(lambda a, b: beta2 * a + (1 - beta2) * b * b, v, g)
        scale = rate * jnp.sqrt(1 - beta2**n) / (1 - beta1**n)
        return jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), p, m, v), (m, v, n)

    return start, update


def momentum(rate, factor=0.9):
    def update(p, g, v):
        v = jax.tree.map(lambda v, g: factor * v - rate * g, v, g)
        return jax.tree.map(jnp.add, p, v), v

    return (lambda p: jax.tree.map(jnp.zeros_like, p)), update


def clipped_descent(rate, most):
    """Gradient descent whose gradient has at most the norm `most`."""

    def update(p, g, state):
        norm = jnp.sqrt(sum(jnp.sum(a * a) for a in jax.tree.leaves(g)))
        return jax.tree.map(lambda p, g: p - rate * jnp.minimum(1, most / norm) * g, p, g), state

    return (lambda p: ()), update


def training_step(parameters, loss, optimizer):
    start, update = optimizer
    state = [parameters, start(parameters)]

    @jax.jit
    def whole(p, s):
        value, g = jax.value_and_grad(loss)(p)
        return value, *update(p, g, s)

    def step():
        value, *state[:] = whole(*state)
        jax.block_until_ready((value, state))

    return step


def mlp(n_in, n_units, n_out, batchsize):
    sizes = [(n_in, n_units), (n_units, n_units), (n_units, n_out)]
    parameters = [(weight(*size), jnp.zeros(size[1])) for size in sizes]
    x, t = floats(batchsize, n_in), labels(n_out, batchsize)

    def loss(p):
        h = x
        for w, b in p[:-1]:
            h = jax.nn.relu(h @ w + b)
        w, b = p[-1]
        return cross_entropy(h @ w + b, t)

    return training_step(parameters, loss, adam())


def convolution(x, w, stride=1):
    """Images (batch, height, width, channels), padded so that a stride of 1 keeps their size."""
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pooling(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cnn():
    parameters = {
        "conv1": weight(3, 3, 1, 16),
        "bias1": jnp.zeros(16),
        "gamma": jnp.ones(16),
        "beta": jnp.zeros(16),
        "conv2": weight(3, 3, 16, 32),
        "bias2": jnp.zeros(32),
        "w": weight(7 * 7 * 32, 10),
        "b": jnp.zeros(10),
    }
    x, t = floats(32, 28, 28, 1), labels(10, 32)

    def loss(p):
        h = convolution(x, p["conv1"]) + p["bias1"]
        mean, variance = h.mean((0, 1, 2)), h.var((0, 1, 2))
        h = (h - mean) * lax.rsqrt(variance + 1e-5) * p["gamma"] + p["beta"]
        h = max_pooling(jax.nn.relu(h))
        h = max_pooling(jax.nn.relu(convolution(h, p["conv2"]) + p["bias2"]))
        return cross_entropy(h.reshape(32, -1) @ p["w"] + p["b"], t)

    return training_step(parameters, loss, momentum(0.01))


def lstm_lm():
    vocabulary, units, length, batch = 200, 64, 20, 16
    parameters = {
        "embed": weight(vocabulary, units),
        "upward": weight(units, 4 * units),
        "lateral": weight(units, 4 * units),
        "bias": jnp.zeros(4 * units),
        "w": weight(units, vocabulary),
        "b": jnp.zeros(vocabulary),
    }
    xs, ts = labels(vocabulary, length, batch), labels(vocabulary, length, batch)

    def loss(p):
        def cell(state, x):
            h, c = state
            gates = p["embed"][x] @ p["upward"] + h @ p["lateral"] + p["bias"]
            i, f, a, o = jnp.split(gates, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(a)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((batch, units))
        _, hs = lax.scan(cell, (zeros, zeros), xs)
        return length * cross_entropy(hs @ p["w"] + p["b"], ts)

    return training_step(parameters, loss, clipped_descent(0.1, 5.0))


def wgan_gp():
    parameters = {
        "conv1": weight(4, 4, 3, 16),
        "bias1": jnp.zeros(16),
        "conv2": weight(4, 4, 16, 32),
        "bias2": jnp.zeros(32),
        "w": weight(8 * 8 * 32, 1),
        "b": jnp.zeros(1),
    }
    images = floats(16, 32, 32, 3)

    def critic(p, x):
        h = jax.nn.leaky_relu(convolution(x, p["conv1"], 2) + p["bias1"], 0.2)
        h = jax.nn.leaky_relu(convolution(h, p["conv2"], 2) + p["bias2"], 0.2)
        return h.reshape(16, -1) @ p["w"] + p["b"]

    def loss(p):
        g = jax.grad(lambda x: critic(p, x).sum())(images)
        norm = jnp.sqrt((g * g).sum((1, 2, 3)))
        return ((norm - 1) ** 2).mean() + critic(p, images).mean()

    return training_step(parameters, loss, adam(1e-4, 0.0, 0.9))


if __name__ == "__main__":
    serve(
        {
            "mlp_tiny": lambda: mlp(32, 64, 10, 16),
            "mlp_mnist": lambda: mlp(784, 1000, 10, 100),
            "cnn": cnn,
            "lstm_lm": lstm_lm,
            "wgan_gp": wgan_gp,
            **{f"batch {n}": lambda n=n: mlp(784, 1000, 10, n) for n in BATCHES},
        }
    )
