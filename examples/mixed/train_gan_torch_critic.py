"""A Chainer program for a generative adversarial network whose critic is a torch module.

    python -m compatgrad run examples/mixed/train_gan_torch_critic.py

The generator, the updater, the trainer and both optimizers are Chainer's, as usual (WGAN-GP: Gulrajani et al.,
"Improved Training of Wasserstein GANs"). The critic is a torch.nn.Module that `interop.as_chainer_link` makes a link.
Two gradients are parts of losses, so they are differentiated again: the gradient of the critic with respect to its
images, through the torch module, and the gradient of the critic's value with respect to the generator's noise, through
both networks.
"""

import tempfile

import chainer
import chainer.functions as F
import chainer.links as L
import digits
import numpy as np
import options
import torch
from chainer import training
from chainer.training import extensions

from compatgrad import interop

COLUMNS = ["critic/loss", "critic/penalty", "critic/distance", "generator/loss", "generator/roughness", "energy"]


class Generator(chainer.Chain):
    """Images (n, 1, 8, 8) from noise (n, n_hidden)."""

    def __init__(self, n_hidden, width):
        super().__init__()
        self.n_hidden, self.width = n_hidden, width
        with self.init_scope():
            self.l0 = L.Linear(n_hidden, 2 * 2 * 2 * width, nobias=True)
            self.bn0 = L.BatchNormalization(2 * 2 * 2 * width)
            self.dc1 = L.Deconvolution2D(2 * width, width, 4, 2, 1, nobias=True)
            self.bn1 = L.BatchNormalization(width)
            self.dc2 = L.Deconvolution2D(width, 1, 4, 2, 1)

    def make_hidden(self, batchsize):
        return np.random.normal(size=(batchsize, self.n_hidden)).astype(np.float32)

    def forward(self, z):
        h = F.relu(self.bn0(self.l0(z)))
        h = F.reshape(h, (len(z), 2 * self.width, 2, 2))
        h = F.relu(self.bn1(self.dc1(h)))
        return F.sigmoid(self.dc2(h))


class Critic(torch.nn.Sequential):
    """A value (n, 1) for each image (n, 1, 8, 8)."""

    def __init__(self, width):
        super().__init__(
            torch.nn.Conv2d(1, width, 4, stride=2, padding=1),
            torch.nn.SiLU(),
            torch.nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
            torch.nn.GroupNorm(1, 2 * width),  # per image, because the penalty is per image
            torch.nn.SiLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(2 * width * 2 * 2, 1, bias=False),  # only differences of values matter
        )


def gradient_penalty(critic, x):
    """Mean square of the difference between one and the norm of the critic's gradient at the images `x`."""
    x = chainer.Variable(x)
    (gradient,) = chainer.grad([critic(x)], [x], enable_double_backprop=True)
    norm = F.sqrt(F.sum(F.square(gradient), axis=(1, 2, 3)) + 1e-8)
    return F.mean_squared_error(norm, np.ones_like(norm.array))


def value_and_roughness(generator, critic, z):
    """The critic's mean value for images generated from the noise `z`, and its mean squared gradient with respect to
    the noise."""
    z = chainer.Variable(z)
    values = critic(generator(z))
    (gradient,) = chainer.grad([values], [z], enable_double_backprop=True)
    return F.mean(values), F.mean(F.sum(F.square(gradient), axis=1))


class Updater(training.updaters.StandardUpdater):
    """Updates the critic several times, then the generator once."""

    def __init__(self, iterator, optimizers, n_critic, lam, smooth):
        super().__init__(iterator, optimizers)
        self.n_critic, self.lam, self.smooth = n_critic, lam, smooth
        self.generator = optimizers["generator"].target
        self.critic = optimizers["critic"].target

    def update_core(self):
        for _ in range(self.n_critic):
            self.update_critic(self.converter(self.get_iterator("main").next()))
        self.update_generator(self.get_iterator("main").batch_size)

    def update_critic(self, x_real):
        with chainer.no_backprop_mode():
            x_fake = self.generator(self.generator.make_hidden(len(x_real))).array
        distance = F.mean(self.critic(x_real)) - F.mean(self.critic(x_fake))
        eps = np.random.uniform(0, 1, (len(x_real), 1, 1, 1)).astype(np.float32)
        penalty = gradient_penalty(self.critic, eps * x_real + (1 - eps) * x_fake)
        loss = self.lam * penalty - distance
        self.critic.cleargrads()
        loss.backward()
        self.get_optimizer("critic").update()
        chainer.report({"loss": loss, "penalty": penalty, "distance": distance}, self.critic)

    def update_generator(self, batchsize):
        z = self.generator.make_hidden(batchsize)
        value, roughness = value_and_roughness(self.generator, self.critic, z)
        loss = self.smooth * roughness - value
        self.generator.cleargrads()
        loss.backward()
        self.get_optimizer("generator").update()
        chainer.report({"loss": loss, "roughness": roughness}, self.generator)


def energy_distance(x, y):
    """The energy distance of two samples (Székely & Rizzo): about zero for samples of the same distribution."""

    def mean_distance(a, b):
        return np.sqrt(np.square(a[:, None] - b[None]).sum(2)).mean()

    x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
    return 2 * mean_distance(x, y) - mean_distance(x, x) - mean_distance(y, y)


def images_of(generator, n):
    """Images from the trained generator, in test mode (with the running statistics) and without recording."""
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return generator(generator.make_hidden(n)).array


def trainer_of(args, x_train, x_test, folder):
    """Returns the trainer of both networks, and the generator."""
    generator = Generator(args.hidden, args.width)
    critic = interop.as_chainer_link(Critic(args.width))
    optimizers = {}
    for name, link in [("generator", generator), ("critic", critic)]:
        optimizers[name] = chainer.optimizers.Adam(alpha=args.lr, beta1=0.0, beta2=0.9).setup(link)
    iterator = chainer.iterators.SerialIterator(x_train, args.batchsize)
    updater = Updater(iterator, optimizers, args.n_critic, args.lam, args.smooth)

    @training.make_extension(trigger=(1, "epoch"), priority=training.PRIORITY_WRITER)
    def evaluate(trainer):
        chainer.report({"energy": energy_distance(images_of(generator, len(x_test)), x_test)})

    trainer = training.Trainer(updater, (args.epoch, "epoch"), out=folder)
    trainer.extend(evaluate)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(["epoch", *COLUMNS, "elapsed_time"]))
    if args.out:
        trainer.extend(extensions.snapshot(filename="snapshot"))
        trainer.extend(extensions.snapshot_object(generator, "generator.npz"))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    return trainer, generator


def main():
    p = options.parser(__doc__, epoch=20, batchsize=50, lr=0.001)
    p.add_argument("--n-critic", "-n", type=int, default=3, help="updates of the critic per update of the generator")
    p.add_argument("--hidden", type=int, default=32, help="dimension of the noise")
    p.add_argument("--width", "-w", type=int, default=16, help="channels of the widest images")
    p.add_argument("--lam", type=float, default=10.0, help="weight of the critic's gradient penalty")
    p.add_argument("--smooth", type=float, default=0.1, help="weight of the squared gradient with respect to the noise")
    p.add_argument("--out", "-o", metavar="FOLDER", help="keep the log, the generator and a snapshot here")
    p.add_argument("--resume", "-r", metavar="SNAPSHOT", help="continue from this snapshot")
    args = p.parse_args()
    options.start(args)
    (x_train, _), (x_test, _) = digits.arrays()

    with tempfile.TemporaryDirectory() as temporary:
        trainer, generator = trainer_of(args, x_train, x_test, args.out or temporary)
        trainer.run()
    digits.show(images_of(generator, 8))
    if args.plot:
        log = trainer.get_extension("LogReport").log
        options.plot(args.plot, {name: [entry[name] for entry in log] for name in COLUMNS})


if __name__ == "__main__":
    main()
