"""VAE M1 and M2 with their own training steps, on synthetic binary images; Python 2 and Chainer 1."""

import _chainer
import _chainer1
import numpy as np


def train(run):
    _chainer1.install()
    _chainer.numpy_for_cupy()
    run.path()
    run.sources(run.python2)
    run.without("pylab", "sklearn", "sklearn.preprocessing")
    import util
    import vae_m1
    import vae_m2

    rng = np.random.RandomState(1)
    images = (rng.uniform(size=(60, 36)) < 0.4).astype(run.dtype)
    labels = rng.randint(0, 4, 60)

    def m1(kind):
        conf = vae_m1.Conf()
        conf.ndim_x, conf.ndim_z, conf.gpu_enabled = 36, 3, False
        conf.encoder_hidden_units = conf.decoder_hidden_units = [20, 16]
        vae = kind(conf)
        run.perturb(_chainer.arrays(vae.encoder, vae.decoder))
        while True:
            yield {"loss": vae.train(util.sample_x_variable(10, 36, images, gpu_enabled=False))}

    def m2(kind):
        conf = vae_m2.Conf()
        conf.ndim_x, conf.ndim_y, conf.ndim_z, conf.gpu_enabled = 36, 4, 3, False
        conf.encoder_xy_z_hidden_units = conf.encoder_x_y_hidden_units = conf.decoder_hidden_units = [20, 16]
        vae = kind(conf)
        run.perturb(_chainer.arrays(vae.encoder_xy_z, vae.encoder_x_y, vae.decoder))
        while True:
            x, y, ids = util.sample_x_and_label_variables(10, 36, 4, images, labels, gpu_enabled=False)
            unlabeled = util.sample_x_variable(10, 36, images, gpu_enabled=False)
            labeled, rest = vae.train(x, y, ids, unlabeled)
            yield {"labeled": labeled, "unlabeled": rest, "classifier": vae.train_classification(x, ids)}

    yield from run.together(
        m1=m1(vae_m1.BernoulliM1VAE),
        m1g=m1(vae_m1.GaussianM1VAE),
        m2=m2(vae_m2.BernoulliM2VAE),
        m2g=m2(vae_m2.GaussianM2VAE),
    )
