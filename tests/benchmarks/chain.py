"""Shared by the chain programs: 200 operations on 10 numbers; 10 operations for derivatives of high orders."""

import numpy as np

LENGTH = 200
SHORT = 10
ORDERS = {f"order {n}": n for n in range(1, 6)}


def values(seed):
    return (np.random.RandomState(seed).rand(10) * 0.1 + 0.9).astype(np.float32)


def workloads(forward_backward, grad_of_grad, forward, total, grad):
    """The programs by their names.

    Args:
        forward_backward, grad_of_grad: the steps of `chain fb` and `chain dbl`.
        forward: runs the chain with the given number of operations.
        total: the sum of an array.
        grad: (scalar, whether to differentiate the result again) -> the gradient with respect to the chain's input.
    """

    def derivative(order):
        def step():
            y = forward(SHORT)
            for n in range(1, order + 1):
                y = grad(total(y), n < order)

        return step

    return {
        "chain fb": lambda: forward_backward,
        "chain dbl": lambda: grad_of_grad,
        **{name: lambda order=order: derivative(order) for name, order in ORDERS.items()},
    }
