"""Makes one program from a seed while running it, then differentiates what it computed."""

import random

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import numpy as np
from nnabla.backward_functions import register, registry

from tests.random_programs.drawing import Drawing
from tests.random_programs.nnabla import nodes, operations


def data(seed, shape, low=-1.0, high=1.0):
    """Numbers that a line of the program asks for."""
    return np.asarray(np.random.RandomState(seed).uniform(low, high, shape), np.float32)


def constant(seed, shape, low=-1.0, high=1.0):
    return nn.Variable.from_numpy_array(data(seed, shape, low, high))


def integers(values):
    return nn.Variable.from_numpy_array(np.array(values))


class Program(Drawing):
    """An nnabla program."""

    min_ndim = 1

    def __init__(self, seed):
        names = {"nn": nn, "F": F, "PF": PF, "np": np, "nodes": nodes}
        super().__init__(seed, {**names, "data": data, "constant": constant, "integers": integers})
        self.dynamic = seed % 2 == 1
        self.twice = seed % 4 < 3  # the others may use what nnabla can differentiate only by `backward`
        self.persistent = []
        self.unlinked = []
        self._m = 0
        nn.clear_parameters()
        nn.random.seed(seed)

    # What the operations use.

    def const(self, shape, low=-1.0, high=1.0):
        return self.constant_text("constant", shape, low, high)

    def number(self):
        self._m += 1
        return self._m

    def leaf(self, shape, need_grad=True):
        """Add a new input variable; return its name."""
        name = f"x{len(self.leaves)}"
        array = f"data({self.rng.randrange(10**6)}, {tuple(shape)})"
        if not need_grad:
            self._execute(f"{name} = nn.Variable.from_numpy_array({array})")
        elif self.rng.random() < 0.5:
            self._execute(f"{name} = nn.Variable.from_numpy_array({array}, need_grad=True)")
        else:
            self._execute(f"{name} = nn.Variable({tuple(shape)}, need_grad=True)")
            self._execute(f"{name}.d = {array}")
        self.leaves.append(name)
        self.pool.append(name)
        return name

    def axis(self, name):
        """An axis of a variable; a negative one only where `nn.grad`, which is wrong there, is not used."""
        ndim = len(self.shape(name))
        return self.rng.randrange(0 if self.twice else -ndim, ndim)

    def step(self):
        """Draw and run one operation."""
        drawn = None
        while drawn is None:
            operation = self.rng.choice(operations.OPERATIONS)
            if operation in operations.ONCE and self.twice:
                continue
            drawn = operation(self)
            if drawn and self.twice and self.dynamic and operations.reads_freed_memory(drawn):
                drawn = None
        names = self._new_names(drawn)
        self._execute(f"{', '.join(names)} = {drawn.replace(' ->', '')}")
        r = self.rng.random()
        if r < 0.05 and len(names) == 1:
            self._execute(f"{names[0]}.need_grad = False")
        elif r < 0.12:
            self._execute(f"{names[0]}.persistent = True")
            self.persistent.append(names[0])
        elif r < 0.16 and len(names) == 1:
            # From here on the program uses a variable of the same arrays without a history.
            if not self.dynamic:
                self._execute(f"{names[0]}.forward()")
            name = f"x{len(self.leaves)}"
            need_grad = self.rng.random() < 0.7
            self._execute(f"{name} = {names[0]}.get_unlinked_variable(need_grad={need_grad})")
            self.leaves.append(name)
            self.unlinked.append(name)
            names[0] = name
        self.pool.extend(names)

    def finish(self):
        """Join some variables, not all, into the output `y`."""
        chosen = self._draw_joined()
        terms = [f"F.sum({name} * {self.const(self.shape(name))})" for name in chosen]
        kind = self.rng.randrange(4)
        if kind == 0 and len(terms) > 1:  # not a scalar
            rest = " + ".join(terms[1:])
            shape = self.shape(chosen[0])
            ones = (1,) * len(shape)
            self._execute(f"y = {chosen[0]} * 0.5 + F.broadcast(F.reshape({rest}, {ones}), {shape})")
        elif kind == 1:
            self._execute("y = 0")
            for term in terms:
                self._execute(f"y += {term}")
        else:
            self._execute(f"y = {' + '.join(terms)}")

    def build(self):
        with nn.auto_forward(self.dynamic):
            for i in range(self.rng.randint(2, 4)):
                self.leaf(self.draw_shape(self.rng.randint(1, 4)), need_grad=i == 0 or self.rng.random() < 0.85)
            for _ in range(self.rng.randint(5, 14)):
                self.step()
            self.finish()


def array(values):
    """The shape and the numbers of an array, for JSON; of a large one some numbers and the sum of all."""
    values = np.asarray(values, np.float64)
    stride = 1 + values.size // 16
    result = {"shape": list(values.shape), "values": values.ravel()[::stride].tolist()}
    if stride > 1:
        result["sum"] = float(values.sum())
        result["scale"] = float(np.abs(values).sum())
    return result


class Order(list):
    """A hook that notes the type names of the functions that it sees, and what they made."""

    def __init__(self):
        self.outputs = set()

    def __call__(self, function):
        self.append(function.info.type_name)
        self.outputs.update(function.outputs)


def calls_of_grad(outputs, inputs):
    """The type names of the functions whose backward functions `nn.grad` calls, in its order."""
    order, before = [], dict(registry)

    def noting(name, function):
        def noted(*args, **kwargs):
            order.append(name)
            return function(*args, **kwargs)

        return noted

    for name, function in before.items():
        register(name, noting(name, function))
    try:
        nn.grad(outputs, inputs)
    finally:
        for name, function in before.items():
            register(name, function)
    return order


def run(seed):
    """Run the program of `seed`; return everything that is compared, as JSON takes it."""
    program = Program(seed)
    rng = random.Random(seed + 1)
    program.build()
    with nn.auto_forward(program.dynamic):
        result = _differentiate(program, rng, seed)
    result["program"] = program.lines
    nn.clear_parameters()
    return result


def _differentiate(program, rng, seed):
    names, result = program.names, {}
    y = names["y"]
    leaves = {name: names[name] for name in program.leaves}
    leaves.update(nn.get_parameters())
    made = [name for name in names if name[0] == "v" and name[1:].isdigit()]

    def values(what):
        return {name: array(names[name].d) for name in what}

    if program.dynamic:
        # As such programs do it: gradients of what was computed while the graph was built. What they and the
        # graph need is there until something is told to clear it.
        result["built"] = {**values(made), "y": array(y.d)}
        if program.twice and y.need_grad:
            _grads(program, rng, seed, y, leaves, result)
        if y.need_grad:
            _backwards(program, rng, y, leaves, result)

    # forward, with what it may free
    clear = rng.choice([{}, {}, {"clear_no_need_grad": True}])
    order = Order()
    y.forward(function_pre_hook=order, **clear)
    result["forward_order"] = order
    computed = [name for name in (program.persistent if clear else made) if names[name] in order.outputs]
    result["values"] = {**values(computed), "y": array(y.d)}
    result["parameters"] = {name: array(x.d) for name, x in nn.get_parameters(grad_only=False).items()}
    if not y.need_grad:
        return result
    if not program.dynamic:
        _backwards(program, rng, y, leaves, result)

    # new data in the same graph
    if rng.random() < 0.4:
        for name, x in leaves.items():
            if name[0] == "x":
                x.d = data(seed + 1, x.shape)
            x.grad.zero()
        y.forward()
        y.backward()
        result["again"] = {"y": array(y.d), **gradients(leaves)}
    if program.twice and not program.dynamic:
        _grads(program, rng, seed, y, leaves, result)
    return result


def gradients(leaves):
    return {name: array(x.g) for name, x in leaves.items()}


def _backwards(program, rng, y, leaves, result):
    """`backward`, onto gradients of several states."""
    for x in leaves.values():
        state = rng.randrange(3)
        if state == 0:
            x.grad.zero()
        elif state == 1:
            x.g = data(rng.randrange(10**6), x.shape)
    kind, times = rng.randrange(6), rng.choice([1, 1, 2])
    order, after = Order(), Order()
    for i in range(times):
        # What clears the buffers comes last.
        options = {"function_pre_hook": order, "function_post_hook": after}
        if i == times - 1 and rng.random() < 0.3:
            options["clear_buffer"] = True
        _backward(y, kind, options)
    result["backward_order"], result["same_after"] = order, order == after
    result["backward"] = gradients(leaves)


def _backward(y, kind, options):
    if kind == 0:
        y.backward(2.5, **options)
    elif kind == 1:
        y.backward(data(1, y.shape), **options)
    elif kind == 2:
        y.g = data(2, y.shape)
        y.backward(None, **options)
    elif kind == 3:
        y.backward(nn.NdArray.from_numpy_array(data(3, y.shape)), **options)
    else:
        y.backward(**options)


def _grads(program, rng, seed, y, leaves, result):
    """`nn.grad`, the gradient of what it gave by `backward`, and by `nn.grad`."""
    outputs, grad_outputs = [y], None
    kind = rng.randrange(7)
    if kind == 0:
        grad_outputs = rng.choice([2.0, 3])
    elif kind == 1:
        grad_outputs = [data(4, y.shape)]
    elif kind == 2:
        grad_outputs = [constant(5, y.shape)]
    elif kind == 3:
        grad_outputs = [nn.NdArray.from_numpy_array(data(6, y.shape))]
    elif kind == 4:
        name = rng.choice([name for name in program.pool if name[0] == "v"])
        outputs = [y, F.sum(F.sin(program.names[name]))]
        grad_outputs = rng.choice([None, [None, 2.0], [data(4, y.shape), None]])
    # nnabla takes an unlinked variable for the one that it comes from, and does not find it where that depends
    # on another of the inputs.
    chosen = [name for name in leaves if name not in program.unlinked]
    if program.unlinked and rng.random() < 0.3:
        chosen = [rng.choice(program.unlinked)]
    inputs = [leaves[name] for name in chosen]
    result["inputs"] = chosen
    result["grad_order"] = calls_of_grad(outputs, inputs) if kind > 4 else None
    grads = nn.grad(outputs, inputs, grad_outputs)
    if program.dynamic:
        result["grad_built"] = [array(g.d) for g in grads]
    # Again in a dynamic graph: nnabla has freed too early what the next gradients read.
    nn.forward_all(grads)
    result["grad"] = [array(g.d) for g in grads]

    terms = [F.sum(g * constant(seed, g.shape)) for g, x in zip(grads, inputs) if g.shape == x.shape]  # noqa: B905
    if not terms:
        return
    z = sum(terms)
    if not z.need_grad:
        return
    for x in inputs:
        x.grad.zero()
    # In a dynamic graph what is cleared is not computed again.
    clears = not program.dynamic and rng.random() < 0.5
    z.forward(clear_no_need_grad=clears)
    z.backward(clear_buffer=clears)
    result["second_backward"] = gradients(leaves)
    second = nn.grad([z], inputs)
    nn.forward_all(second)
    result["second_grad"] = [array(g.d) for g in second]
