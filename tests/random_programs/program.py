"""Makes one program from a seed while running it, then differentiates what it computed."""

import random

import chainer
import chainer.functions as F
import numpy as np

from tests.random_programs import nodes, operations
from tests.random_programs.drawing import Drawing


class Order(chainer.FunctionHook):
    """Notes the labels of the functions that run."""

    name = "Order"

    def __init__(self):
        self.forward = []
        self.backward = []

    def forward_preprocess(self, function, in_data):
        self.forward.append(function.label)

    def backward_preprocess(self, function, in_data, out_grad):
        self.backward.append(function.label)


class Program(Drawing):
    """A Chainer program."""

    def __init__(self, seed):
        super().__init__(seed, {"chainer": chainer, "F": F, "np": np, "nodes": nodes, "data": self.data})
        # Most programs compute in float64, where a wrong formula cannot hide behind rounding.
        self.dtype = np.dtype(np.float32 if seed % 5 == 4 else np.float64)
        self.twice = seed % 4 != 3  # the others may use what can be differentiated only once
        np.random.seed(seed)

    def data(self, seed, shape, low=-1.0, high=1.0):
        """Numbers that a line of the program asks for."""
        return np.asarray(np.random.RandomState(seed).uniform(low, high, shape), self.dtype)

    # What the operations use.

    def const(self, shape, low=-1.0, high=1.0):
        return self.constant_text("data", shape, low, high)

    def leaf(self, shape, requires_grad=True):
        """Add a new input variable; return its name."""
        name = f"x{len(self.leaves)}"
        if requires_grad:
            self._execute(f"{name} = chainer.Variable({self.const(shape)})")
        else:
            self._execute(f"{name} = chainer.Variable({self.const(shape)}, requires_grad=False)")
        self.leaves.append(name)
        self.pool.append(name)
        return name

    def step(self):
        """Draw and run one operation."""
        drawn = None
        while drawn is None:
            operation = self.rng.choice(operations.OPERATIONS)
            if operation in operations.ONCE and self.twice:
                continue
            drawn = operation(self)
        names = self._new_names(drawn)
        expression = drawn.replace(" ->", "")
        target = ", ".join(names)
        r = self.rng.random()
        if r < 0.04:
            self._execute(f"with chainer.no_backprop_mode():\n    {target} = {expression}")
        elif r < 0.06:
            modes = "chainer.no_backprop_mode(), chainer.force_backprop_mode()"
            self._execute(f"with {modes}:\n    {target} = {expression}")
        elif r < 0.08:
            self._execute(f"with chainer.using_config('enable_backprop', False):\n    {target} = {expression}")
        else:
            self._execute(f"{target} = {expression}")
        if self.rng.random() < 0.02:
            self._execute(f"{names[0]}.unchain_backward()")
        self.pool.extend(names)

    def finish(self):
        """Join some variables, not all, into the output `y`."""
        chosen = self._draw_joined()
        terms = [f"F.sum({name} * {self.const(self.shape(name))})" for name in chosen]
        kind = self.rng.randrange(4)
        if kind == 0:  # not a scalar, so its gradient must be given
            self._execute(f"y = {' + '.join([f'{chosen[0]} * 0.5', *terms[1:]])}")
            self._execute(f"y.grad = {self.const(self.shape(chosen[0]))}")
        elif kind == 1:
            self._execute("y = 0")
            for term in terms:
                self._execute(f"y += {term}")
        else:
            self._execute(f"y = {' + '.join(terms)}")

    def build(self):
        for _ in range(self.rng.randint(2, 4)):
            self.leaf(self.draw_shape(self.rng.randint(1, 4)), requires_grad=self.rng.random() < 0.85)
        for _ in range(self.rng.randint(6, 18)):
            self.step()
        self.finish()


def array(variable):
    """The number list of an array or None, for JSON."""
    if variable is None:
        return None
    value = variable.array if isinstance(variable, chainer.Variable) else variable
    return {"shape": list(value.shape), "dtype": value.dtype.name, "values": value.ravel().tolist()}


def run(seed):
    """Run the program of `seed`; return everything that is compared, as JSON takes it."""
    program = Program(seed)
    rng = random.Random(seed + 1)
    order = Order()
    with order:
        program.build()
    y = program.names["y"]
    leaves = [program.names[name] for name in program.leaves]
    made = [name for name in program.names if name[0] == "v" and name[1:].isdigit()]
    result = {"program": program.lines, "forward_order": order.forward, "y": array(y)}
    result["values"] = {name: array(program.names[name]) for name in made}

    # chainer.grad first: it must leave the gradients of the variables alone.
    gy = [None if y.grad is None else chainer.Variable(y.grad)]
    order = Order()
    with order:
        grads = chainer.grad([y], leaves, gy)
    result["grad"] = [array(g) for g in grads]
    result["grad_order"] = order.backward
    result["grad_leaves_alone"] = all(x.grad is None for x in leaves)

    if program.twice:
        grads = chainer.grad([y], leaves, gy, enable_double_backprop=True)
        terms = [F.sum(g * program.data(seed, g.shape)) for g in grads if g is not None]
        if terms:
            # Asked for where a gradient is required. Whether the second pass reaches an input that requires
            # none depends on how many functions the first was made of, and on nothing that is promised.
            required = [x for x in leaves if x.requires_grad]
            second = chainer.grad([sum(terms)], required)
            result["second_grad"] = [array(g) for g in second]

    retain_grad = rng.random() < 0.3
    loss_scale = rng.choice([None, None, 8.0]) if y.grad is None else None
    times = rng.choice([1, 1, 2])  # a second pass adds to the gradients of the first
    order = Order()
    with order:
        for _ in range(times):
            y.grad = None if gy[0] is None else gy[0].array
            y.backward(retain_grad=retain_grad, loss_scale=loss_scale)
    result["backward_order"] = order.backward
    result["backward"] = [array(x.grad) for x in leaves]
    result["retained"] = {name: array(program.names[name].grad) for name in made}

    if program.twice:
        for x in leaves:
            x.cleargrad()
        for name in made:
            program.names[name].cleargrad()
        y.grad = None if gy[0] is None else gy[0].array
        y.backward(enable_double_backprop=True)
        parts = [F.sum(x.grad_var * x.grad_var) for x in leaves if x.grad_var is not None]
        for x in leaves:
            x.cleargrad()
        if parts:
            sum(parts).backward()
            result["second_backward"] = [array(x.grad) for x in leaves]
    return result
