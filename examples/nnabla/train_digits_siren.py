#!/usr/bin/env python
"""Learns an image only from its gradients, by a network of sines (Sitzmann et al., "Implicit Neural Representations
with Periodic Activation Functions").

The sine is a user-defined function: numpy computes it, and `nn.grad` uses its registered backward function for the
derivatives of the network with respect to the coordinates.
"""

import numpy as np

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
from nnabla.backward_functions import register
from nnabla.function import PythonFunction
from nnabla.initializer import UniformInitializer

import digits
import options


class ScaledSine(PythonFunction):
    """sin(omega * x)"""

    def __init__(self, omega, ctx=None):
        super(ScaledSine, self).__init__(ctx)
        self.omega = omega

    @property
    def name(self):
        return "ScaledSine"

    @property
    def args(self):
        return {"omega": self.omega}

    def min_outputs(self):
        return 1

    def grad_depends_output_data(self, i, o):
        return False

    def grad_depends_input_data(self, i, j):
        return True

    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)

    def forward_impl(self, inputs, outputs):
        outputs[0].d = np.sin(self.omega * inputs[0].d)

    def backward_impl(self, inputs, outputs, propagate_down, accum):
        if not propagate_down[0]:
            return
        gx = outputs[0].g * self.omega * np.cos(self.omega * inputs[0].d)
        if accum[0]:
            inputs[0].g += gx
        else:
            inputs[0].g = gx


def scaled_sine_backward(grad_inputs, inputs, input_shapes, outputs, output_shapes, omega):
    x = inputs[0]
    dy = grad_inputs[0]
    # cos(t) = sin(t + pi / 2), computed by the same function, so that there are derivatives of any order
    return omega * dy * scaled_sine(x + np.pi / 2 / omega, omega)


register("ScaledSine", scaled_sine_backward)


def scaled_sine(x, omega):
    return ScaledSine(omega)(x)


def siren(x, units, layers, omega):
    h = x
    for i in range(layers):
        fan_in = h.shape[1]
        lim = 1 / fan_in if i == 0 else np.sqrt(6 / fan_in) / omega
        init = UniformInitializer((-lim, lim))
        h = scaled_sine(PF.affine(h, units, w_init=init, b_init=init, name="layer%d" % i), omega)
    lim = np.sqrt(6 / units) / omega
    return PF.affine(h, 1, w_init=UniformInitializer((-lim, lim)), name="out")


def coordinates(n):
    axis = np.linspace(-1, 1, n)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.float32)


def show(image):
    scaled = (image - image.min()) / (np.ptp(image) + 1e-6)
    for row in scaled:
        print("".join(" .:-=+*#%@"[min(int(p * 10), 9)] * 2 for p in row))


def main():
    p = options.parser("an image learned from its gradients", max_iter=300, learning_rate=0.002)
    p.add_argument("--digit", type=int, default=9, help="number of the image")
    p.add_argument("--units", type=int, default=32)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--omega", type=float, default=8.0)
    args = p.parse_args()
    options.start(args)
    rng = np.random.RandomState(args.seed)

    image = digits.load()[0][args.digit, 0]
    xy = coordinates(8)
    target = np.stack(np.gradient(image, 2 / 7), axis=-1).reshape(-1, 2)

    x = nn.Variable((args.batch_size, 2), need_grad=True)
    t = nn.Variable((args.batch_size, 2))
    y = siren(x, args.units, args.layers, args.omega)
    (grad,) = nn.grad([y], [x])
    loss = F.mean(F.sum(F.squared_error(grad, t), axis=1))
    loss.persistent = True
    solver = S.Adam(args.learning_rate)
    solver.set_parameters(nn.get_parameters())

    log = options.Log(args, "loss")
    for i in range(args.max_iter):
        index = rng.randint(0, len(xy), args.batch_size)
        x.d, t.d = xy[index], target[index]
        loss.forward(clear_no_need_grad=True)
        solver.zero_grad()
        loss.backward(clear_buffer=True)
        solver.update()
        log.add(i, loss=loss.d)

    everywhere = nn.Variable.from_numpy_array(coordinates(16))
    drawn = siren(everywhere, args.units, args.layers, args.omega)
    drawn.forward(clear_buffer=True)
    show(drawn.d.reshape(16, 16))
    log.finish(args)


if __name__ == "__main__":
    main()
