"""What Chainer's distributions give. An interpreter that has Chainer 7.8.1 (see record.py) writes it down:

PYTHON -m tests.golden.distributions
"""

import pathlib

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_suffix(".npz")
SHAPE = (2, 3)


def uniform(low, high, shape=SHAPE):
    return np.random.uniform(low, high, shape).astype(np.float32)


def probabilities(*shape):
    p = uniform(0.1, 1, shape)
    return p / p.sum(-1, keepdims=True)


def lower(shape=(2, 3, 3)):
    return np.tril(uniform(0.5, 1.5, shape))


def location(width="scale"):
    return {"loc": uniform(-1, 1), width: uniform(0.5, 2)}


# name -> the parameters of two distributions
PARAMETERS = {
    "Bernoulli": lambda: {"p": uniform(0.1, 0.9)},
    "Beta": lambda: {"a": uniform(0.5, 3), "b": uniform(0.5, 3)},
    "Categorical": lambda: {"p": probabilities(2, 3, 4)},
    "Cauchy": location,
    "Chisquare": lambda: {"k": uniform(1, 6)},
    "Dirichlet": lambda: {"alpha": uniform(0.5, 3)},
    "Exponential": lambda: {"lam": uniform(0.5, 2)},
    "Gamma": lambda: {"k": uniform(0.5, 3), "theta": uniform(0.5, 2)},
    "Geometric": lambda: {"p": uniform(0.2, 0.9)},
    "Gumbel": location,
    "Laplace": location,
    "LogNormal": lambda: {"mu": uniform(-1, 1), "sigma": uniform(0.3, 1)},
    "MultivariateNormal": lambda: {"loc": uniform(-1, 1), "scale_tril": lower()},
    "Normal": location,
    "OneHotCategorical": lambda: {"p": probabilities(3, 4)},
    "Pareto": lambda: {"scale": uniform(0.5, 2), "alpha": uniform(1.5, 4)},
    "Poisson": lambda: {"lam": uniform(0.5, 4)},
    "Uniform": lambda: {"low": uniform(-2, -1), "high": uniform(1, 2)},
}
OTHER_PARAMETERS = {
    "Bernoulli logit": ("Bernoulli", lambda: {"logit": uniform(-2, 2)}),
    "Categorical logit": ("Categorical", lambda: {"logit": uniform(-2, 2, (2, 3, 4))}),
    "Normal log_scale": ("Normal", lambda: location("log_scale")),
    "Uniform loc": ("Uniform", location),
}
CASES = {**{name: (name, params) for name, params in PARAMETERS.items()}, **OTHER_PARAMETERS}
NO_DIVERGENCE = ("Cauchy", "Chisquare")
PROPERTIES = ("mean", "variance", "entropy", "stddev", "mode", "covariance")


def compute(chainer, case):
    """Arrays by name: properties, samples by a seed, functions of a sample, gradients of their sum by parameters."""
    name, make = CASES[case]
    np.random.seed(1)
    parameters, others = make(), make()
    cls = getattr(chainer.distributions, name)
    variables = {key: chainer.Variable(value) for key, value in parameters.items()}
    dist, found = cls(**variables), {}
    np.random.seed(2)
    found["sample"] = dist.sample((4,)).array
    sample = found["sample"].astype(np.float32)  # Chainer cannot go back from whole numbers
    if name == "Uniform":
        sample[0] = 3.0  # outside
    for key in PROPERTIES:
        try:
            found[key] = getattr(dist, key).array
        except (NotImplementedError, AttributeError):
            pass
    found["log_prob"] = (log_prob := dist.log_prob(sample)).array
    chainer.functions.sum(log_prob[1:]).backward()
    found.update((f"log_prob by {key}", v.grad) for key, v in variables.items() if v.grad is not None)
    for key in ("prob", "cdf", "log_cdf", "survival_function", "log_survival_function"):
        try:
            found[key] = getattr(dist, key)(sample).array
        except NotImplementedError:
            pass
    if hasattr(cls, "icdf") and cls.icdf is not chainer.Distribution.icdf:
        found["icdf"] = dist.icdf(np.linspace(0.1, 0.9, 6, dtype=np.float32).reshape(SHAPE)).array
    if name not in NO_DIVERGENCE:
        found["kl"] = chainer.kl_divergence(dist, cls(**others)).array
    return found


def main():
    import warnings

    import chainer

    warnings.simplefilter("ignore")
    arrays = {f"{case}/{key}": value for case in CASES for key, value in compute(chainer, case).items()}
    files.write(GOLDEN, arrays, files.versions("chainer"))


if __name__ == "__main__":
    main()
