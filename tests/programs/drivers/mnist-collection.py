"""The MNIST examples on random digits: LeNet, ResNet, siamese network, VAE, virtual adversarial training and DCGAN."""

import _nnabla
import nnabla as nn
import nnabla.functions as F
import nnabla.solvers as S
import numpy as np

BATCH = 8


def train(run):
    run.path()
    import classification
    import dcgan
    import siamese
    import vae
    import vat

    rng = np.random.RandomState(1)

    def digits(*shape):
        x = nn.Variable((*(shape or (BATCH,)), 1, 28, 28))
        return x, lambda scale: rng.randint(0, 256, x.shape) * scale

    def classifier(predict, name):
        image, draw = digits()
        label = nn.Variable((BATCH, 1))
        with _nnabla.building(run, name):
            y = predict(image + 0, test=False, aug=True)
            solver = S.Adam(1e-3)
            solver.set_parameters(nn.get_parameters())

        def feed():
            image.d, label.d = draw(1), rng.randint(0, 10, label.shape)

        yield from _nnabla.training(F.mean(F.softmax_cross_entropy(y, label)), solver, feed, y=y)

    def twins():
        (a, draw), (b, _), label = digits(), digits(), nn.Variable((BATCH,))
        with _nnabla.building(run, "siamese"):
            distance = siamese.mnist_lenet_siamese(a, b, test=False)
            solver = S.Adam(1e-3)
            solver.set_parameters(nn.get_parameters())

        def feed():
            a.d, b.d, label.d = draw(1 / 255), draw(1 / 255), rng.randint(0, 2, label.shape)

        loss = F.mean(siamese.contrastive_loss(distance, label, 1.0))
        yield from _nnabla.training(loss, solver, feed, 1e-4, distance=distance)

    def variational():
        x, draw = digits()
        with _nnabla.building(run, "vae"):
            loss = vae.vae(x, (50,), test=False)
            solver = S.Adam(3e-4)
            solver.set_parameters(nn.get_parameters())

        def feed():
            x.d = draw(1)

        yield from _nnabla.training(loss, solver, feed)

    def adversarial():
        (xl, draw), (xu, _), (noise, _), t = digits(), digits(), digits(), nn.Variable((BATCH, 1))
        with _nnabla.building(run, "vat"):
            loss = F.mean(F.softmax_cross_entropy(vat.mlp_net(xl, 100, 10), t))
            yu = vat.mlp_net(xu, 100, 10)
            still = yu.get_unlinked_variable(need_grad=False)
            noise.need_grad = True
            r = noise / (F.sum(noise**2, [1, 2, 3], keepdims=True)) ** 0.5
            r.persistent = True
            far, near = vat.mlp_net(xu + 10.0 * r, 100, 10), vat.mlp_net(xu + 1.5 * r, 100, 10)
            search, smooth = F.mean(vat.distance(still, far)), F.mean(vat.distance(still, near))
            solver = S.Adam(2e-3)
            solver.set_parameters(nn.get_parameters())
        while True:
            xl.d, t.d, xu.d = draw(1 / 255), rng.randint(0, 10, t.shape), draw(1 / 255)
            _nnabla.step(loss, solver)
            yu.forward(clear_buffer=True)
            noise.d = rng.normal(size=xu.shape)
            r.grad.zero()
            search.forward(clear_no_need_grad=True)
            search.backward(clear_buffer=True)
            noise.data.copy_from(r.grad)
            _nnabla.step(smooth, solver)
            yield {"loss": loss.d, "smooth": smooth.d}

    def gan():
        z, (x, draw) = nn.Variable((BATCH, 100, 1, 1)), digits()
        with _nnabla.building(run, "dcgan"):
            fake = dcgan.generator(z, maxh=32)
            fake.persistent = True
            guess = dcgan.discriminator(fake, maxh=32)
            loss_gen = F.mean(F.sigmoid_cross_entropy(guess, F.constant(1, guess.shape)))
            shown = fake.get_unlinked_variable(need_grad=True)
            guess, real = dcgan.discriminator(shown, maxh=32), dcgan.discriminator(x, maxh=32)
            loss_dis = F.mean(F.sigmoid_cross_entropy(guess, F.constant(0, guess.shape)))
            loss_dis += F.mean(F.sigmoid_cross_entropy(real, F.constant(1, real.shape)))
            solvers = []
            for scope in ("gen", "dis"):
                solvers.append(S.Adam(2e-4, beta1=0.5))
                with nn.parameter_scope(scope):
                    solvers[-1].set_parameters(nn.get_parameters())
        while True:
            x.d, z.d = draw(1 / 255) - 0.5, rng.randn(*z.shape)
            for loss, solver in zip((loss_gen, loss_dis), solvers, strict=True):
                _nnabla.step(loss, solver, 1e-4)
            yield {"generator": loss_gen.d, "discriminator": loss_dis.d}

    nn.seed(0)
    yield from run.together(
        lenet=classifier(classification.mnist_lenet_prediction, "lenet"),
        resnet=classifier(classification.mnist_resnet_prediction, "resnet"),
        siamese=twins(),
        vae=variational(),
        vat=adversarial(),
        dcgan=gan(),
    )
