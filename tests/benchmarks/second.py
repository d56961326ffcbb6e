"""The names and sizes of the programs that differentiate twice (`second_*.py`).

`second penalty`: a training step of ResNet-18 whose loss contains the squared norm of the gradient of the images.
`second hessian`: the product of the Hessian of a transformer's loss and a vector.
`second sine`, `second images`: a step of MAML (Finn et al. 2017) with 1 or 5 inner steps, which the outer gradient goes
through, for the perceptron and for the convolutional network of the paper.
"""

BATCH = 8
# ResNet-18
SIDE = 64  # pixels
CLASSES = 10
PENALTY = 10.0
# the transformer
LENGTH = 64
VOCABULARY = 256
LAYERS = 4
UNITS = 128
HEADS = 4
# MAML
TASKS = 4  # in a step
SHOTS = 10  # examples of a sine
WAYS = 5  # classes of a task of images, with one image each
INNER_RATE = 0.01
INNER_STEPS = (1, 5)


def programs(penalty, hessian, sine, images):
    """The functions that set up a step, by the names of the workloads."""
    return {
        "second penalty": penalty,
        "second hessian": hessian,
        **{f"second sine, {n}": lambda n=n: sine(n) for n in INNER_STEPS},
        **{f"second images, {n}": lambda n=n: images(n) for n in INNER_STEPS},
    }


NAMES = tuple(programs(None, None, None, None))
