"""DCGAN by Modules: both of the program's networks, in the loop of its train.py, on synthetic images."""

import os

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    os.environ["MXNET_MKLDNN_ENABLED"] = "0"  # oneDNN fails in the original: "could not create a primitive descriptor"
    os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
    _mxnet.on_cpu()
    _mxnet.streams()
    run.path()
    run.without("cv2")
    from core import config, module
    from core.DataIter import gen_noise_uniform

    images = np.random.RandomState(1).uniform(-1, 1, (8, 1, 64, 64))
    config.batch_size, config.img_shape, config.noise_shape = 2, (2, 1, 28, 28), (2, 100, 1, 1)

    def gan(modules):
        gen, dis = modules()
        _mxnet.perturb(run, gen, dis)

        def discriminate(data, label):
            dis.forward(mx.io.DataBatch([data], label=[label]))
            dis.backward()
            return dis.get_outputs()

        zeros, ones = mx.nd.zeros((2, 1)), mx.nd.ones((2, 1))
        step = 0
        while True:
            gen.forward(mx.io.DataBatch([gen_noise_uniform(config.noise_shape, (-1, 1))], label=None))
            fake = gen.get_outputs()[0]
            loss_fake = discriminate(fake, zeros)[0].asscalar()
            grads = [[g.copyto(g.context) for g in gs] for gs in dis._exec_group.grad_arrays]
            loss_true, sigmoid = discriminate(mx.nd.array(images[2 * step % 8 :][:2]), ones)[:2]
            loss_true, sigmoid = loss_true.asscalar(), sigmoid.asnumpy().mean()
            for new, old in zip(dis._exec_group.grad_arrays, grads, strict=True):
                for a, b in zip(new, old, strict=True):
                    a += b
            dis.update()
            loss_gen = discriminate(fake, ones)[0].asscalar()
            gen.backward(dis.get_input_grads())
            gen.update()
            step += 1
            yield {"fake": loss_fake, "true": loss_true, "sigmoid": sigmoid, "gen": loss_gen}

    yield from run.together(fcn=gan(module.get_fcn_modules), lenet5=gan(module.get_lenet5_modules))
