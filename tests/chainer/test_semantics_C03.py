"""The order in which functions are visited."""

import heapq
import random

import numpy as np
import pytest

from tests.chainer.subject import Log, Scale, chainer, var


class Mix(chainer.FunctionNode):
    """A function with any number of inputs and several outputs, for graphs with equal ranks and joining paths."""

    def __init__(self, n_out, name):
        super().__init__()
        self.n_out = n_out
        self.name = name

    def forward(self, inputs):
        return tuple(sum(inputs) * np.float32(j + 1) for j in range(self.n_out))

    def backward(self, indexes, grad_outputs):
        total = [g * (j + 1) for j, g in enumerate(grad_outputs) if g is not None]
        return (sum(total[1:], total[0]),) * len(indexes)


def _random_graph(seed):
    rng = random.Random(seed)
    pool = [var([1, 2], requires_grad=rng.random() < 0.8) for _ in range(3)]
    leaves = list(pool)
    for i in range(rng.randint(3, 14)):
        inputs = [rng.choice(pool) for _ in range(rng.randint(1, 3))]
        kind = rng.random()
        if kind < 0.3:
            pool.append(inputs[0] * inputs[-1])
        elif kind < 0.4:
            pool.append(inputs[0] + 1)
        else:
            pool.extend(Mix(rng.randint(1, 3), i).apply(inputs))
    outputs = [v for v in pool[3:] if rng.random() < 0.3 and v.requires_grad] or [pool[-1]]
    return leaves, pool, outputs


def _expected_order(outputs, wanted=None):
    """The specified order: by decreasing rank, then in the order of pushing; a function is pushed when a gradient
    reaches an output."""
    heap, seen, order = [], set(), []

    def push(function):
        if function is not None and function not in seen:
            heapq.heappush(heap, (-function.rank, len(seen), function))
            seen.add(function)

    for y in outputs:
        push(y.creator_node)
    while heap:
        function = heapq.heappop(heap)[2]
        targets = [x for x in function.inputs if x.requires_grad]
        if not targets:
            continue
        order.append(function)
        for x in targets:
            push(x.creator_node)
    return order


@pytest.mark.semantics("C03")
@pytest.mark.parametrize("seed", range(60))
def test_order_on_random_graphs(seed):
    _, _, outputs = _random_graph(seed)
    if not any(y.requires_grad for y in outputs):
        outputs = [var([1, 2]) * 1]
    expected = _expected_order(outputs)
    log = Log()
    with log:
        chainer.backward(outputs, [var([1, 1]) for _ in outputs])
    assert log.functions("backward_preprocess") == expected
    assert log.functions("backward_postprocess") == expected


@pytest.mark.semantics("C03")
def test_a_function_is_visited_once():
    x = var([1, 2])
    f = Scale()
    (h,) = f.apply((x,))
    a, b = h * 3, h * 4
    c = a + b
    chainer.backward([c, h, a], [var([1, 1]), var([10, 10]), var([100, 100])])
    assert len(f.calls) == 1
    np.testing.assert_array_equal(x.grad, [634, 634])


@pytest.mark.semantics("C03")
def test_rank_is_the_longest_path():
    x = var([1.0])
    y = x * 2 + 1
    z = y * x
    assert (x.rank, y.rank, z.rank) == (0, 2, 3)
    assert z.creator_node.rank == 2
