#!/usr/bin/env python
"""WGAN-GP on handwritten digits with static graphs.

The norm of the critic's gradient with respect to its input is part of the critic's loss, so
`nn.grad` adds the gradient to the graph, and `backward` differentiates it.
"""

import numpy as np

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
from nnabla.initializer import NormalInitializer

import digits
import options


def generator(z, maps):
    with nn.parameter_scope("generator"):
        h = F.elu(PF.layer_normalization(PF.affine(z, 2 * maps * 2 * 2, name="fc"), name="ln"))
        h = F.reshape(h, (-1, 2 * maps, 2, 2))
        h = F.interpolate(h, scale=(2, 2), mode="nearest")
        h = F.elu(PF.convolution(h, maps, (3, 3), pad=(1, 1), name="conv1"))
        h = F.interpolate(h, scale=(2, 2), mode="nearest")
        return F.sigmoid(PF.convolution(h, 1, (3, 3), pad=(1, 1), name="conv2"))


def critic(x, maps):
    w_init = NormalInitializer(0.1)
    with nn.parameter_scope("critic"):
        h = PF.convolution(x, maps, (3, 3), pad=(1, 1), w_init=w_init, name="conv1")
        h = F.average_pooling(F.softplus(h), (2, 2))
        h = PF.convolution(h, 2 * maps, (3, 3), pad=(1, 1), w_init=w_init, name="conv2")
        h = F.average_pooling(F.softplus(h), (2, 2))
        return PF.affine(h, 1, with_bias=False, name="fc")


def main():
    p = options.parser("WGAN-GP on the digits of scikit-learn", max_iter=300, learning_rate=0.001)
    p.add_argument("--latent", type=int, default=16, help="dimension of the noise")
    p.add_argument("--maps", type=int, default=12)
    p.add_argument("--n-critic", type=int, default=3, help="updates of the critic per update of the generator")
    p.add_argument("--lambda", dest="lmd", type=float, default=10, help="weight of the gradient penalty")
    args = p.parse_args()
    options.start(args)
    # The iterator shuffles in a separate thread, so it has its own random numbers.
    data = digits.data_iterator(args.batch_size, rng=np.random.RandomState(args.seed))
    rng = np.random.RandomState(args.seed + 1)
    b = args.batch_size

    # generator
    z = nn.Variable((b, args.latent))
    x_fake = generator(z, args.maps)
    x_fake.persistent = True
    loss_gen = -F.mean(critic(x_fake, args.maps))
    loss_gen.persistent = True

    # critic; generated images are its input data
    x_real = nn.Variable((b, 1, 8, 8))
    x_made = x_fake.get_unlinked_variable(need_grad=False)
    eps = nn.Variable((b, 1, 1, 1))
    x_mid = (eps * x_real + (1.0 - eps) * x_made).apply(need_grad=True)
    grads = nn.grad([critic(x_mid, args.maps)], [x_mid])
    norms = [F.sum(g**2.0, axis=(1, 2, 3)) ** 0.5 for g in grads]
    penalty = sum(F.mean((norm - 1.0) ** 2.0) for norm in norms)
    distance = F.mean(critic(x_made, args.maps)) - F.mean(critic(x_real, args.maps))
    loss_critic = distance + args.lmd * penalty
    for v in (penalty, distance, loss_critic):
        v.persistent = True

    solver_gen = S.Adam(args.learning_rate, beta1=0.0, beta2=0.9)
    solver_critic = S.Adam(args.learning_rate, beta1=0.0, beta2=0.9)
    with nn.parameter_scope("generator"):
        solver_gen.set_parameters(nn.get_parameters())
    with nn.parameter_scope("critic"):
        solver_critic.set_parameters(nn.get_parameters())

    log = options.Log(args, "critic", "penalty", "distance", "generator")
    for i in range(args.max_iter):
        x_real.d, _ = data.next()
        z.d = rng.randn(*z.shape)
        eps.d = rng.uniform(size=eps.shape)
        x_fake.forward(clear_no_need_grad=True)
        loss_critic.forward(clear_no_need_grad=True)
        solver_critic.zero_grad()
        loss_critic.backward(clear_buffer=True)
        solver_critic.update()
        log.add(i, critic=loss_critic.d, penalty=penalty.d, distance=distance.d)

        if (i + 1) % args.n_critic == 0:
            z.d = rng.randn(*z.shape)
            loss_gen.forward(clear_no_need_grad=True)
            solver_gen.zero_grad()
            loss_gen.backward(clear_buffer=True)
            solver_gen.update()
            log.add(i, generator=loss_gen.d)
    log.finish(args)


if __name__ == "__main__":
    main()
