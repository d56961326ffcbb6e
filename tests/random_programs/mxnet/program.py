"""Makes one program from a seed while running it, then differentiates what it computed."""

import random
import re

import mxnet as mx
import numpy as np
from mxnet import autograd, nd

from tests.random_programs.drawing import Drawing
from tests.random_programs.mxnet import nodes, operations

NAME = re.compile(r"\b[xv]\d+\b")
# what finite differences know nothing of
STOPS = ("BlockGrad", "stop_gradient", "detach", "straight", "numpy_cube", "float32")
# whose gradient is wrong in MXNet
WRONG = ("selu",)


class Program(Drawing):
    """An MXNet program.

    `twice`: made of operators that MXNet differentiates twice. `smooth`: nothing in it stops a gradient, or
    makes one up, so that gradients are what finite differences say; `shifts` moves its inputs for these.
    """

    def __init__(self, seed, twice=None, smooth=False, shifts=()):
        super().__init__(seed, {"mx": mx, "nd": nd, "np": np, "autograd": autograd, "nodes": nodes})
        # Most programs compute in float64, where a wrong formula cannot hide behind rounding.
        self.dtype = "float32" if seed % 5 == 4 and not smooth else "float64"
        self.twice = seed % 4 == 0 if twice is None else twice
        self.stops = not smooth
        self.train_mode = smooth or self.rng.random() < 0.8
        self.shifts = dict(shifts)
        self.requests = {}  # of the leaves, whose gradients are written
        self.active = set()  # those that lead to an input that needs a gradient
        self.buffers = []
        self.has_function = False
        self.names.update(dtype=self.dtype, data=self.data, constant=self.constant)
        self._m = 0
        self._indent = ""

    def data(self, seed, shape, low=-1.0, high=1.0):
        """Numbers that a line of the program asks for."""
        return np.asarray(np.random.RandomState(seed).uniform(low, high, shape), self.dtype)

    def constant(self, seed, shape, low=-1.0, high=1.0):
        return nd.array(self.data(seed, shape, low, high), dtype=self.dtype)

    # What the operations use.

    def const(self, shape, low=-1.0, high=1.0):
        return self.constant_text("constant", shape, low, high)

    def number(self):
        self._m += 1
        return self._m

    def leaf(self, shape, request=None):
        """Add a new input; return its name."""
        name = f"x{len(self.leaves)}"
        if request is None:
            request = self.rng.choice(["write", "write", "write", "add", "null"])
            if self.twice or not self.stops:
                request = "write"
        array = f"nd.array(data({self.rng.randrange(10**6)}, {tuple(shape)}), dtype=dtype)"
        self._execute(f"{name} = {array}")
        self._write_into(name)
        if name in self.shifts:
            with autograd.pause():
                self.names[name][:] = self.names[name] + nd.array(self.shifts[name], dtype=self.dtype)
        kind = self.rng.randrange(4)
        if request == "write" and kind < 2:
            self._execute(f"{name}.attach_grad()")
        elif kind < 3 or request == "null":
            self._execute(f"{name}.attach_grad(grad_req={request!r})")
        else:
            self._execute(f"g = nd.zeros({tuple(shape)}, dtype=dtype)")
            self._execute(f"autograd.mark_variables([{name}], [g], {self.rng.choice([repr(request), [request]])})")
        if request == "add" and self.rng.random() < 0.5:
            with autograd.pause():
                self._execute(f"{name}.grad[:] = {self.scalar()}")
        self.leaves.append(name)
        self.requests[name] = request
        self.pool.append(name)
        if request != "null":
            self.active.add(name)
        return name

    def _write_into(self, name):
        """Perhaps a line that writes into an array that nothing has recorded yet."""
        if self.rng.random() < 0.7 or self._indent:
            return
        shape = self.shape(name)
        view = "view"
        self._execute(
            self.rng.choice(
                [
                    f"{name}[:] = {self.scalar() / 4}",
                    f"{name}[0] = {self.const(shape[1:] or (1,))}",
                    f"{name}[-1:] += 0.25",
                    f"{name} *= 0.5",
                    f"{name} += {self.const(shape)}",
                    f"{name} /= {self.const(shape, 1.0, 2.0)}",
                    f"{view} = {name}[0:1]\n{view}[:] = {self.const((1, *shape[1:]))}",
                    f"{view} = {name}.reshape((-1,))\n{view}[0] = 0.125",
                    f"nd.sin({name}, out={name})",
                ]
            )
        )

    def buffer(self, name, shape, low=-1.0, high=1.0):
        """Add an array that an operator writes to."""
        self._execute(f"{name} = {self.const(shape, low, high)}")
        self.buffers.append(name)

    def pick(self, min_ndim=1, max_ndim=9, shape=None, active=None):
        """As ever; with `active` one that needs a gradient, or None."""
        fits = [
            name
            for name in self.pool
            if self.fits(name, min_ndim, max_ndim, shape)
            and (not active or name in self.active)
            and (shape is not None or self.names[name].size <= 200)
        ]
        if active and not fits:
            return None
        return self.one_of(fits, min_ndim, max_ndim, shape, request="write" if active else None)

    def apart(self, name):
        """The array moved to where no two elements tie and none is zero."""
        shift = self.const(self.shape(name))
        return f"nd.elemwise_add({name}, {shift})" if self.twice else f"({name} + {shift})"

    def _execute(self, line):
        self.lines.extend(self._indent + part for part in line.split("\n"))
        exec(line, self.names)

    def step(self):
        """Draw and run one operation."""
        drawn = None
        while drawn is None:
            drawn = self.rng.choice(operations.OPERATIONS_TWICE if self.twice else operations.OPERATIONS)(self)
            if drawn and any(word in drawn for word in (WRONG if self.stops else STOPS)):
                drawn = None
        names = self._new_names(drawn)
        expression = NAME.sub(self._added, drawn.replace(" ->", ""))
        self.has_function |= "nodes." in expression
        line = f"{', '.join(names)} = {expression}"
        active = any(name in self.active for name in NAME.findall(expression))
        r = self.rng.random() if self.stops and not self.twice else 1
        if r < 0.04 and "nodes" not in expression:
            self._execute(f"with autograd.pause(train_mode={self.train_mode}):\n    {line}")
            active = False
        elif r < 0.06:
            self._execute(f"with autograd.pause(), autograd.record({self.train_mode}):\n    {line}")
        elif r < 0.08 and "BatchNorm" not in line:
            self._execute(f"with autograd.predict_mode():\n    {line}")
        else:
            self._execute(line)
        if active:
            self.active.update(names)
        if 0.9 < r < 0.92 and len(names) == 1:
            # An array with a gradient of its own has no history.
            self._execute(f"{names[0]}.attach_grad()")
            self.leaves.append(names[0])
            self.requests[names[0]] = "write"
            self.active.add(names[0])
        elif 0.92 < r < 0.94:
            shape = self.shape(names[0])
            fill = f"filled{self.number()}"
            self._execute(f"{fill} = nd.empty({shape}, dtype=dtype)\n{fill}[:] = {names[0]}\n{names[0]} = {fill}")
        self.pool.extend(names)

    def _added(self, match):
        """An input whose gradients add up enters through an identity: some of MXNet's operators overwrite."""
        name = match.group()
        return f"nd.identity({name})" if self.requests.get(name) == "add" else name

    def finish(self):
        """Choose some arrays as the heads; not all of them lead there."""
        chosen = self._draw_joined()
        if self.twice or self.stops and self.rng.random() < 0.3:
            self.heads = list(dict.fromkeys(chosen))[: self.rng.randint(1, 3)]
            return
        chosen += [name for name in self.leaves if self.requests[name] == "add" and self.rng.random() < 0.5]
        terms = [f"({name} * {self.const(self.shape(name))}).sum()" for name in chosen]
        self.heads = ["y"]
        if self.rng.random() < 0.3 and self.stops:  # not a scalar
            self._execute(f"y = {' + '.join([f'{chosen[0]} * 0.5', *terms[1:]])}")
        else:
            self._execute(f"y = {' + '.join(terms)}")

    def build(self):
        for i in range(self.rng.randint(2, 4)):
            self.leaf(self.draw_shape(self.rng.randint(1, 4)), "write" if i == 0 else None)
        if self.train_mode:
            self.lines.append("with autograd.record():")
        else:
            self.lines.append("with autograd.record(train_mode=False):")
        with autograd.record(self.train_mode):
            self._indent = "    "
            for _ in range(self.rng.randint(5, 9) if self.twice else self.rng.randint(5, 14)):
                self.step()
            self.finish()
            self._indent = ""


def array(value):
    """The shape, type and numbers of an array, for JSON; of a large one some numbers and the sum of all."""
    if value is None:
        return None
    value = value.asnumpy()
    stride = 1 + value.size // 16
    result = {"shape": list(value.shape), "dtype": value.dtype.name, "values": value.ravel()[::stride].tolist()}
    if stride > 1:
        result["sum"] = float(value.sum(dtype=np.float64))
        result["scale"] = float(np.abs(value).sum(dtype=np.float64))
    return result


def attempt(function):
    """What a function returns, once it is computed, or the class of its error."""
    try:
        result = function()
        nd.waitall()
        return result
    except Exception as error:
        return {"raised": type(error).__name__}


def run(seed):
    """Run the program of `seed`; return everything that is compared, as JSON takes it."""
    program = Program(seed)
    program.build()
    result = {"program": program.lines, "heads": program.heads, "leaves": program.leaves}
    made = [name for name in program.names if name[0] == "v" and name[1:].isdigit()]
    result["values"] = {name: array(program.names[name]) for name in [*made, *program.buffers, *program.heads]}
    rng = random.Random(seed + 1)
    if program.twice:
        result.update(_higher(program, rng, seed))
    result.update(_backward(program, rng, seed))
    return result


def _head_grads(program, rng, heads):
    """Gradients of the heads, None among them."""
    if rng.random() < 0.3:
        return None
    return [program.constant(rng.randrange(10**6), h.shape) if rng.random() < 0.7 else None for h in heads]


def gradients(program):
    return {name: array(program.names[name].grad) for name in program.leaves}


def _grads(heads, variables, *args, **kwargs):
    return attempt(lambda: [array(g) for g in autograd.grad(heads, variables, *args, **kwargs)])


def _reaches(heads, x):
    return isinstance(_grads(heads, x, retain_graph=True), list)


def _backward(program, rng, seed):
    names = program.names
    heads = [names[name] for name in program.heads]
    leaves = [names[name] for name in program.leaves if program.requests[name] != "null"]
    result = {}

    # autograd.grad first: it must leave the gradients of the arrays alone
    chosen = leaves
    if rng.random() < 0.3 and not program.has_function:
        chosen = [leaf for leaf in leaves if rng.random() < 0.6]
    before = gradients(program)
    head_grads = _head_grads(program, rng, heads)
    result["grad"] = _grads(heads, chosen, head_grads, retain_graph=True)
    if "raised" in result["grad"] and len(leaves) > 1:
        # One that nothing leads to is an error.
        result["grad_of_each"] = [_grads(heads, leaf, head_grads, retain_graph=True) for leaf in leaves]
    assert gradients(program) == before

    head_grads = _head_grads(program, rng, heads)
    if len(heads) == 1:
        (head,) = heads
        grad = head_grads and head_grads[0]

        def backward(retain_graph=False):
            head.backward(grad, retain_graph=retain_graph, train_mode=program.train_mode)
    else:

        def backward(retain_graph=False):
            autograd.backward(heads, head_grads, retain_graph, program.train_mode)

    for i in range(rng.choice([0, 0, 1, 2])):
        result[f"backward{i}"] = attempt(lambda: backward(retain_graph=True)) or gradients(program)
    result["backward"] = attempt(backward) or gradients(program)
    result["again"] = attempt(backward)
    if rng.random() < 0.3:
        result["trained"] = _train(program)
    return result


def _higher(program, rng, seed):
    """The gradient of a function of the gradient, and the third derivatives."""
    names = program.names
    heads = [names[name] for name in program.heads]
    result = {}
    with autograd.record(program.train_mode):
        names_reached = [name for name in program.leaves if _reaches(heads, names[name])]
        reached = [names[name] for name in names_reached]
        if not reached:
            return result
        grads = autograd.grad(heads, reached, _head_grads(program, rng, heads), create_graph=True)
        result["grads"] = [array(g) for g in grads]
        functions = [nd.sin, nd.square, nd.tanh, nd.identity]
        terms = [rng.choice(functions)(g) for g in grads]
        weights = [program.constant(seed + i, t.shape) for i, t in enumerate(terms)]
        second, result["second"], result["third"] = [], {}, {}
        for name, x in zip(names_reached, reached):  # noqa: B905
            found = attempt(lambda x=x: autograd.grad(terms, [x], weights, create_graph=True))
            if isinstance(found, list):
                second += found
                found = array(found[0])
            result["second"][name] = found
        if not second:
            return result
        order = [nd.sin(g) for g in second]
        for name, x in zip(names_reached, reached):  # noqa: B905
            third = _grads(order, x, retain_graph=True)
            if isinstance(third, list):
                result["third"][name] = third
    autograd.backward(terms, weights, retain_graph=True)
    result["second_backward"] = gradients(program)
    return result


def _train(program):
    """A step of gradient descent, and a gradient after it."""
    lines = []
    leaves = [program.names[name] for name in program.leaves if program.requests[name] == "write"]

    def step():
        for x in leaves:
            if x.grad is not None:
                x[:] = x - 0.1 * x.grad
                x -= 0.01 * x
        with autograd.record():
            z = sum((nd.sin(x) * x).sum() for x in leaves)
        z.backward()

    raised = attempt(step)
    lines = gradients(program)
    return raised or {**lines, **{f"new {name}": array(program.names[name]) for name in program.leaves}}
