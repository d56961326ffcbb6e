"""A random program for nnabla's API: see chainer_programs.py.

`tame` programs rewire graphs between passes, and set data, clear gradients, raise and compute other variables from
hooks and Python functions. The others also rewire graphs in the middle of a pass, let go of objects and revive them,
collect, and start passes in a second thread.
"""

from __future__ import annotations

import gc
import random
import threading
import weakref
from typing import Any

import numpy as np

SHAPE = (3,)
MAX_DEPTH = 2


class Planned(Exception):
    """Raised by a program in the middle of somebody else's work."""


class World:
    """The objects of one program, and what happened to them so far."""

    def __init__(self, nn: Any, seed: int, tame: bool):
        import nnabla.functions as F
        from nnabla.function import PythonFunction

        self.nn, self.F = nn, F
        self.rng = random.Random(seed)
        self.numbers = np.random.RandomState(seed)
        self.tame = tame
        self.variables: list[Any] = []
        self.kept: list[Any] = []
        self.events: list[Any] = []
        self.depth = 0
        self.rewired = self.over = False
        self.Product = make_product(self, PythonFunction)

    # ---- parts of a program ----------------------------------------------------------------------------------
    def leaf(self):
        v = self.nn.Variable(SHAPE, need_grad=self.rng.random() < 0.8)
        v.d = self.numbers.uniform(0.5, 1.5, SHAPE)
        v.g = 0
        if not self.tame and self.rng.random() < 0.2:
            self.watch(v)
        self.variables.append(v)

    def pick(self):
        return self.rng.choice(self.variables)

    def apply(self):
        rng, F, x = self.rng, self.F, self.pick()
        kind = rng.randrange(8)
        if kind == 0:
            ys = [F.sin(x)]
        elif kind == 1:
            ys = [x * self.pick()]
        elif kind == 2:
            ys = [x + self.pick()]
        elif kind == 3:
            ys = [F.tanh(x)]
        elif kind == 4:
            ys = [F.broadcast(F.sum(x, keepdims=True), SHAPE)]
        elif kind == 5:
            ys = [
                F.reshape(h, SHAPE) for h in F.split(F.reshape(F.concatenate(x, self.pick(), axis=0), (2, 3)), axis=0)
            ]
        elif kind == 6:
            ys = [self.Product()(x, self.pick())]
        else:
            y = F.exp(x * 0.1)
            y.persistent = rng.random() < 0.3
            ys = [y]
        for y in ys:
            if not self.tame and rng.random() < 0.1:
                self.watch(y)
            self.variables.append(y)

    def drop(self):
        if len(self.variables) > 2:
            del self.variables[self.rng.randrange(len(self.variables))]

    def hooks(self):
        def hook(function):
            self.act()

        chosen = {}
        for name in ("function_pre_hook", "function_post_hook"):
            if self.rng.random() < 0.5:
                chosen[name] = hook
        return chosen

    def within(self, f):
        if self.depth >= MAX_DEPTH:
            return
        self.depth += 1
        try:
            f()
        finally:
            self.depth -= 1

    def forward(self):
        y, rng = self.pick(), self.rng
        kind = rng.randrange(3)
        options = {"clear_buffer": kind == 1, "clear_no_need_grad": kind == 2}
        self.within(lambda: y.forward(**options, **self.hooks()))

    def backward(self):
        y, rng = self.pick(), self.rng
        grad = self.numbers.uniform(0.5, 1.5, SHAPE) if rng.random() < 0.7 else 1
        y.forward(clear_no_need_grad=rng.random() < 0.3)
        clear = rng.random() < 0.4
        self.within(lambda: y.backward(grad, clear_buffer=clear, **self.hooks()))

    def grad(self):
        ys, xs = [self.pick()], [self.pick()]
        if self.tame and (ys[0] is xs[0] or self.rewired):
            return  # the original gives zeros
        gxs = self.nn.grad(ys, xs)
        if not self.tame:  # the functions of its graph, and so how often hooks are called, are not the original's
            self.variables.extend(gxs)
        gxs[0].forward()
        self.events.append(np.array(gxs[0].d))

    # ---- what programs do in the middle of a pass ------------------------------------------------------------
    def act(self):
        rng = self.rng
        if self.over or rng.random() < 0.6:
            return
        tame = [self.set_data, self.zero, self.fail, self.apply]
        wild = [self.rewire, self.collect, self.interrupt, self.thread, self.drop, self.flip, self.unlink, self.clear]
        wild += [self.forward, self.backward, self.grad]
        rng.choice(tame if self.tame else tame + wild)()

    def set_data(self):
        v = self.pick()
        if v.parent is None:
            v.d = self.numbers.uniform(0.5, 1.5, SHAPE)

    def zero(self):
        self.pick().grad.zero()

    def fail(self):
        if self.rng.random() < 0.3:
            raise Planned

    # ---- what only wild programs do --------------------------------------------------------------------------
    def watch(self, target):
        """Something happens when `target` dies."""

        def last():
            try:
                self.act()
            except (Exception, KeyboardInterrupt):
                pass

        if self.rng.random() < 0.5:
            weakref.finalize(target, last).atexit = False
        else:
            # in its dict: Variables refuse attributes that nnabla's do not have
            target.__dict__["reviver"] = Reviver(self, target if self.rng.random() < 0.3 else None, last)

    def rewire(self):
        to, end = self.pick(), self.pick()
        if self.tame:  # no cycles, and a leaf takes the place
            read = []
            end.visit(lambda function: read.extend(function.inputs))
            if to.parent is not None or end.parent is None or to in read:
                return
            # nobody reads what has lost its parent: whether it was computed is not defined
            self.variables = [v for v in self.variables if v is not end]
        self.rewired = True
        to.rewire_on(end)

    def unlink(self):
        self.variables.append(self.pick().get_unlinked_variable(need_grad=self.rng.random() < 0.7))

    def clear(self):
        v = self.pick()
        self.rng.choice([v.data.clear, v.grad.clear, v.clear_all_graph_links])()

    def flip(self):
        v = self.pick()
        v.need_grad = not v.need_grad

    def collect(self):
        gc.collect(self.rng.randrange(3))

    def interrupt(self):
        if self.rng.random() < 0.3:
            raise KeyboardInterrupt

    def thread(self):
        t = threading.Thread(target=self.quietly, args=(self.rng.choice([self.forward, self.backward, self.grad]),))
        t.start()
        if self.rng.random() < 0.7:
            t.join()
        else:
            self.kept.append(t)

    def quietly(self, f):
        try:
            f()
        except (Exception, KeyboardInterrupt):
            pass

    # ---- the whole -------------------------------------------------------------------------------------------
    def state(self):
        return [(np.array(v.d), np.array(v.g)) for v in self.variables if v.parent is None]

    def run(self):
        for _ in range(2):
            self.leaf()
        steps = [
            self.leaf,
            *[self.apply] * 6,
            self.drop,
            self.rewire,
            self.forward,
            self.backward,
            self.backward,
            self.grad,
        ]
        for _ in range(self.rng.randint(6, 16)):
            step = self.rng.choice(steps)
            try:
                if self.rng.random() < 0.3:
                    with self.nn.auto_forward():
                        step()
                else:
                    step()
                outcome = None
            except KeyboardInterrupt:
                outcome = "KeyboardInterrupt"
            except Exception:
                outcome = "error"  # the original wraps those of a program in others
            if self.tame:
                if outcome:
                    self.events.append((step.__name__, outcome))
                    break
                self.events.append(self.state())
        for t in self.kept:
            if isinstance(t, threading.Thread):
                t.join()
        return self.events


class Reviver:
    def __init__(self, world, target, last):
        self.world, self.target, self.last = world, target, last

    def __del__(self):
        self.last()
        if self.target is not None and len(self.world.variables) < 30:
            self.world.variables.append(self.target)


def make_product(world, base):
    class Product(base):
        @property
        def name(self):
            return "Product"

        def min_outputs(self):
            return 1

        def setup_impl(self, inputs, outputs):
            outputs[0].reset_shape(inputs[0].shape, True)

        def forward_impl(self, inputs, outputs):
            world.act()
            outputs[0].data.copy_from(inputs[0].data * inputs[1].data)

        def backward_impl(self, inputs, outputs, propagate_down, accum):
            world.act()
            gy = outputs[0].grad
            for i in (0, 1):
                if propagate_down[i]:
                    g = gy * inputs[1 - i].data
                    inputs[i].grad.copy_from(inputs[i].grad + g if accum[i] else g)

        def grad_depends_output_data(self, i, o):
            return False

        def grad_depends_input_data(self, i, j):
            return i != j

    return Product


def sane(nn):
    """Whether a plain program gives the right numbers."""
    import nnabla.functions as F

    x = nn.Variable(SHAPE, need_grad=True)
    x.d, x.g = [0.3, 0.7, 1.1], 0
    y = F.sum(F.sin(x) * x)
    y.forward()
    y.backward()
    a = np.array(x.d)
    g = nn.grad([y], [x])[0]
    g.forward()
    expected = np.sin(a) + a * np.cos(a)
    return np.allclose(x.g, expected, rtol=1e-5) and np.allclose(g.d, expected, rtol=1e-5)


def program(nn, seed, tame):
    """What happened in the program of that seed."""
    world = World(nn, seed, tame)
    events = world.run()
    world.over = True  # what dies at the interpreter's end can start no thread
    del world.variables[:], world.kept[:]
    return events
