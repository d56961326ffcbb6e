#!/usr/bin/env python
"""DCGAN on handwritten digits with a dynamic graph: every function runs when it is called."""

import numpy as np

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S

import digits
import options


def generator(z, maps=32, test=False):
    with nn.parameter_scope("gen"):
        h = F.reshape(z, (z.shape[0], z.size // z.shape[0], 1, 1))
        with nn.parameter_scope("deconv1"):
            h = PF.deconvolution(h, maps, (2, 2), with_bias=False)
            h = F.elu(PF.batch_normalization(h, batch_stat=not test))
        with nn.parameter_scope("deconv2"):
            h = PF.deconvolution(h, maps // 2, (4, 4), pad=(1, 1), stride=(2, 2), with_bias=False)
            h = F.elu(PF.batch_normalization(h, batch_stat=not test))
        return F.tanh(PF.deconvolution(h, 1, (4, 4), pad=(1, 1), stride=(2, 2), name="deconv3"))


def discriminator(x, maps=32, test=False):
    with nn.parameter_scope("dis"):
        with nn.parameter_scope("conv1"):
            h = PF.convolution(x, maps // 2, (4, 4), pad=(1, 1), stride=(2, 2), with_bias=False)
            h = F.elu(PF.batch_normalization(h, batch_stat=not test))
        with nn.parameter_scope("conv2"):
            h = PF.convolution(h, maps, (4, 4), pad=(1, 1), stride=(2, 2), with_bias=False)
            h = F.elu(PF.batch_normalization(h, batch_stat=not test))
        return PF.affine(h, 1, name="affine")


def bce(pred, value):
    return F.mean(F.sigmoid_cross_entropy(pred, F.constant(value, pred.shape)))


def show(images):
    """Draw some digits in the terminal."""
    for row in range(images.shape[2]):
        line = ["".join(" .:-=+*#%@"[int(np.clip((p + 1) * 5, 0, 9))] for p in image[0][row]) for image in images]
        print("  ".join(line))


def main():
    p = options.parser("DCGAN on the digits of scikit-learn", max_iter=400, learning_rate=0.0005)
    p.add_argument("--latent", type=int, default=24, help="dimension of the noise")
    p.add_argument("--maps", type=int, default=32)
    args = p.parse_args()
    options.start(args)
    nn.set_auto_forward(True)

    # The iterator shuffles in a separate thread, so it has its own random numbers.
    data = digits.data_iterator(args.batch_size, rng=np.random.RandomState(args.seed))
    rng = np.random.RandomState(args.seed + 1)

    def noise(n):
        return nn.Variable.from_numpy_array(rng.randn(n, args.latent).astype(np.float32))

    # The first call creates the parameters.
    discriminator(generator(noise(2), args.maps), args.maps)
    solver_gen = S.Adam(args.learning_rate, beta1=0.5)
    solver_dis = S.Adam(args.learning_rate, beta1=0.5)
    with nn.parameter_scope("gen"):
        solver_gen.set_parameters(nn.get_parameters())
    with nn.parameter_scope("dis"):
        solver_dis.set_parameters(nn.get_parameters())

    log = options.Log(args, "generator", "discriminator")
    for i in range(args.max_iter):
        image, _ = data.next()
        real = nn.Variable.from_numpy_array(image * 2 - 1)
        fake = generator(noise(args.batch_size), args.maps)

        # The discriminator learns from a copy that is not connected to the generator.
        pred_fake = discriminator(fake.get_unlinked_variable(need_grad=False), args.maps)
        pred_real = discriminator(real, args.maps)
        loss_dis = bce(pred_real, 1) + bce(pred_fake, 0)
        solver_dis.zero_grad()
        loss_dis.backward(clear_buffer=True)
        solver_dis.update()

        loss_gen = bce(discriminator(fake, args.maps), 1)
        solver_gen.zero_grad()
        loss_gen.backward(clear_buffer=True)
        solver_gen.update()
        log.add(i, generator=loss_gen.d, discriminator=loss_dis.d)

    with nn.no_grad():
        show(generator(noise(8), args.maps, test=True).d)
    log.finish(args)


if __name__ == "__main__":
    main()
