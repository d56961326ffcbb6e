"""Bayesian methods: the examples' own loops of SGD, SGLD, distilled SGLD (with an operator in NumPy) and HMC."""

import itertools

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    _mxnet.on_cpu()
    run.path()
    _mxnet.streams()
    import algos
    import bdk_demo
    import utils

    rng = np.random.RandomState(1)

    def loop(call, classes):
        x = rng.normal(size=(60, 8 if classes else 1)).astype("f")
        y = rng.randint(0, classes, 60).astype("f") if classes else (x**3 / 10).astype("f")
        executors = []

        def get_executor(*args):
            exe, params, grads, states = utils.get_executor(*args)
            # the program iterates over a set, whose order differs between processes
            params = {name: params[name] for name in sorted(params)}
            for value in params.values():
                value[:] = run.perturb([rng.uniform(-0.3, 0.3, value.shape)])[0]
            executors.append((exe, params))
            return exe, params, grads, states

        def body(report):
            steps = itertools.count()

            class Targets(np.ndarray):
                def __getitem__(self, key):  # the loops begin by reading one batch
                    if type(key) is np.ndarray and next(steps):
                        values = {}
                        for exe, params in executors:
                            values.update({out: _mxnet.mean(y) for out, y in exe.output_dict.items()})
                            values.update({name: mx.nd.norm(v).asscalar() for name, v in params.items()})
                        report(values)
                    return np.asarray(self)[key]

            algos.get_executor = get_executor
            call(x, y.view(Targets))

        return _mxnet.stepwise(body)

    def inputs(label, shape, width):
        return {"data": mx.nd.zeros((10, width)), label: mx.nd.zeros(shape)}

    def sgd(x, y):
        algos.SGD(
            bdk_demo.get_mnist_sym(num_hidden=16),
            inputs("softmax_label", (10,), 8),
            x,
            y,
            x,
            y,
            499,
            lr=1e-3,
            minibatch_size=10,
            dev=mx.cpu(),
        )

    def sgld(x, y):
        algos.SGLD(
            bdk_demo.get_mnist_sym(num_hidden=16),
            x,
            y,
            x,
            y,
            499,
            inputs("softmax_label", (10,), 8),
            learning_rate=1e-3,
            minibatch_size=10,
            burn_in_iter_num=5,
            thin_interval=3,
            dev=mx.cpu(),
        )

    def distilled(x, y):
        algos.DistilledSGLD(
            bdk_demo.get_mnist_sym(num_hidden=16),
            bdk_demo.get_mnist_sym(bdk_demo.LogSoftmax(), num_hidden=16),
            inputs("softmax_label", (10,), 8),
            inputs("softmax_label", (10, 10), 8),
            x,
            y,
            x,
            y,
            499,
            1e-3,
            1e-3,
            student_optimizing_algorithm="adam",
            minibatch_size=10,
            dev=mx.cpu(),
        )

    def toy(x, y):
        algos.DistilledSGLD(
            bdk_demo.get_toy_sym(True, 1.0),
            bdk_demo.get_toy_sym(False),
            inputs("teacher_output_label", (10, 1), 1),
            {"data": mx.nd.zeros((10, 1))},
            x,
            y,
            x,
            y,
            499,
            1e-4,
            1e-3,
            teacher_prior_precision=0.1,
            student_grad_f=lambda out, pred: bdk_demo.regression_student_grad(out, pred, 1.0),
            task="regression",
            minibatch_size=10,
            dev=mx.cpu(),
        )

    def hmc():
        net = bdk_demo.get_toy_sym(True, 1 / 9)
        exe, params, grads, _ = utils.get_executor(net, mx.cpu(), inputs("teacher_output_label", (10, 1), 1))
        params = {name: params[name] for name in sorted(params)}
        for value in params.values():
            value[:] = run.perturb([rng.uniform(-0.07, 0.07, value.shape)])[0]
        exe.arg_dict["data"][:] = rng.uniform(-4, 4, (10, 1))
        exe.arg_dict["teacher_output_label"][:] = exe.arg_dict["data"] ** 3 / 10
        while True:
            _, accepted = algos.step_HMC(exe, params, grads, "teacher_output_label", 1 / 9, 1.0, 10, 1e-3)
            yield {"accepted": accepted, "norm": sum(mx.nd.norm(p).asscalar() for p in params.values())}

    yield from run.together(
        sgd=loop(sgd, 10), sgld=loop(sgld, 10), distilled=loop(distilled, 10), toy=loop(toy, 0), hmc=hmc()
    )
