"""What is measured: names of the programs, workloads, the pairs that are compared, and the ratios that are aimed at."""

from tests.benchmarks import chain, data, large, second, worker

TORCH, NATIVE, FRONTEND, CHAINER = "torch", "native", "compatgrad", "Chainer"
COMPILED, JAX = "compiled torch", "JAX"
COMPILED_HERE = "compatgrad compiled"  # by interop.compile
BEST = "torch best"  # with channels last, fused attention and fused optimizers
# nnabla programs with static and dynamic graphs, on compatgrad and on the original
STATIC, DYNAMIC, NNABLA_STATIC, NNABLA_DYNAMIC = "nn static", "nn dynamic", "nnabla static", "nnabla dynamic"
MX, MXNET = "mx", "MXNet"
NN, NNABLA = "nn", "nnabla"  # programs without graphs
ORIGINALS = (CHAINER, NNABLA_STATIC, NNABLA_DYNAMIC, NNABLA, MXNET)
FRONTENDS = {
    "chainer": (FRONTEND, CHAINER),
    "nnabla": (STATIC, DYNAMIC, NN, NNABLA_STATIC, NNABLA_DYNAMIC, NNABLA),
    "mxnet": (MX, MXNET),
}
# Workloads for which an original lacks second derivatives.
CANNOT = {("chain dbl", MXNET), ("wgan_gp", MXNET)}
PAIRS = [
    (NATIVE, TORCH),
    (NATIVE, JAX),
    (FRONTEND, TORCH),
    (FRONTEND, BEST),
    (FRONTEND, CHAINER),
    (FRONTEND, COMPILED),
    (FRONTEND, JAX),
    (COMPILED_HERE, TORCH),
    (COMPILED_HERE, JAX),
    (COMPILED_HERE, CHAINER),
    (STATIC, TORCH),
    (STATIC, BEST),
    (STATIC, NNABLA_STATIC),
    (STATIC, COMPILED),
    (STATIC, JAX),
    (DYNAMIC, TORCH),
    (DYNAMIC, COMPILED),
    (DYNAMIC, JAX),
    (DYNAMIC, NNABLA_DYNAMIC),
    (NN, TORCH),
    (NN, NNABLA),
    (MX, TORCH),
    (MX, BEST),
    (MX, MXNET),
    (MX, COMPILED),
    (MX, JAX),
]
OTHERS = {other for _, other in PAIRS}
RATES = {"img/s"}  # units of which more is better
# workload -> (consecutive runs per sample, samples per round)
CHAINS = {"chain fb": (1, 30), "chain dbl": (1, 20)}
STEPS = {
    "mlp_tiny": (20, 15),
    "mlp_mnist": (1, 9),
    "cnn": (1, 15),
    "lstm_lm": (1, 15),
    "wgan_gp": (1, 15),
}
# derivatives of an order, and training steps of one network on batches of growing size
ORDERS = {name: (1, 9) for name in chain.ORDERS}
BATCHES = {f"batch {n}": (1, 9) for n in worker.BATCHES}
# recurrent networks over 50 steps; each framework has programs for some of them
RECURRENT = {
    name: (1, 5)
    for name in (
        "lstm layer", "lstm layer, lengths", "lstm both ways", "gru layer", "tanh layer", "lstm cells", "gru cells",
        "lstm hybrid", "lstm symbol", "gru symbol", "lstm projected", "lstm of images", "peephole", "zoneout", "mgu",
        "tree, 2", "tree, 3", "child sum, 4", "lstm layer, 1024", "gru layer, 1024",
    )
}  # fmt: skip
# training steps and inference of large networks, which run only if --large is given or --only names them
# The first steps after another program had its turn are slow, because their weights are no longer in the caches.
LARGE = {name: (1, 45 if "infer" in name else 3) for name in large.names()}
# programs that differentiate twice, which run only if --only names them
SECOND = {name: (1, 3 if name == "second penalty" else 9) for name in second.NAMES}
# steps of which --memory tells by how much they raise the peak
GROWTHS = ("lstm layer", "lstm cells", *(name for name in large.names() if "train" in name))
# peaks of memory in steps, beside torch and, with static graphs, beside nnabla
MEMORIES = ("memory", "memory cold", "memory warm")
# reading of images, which is measured only if --data is given
DATA = {name: (1, 3) for name in data.IMAGES}
# (workload, framework, other framework) -> the largest ratio of their times that meets the target
TARGETS = {
    ("chain fb", NATIVE, TORCH): 0.45,
    ("chain dbl", NATIVE, TORCH): 0.45,
    **{
        (workload, framework, TORCH): ratio
        for framework in (FRONTEND, STATIC, DYNAMIC)
        for workload, ratio in {
            "chain fb": 0.7,
            "chain dbl": 0.7,
            "mlp_tiny": 0.6,
            "mlp_mnist": 1.05,
            "cnn": 1.05,
            "lstm_lm": 1.0,
            "wgan_gp": 1.05,
        }.items()
    },
    **{
        (workload, framework, other): ratio
        for framework in (FRONTEND, STATIC, DYNAMIC, MX)
        for workload, other, ratio in (
            ("mlp_tiny", JAX, 0.8),
            ("mlp_mnist", JAX, 0.95),
            ("lstm_lm", JAX, 1.0),
            *((name, JAX, 0.5) for name in ("cnn", "wgan_gp")),
            *((name, COMPILED, 0.7) for name in ("cnn", "wgan_gp")),
        )
    },
    **{
        (name, framework, TORCH): 1.0
        for framework in (FRONTEND, STATIC, MX)
        for name in ("lstm layer", "gru layer", "lstm cells", "gru cells", "lstm layer, 1024", "gru layer, 1024")
    },
    ("mlp_tiny", FRONTEND, CHAINER): 1 / 8,
    ("cnn", FRONTEND, CHAINER): 1 / 3,
    ("lstm_lm", FRONTEND, CHAINER): 1 / 6,
    ("wgan_gp", FRONTEND, CHAINER): 1 / 2,
    ("chain fb", MX, MXNET): 1 / 5,
    ("mlp_tiny", MX, MXNET): 1 / 4,
    **{(workload, MX, MXNET): 1.0 for workload in ("mlp_mnist", "cnn", "lstm_lm")},
    ("memory", FRONTEND, TORCH): 1.0,
    **{(workload, STATIC, NNABLA_STATIC): 1.0 for workload in ("memory cold", "memory warm")},
    **{
        (name, here, other): 0.9
        for name in LARGE
        for here, original in ((FRONTEND, CHAINER), (STATIC, NNABLA_STATIC), (MX, MXNET))
        for other in (TORCH, BEST, original)
    },
    **{
        (name, here, other): 1.0
        for name in DATA
        for here, original in ((FRONTEND, CHAINER), (NN, NNABLA), (MX, MXNET))
        for other in (TORCH, original)
    },
    **{
        (name, here, other): 0.8
        for name in second.NAMES
        for here in (NATIVE, FRONTEND, COMPILED_HERE)
        for other in (TORCH, JAX)
    },
}
