"""Exact and stochastic variational Gaussian processes, and a Bayesian neural network with mean-field inference."""

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    run.path()
    _mxnet.streams()
    from mxfusion import Model, Variable
    from mxfusion.common import config
    from mxfusion.components.distributions import Normal
    from mxfusion.components.distributions.gp.kernels import RBF
    from mxfusion.components.functions import MXFusionGluonFunction
    from mxfusion.components.functions.operators import broadcast_to
    from mxfusion.components.variables.var_trans import PositiveTransformation
    from mxfusion.inference import (
        MAP,
        BatchInferenceLoop,
        GradBasedInference,
        StochasticVariationalInference,
        create_Gaussian_meanfield,
    )
    from mxfusion.modules.gp_modules import GPRegression, SVGPRegression

    config.DEFAULT_DTYPE = "float64"
    rng = np.random.RandomState(1)
    x = rng.uniform(size=(10, 3))
    y = np.sin(x.sum(1, keepdims=True)) + 0.05 * rng.normal(size=(10, 1))

    def array(a):
        return mx.nd.array(a, dtype="float64")

    class Reporting(BatchInferenceLoop):
        report = None

        def run(self, infr_executor, data, param_dict, **options):
            values = list(param_dict.values())
            for p, a in zip(values, run.perturb(np.array(p.data().asnumpy()) for p in values), strict=True):
                p.set_data(array(a))

            def executor(*inputs):
                losses = infr_executor(*inputs)
                with mx.autograd.pause():
                    self.report(
                        {"loss": losses[0].asscalar(), "norm": sum(mx.nd.norm(p.data()).asscalar() for p in values)}
                    )
                return losses

            super().run(infr_executor=executor, data=data, param_dict=param_dict, **options)

    def inference(make):
        def body(report):
            loop = Reporting()
            loop.report = report
            algorithm = make()
            GradBasedInference(algorithm, grad_loop=loop, dtype="float64").run(
                max_iter=999, learning_rate=0.02, X=array(x), Y=array(y)
            )

        return _mxnet.stepwise(body)

    def process(module, **more):
        def make():
            m = Model()
            m.N = Variable()
            m.X = Variable(shape=(m.N, 3))
            m.noise_var = Variable(transformation=PositiveTransformation(), initial_value=array([0.1]))
            scales = array([0.5, 0.7, 0.9])
            kernel = RBF(input_dim=3, ARD=True, variance=array([1.0]), lengthscale=scales, dtype="float64")
            m.Y = module.define_variable(
                X=m.X, kernel=kernel, noise_var=m.noise_var, shape=(m.N, 1), dtype="float64", **more
            )
            return MAP(model=m, observed=[m.X, m.Y])

        return make

    def network():
        net = mx.gluon.nn.HybridSequential(prefix="bnn_")
        with net.name_scope():
            net.add(
                mx.gluon.nn.Dense(6, activation="tanh", flatten=False, in_units=3, dtype="float64"),
                mx.gluon.nn.Dense(1, flatten=False, in_units=6, dtype="float64"),
            )
        net.initialize(mx.init.Xavier(magnitude=3))
        m = Model()
        m.N = Variable()
        m.f = MXFusionGluonFunction(net, num_outputs=1, broadcastable=False)
        m.X = Variable(shape=(m.N, 3))
        m.v = Variable(shape=(1,), transformation=PositiveTransformation(), initial_value=array([0.01]))
        m.r = m.f(m.X)
        for _, weight in m.r.factor.parameters.items():
            mean, variance = (broadcast_to(array([value]), weight.shape) for value in (0.0, 3.0))
            weight.set_prior(Normal(mean=mean, variance=variance, dtype="float64"))
        m.Y = Normal.define_variable(mean=m.r, variance=broadcast_to(m.v, (m.N, 1)), shape=(m.N, 1), dtype="float64")
        observed = [m.Y, m.X]
        q = create_Gaussian_meanfield(model=m, observed=observed, dtype="float64")
        return StochasticVariationalInference(num_samples=3, model=m, posterior=q, observed=observed)

    inducing = array(rng.uniform(size=(4, 3)))
    yield from run.together(
        exact=inference(process(GPRegression)),
        variational=inference(process(SVGPRegression, inducing_inputs=inducing)),
        network=inference(network),
    )
