"""A random program for Chainer's API. The same seed gives the same program wherever it runs.

`tame` programs do what the original defines: they cut functions off, clear and set gradients, raise and start further
passes, from hooks and from backwards. The others also let go of objects and revive them in finalizers, collect, set
creators, replace arrays, and run passes in a second thread.
"""

from __future__ import annotations

import gc
import random
import threading
import weakref
from typing import Any

import numpy as np

SHAPE = (3,)
MAX_DEPTH = 3  # of passes inside passes


class Planned(Exception):
    """Raised by a program in the middle of somebody else's work."""


class World:
    """The objects of one program, and what happened to them so far."""

    def __init__(self, chainer: Any, seed: int, tame: bool):
        self.chainer, self.F = chainer, chainer.functions
        self.rng = random.Random(seed)
        self.numbers = np.random.RandomState(seed)
        self.tame = tame
        self.variables: list[Any] = []
        self.nodes: list[Any] = []  # of functions, kept by the program
        self.kept: list[Any] = []
        self.events: list[Any] = []
        self.depth = 0
        self.in_pass = 0
        self.calm = False
        self.functions = make_functions(self)

    # ---- parts of a program ----------------------------------------------------------------------------------
    def leaf(self):
        v = self.chainer.Variable(self.numbers.uniform(0.5, 1.5, SHAPE))
        if not self.tame and self.rng.random() < 0.2:
            self.watch(v)
        self.variables.append(v)

    def pick(self):
        return self.rng.choice(self.variables)

    def apply(self):
        rng, F, x = self.rng, self.F, self.pick()
        kind = rng.randrange(9)
        if kind == 0:
            ys = [F.sin(x)]
        elif kind == 1:
            ys = [x * self.pick()]
        elif kind == 2:
            ys = [x + self.pick()]
        elif kind == 3:
            ys = [F.tanh(x)]
        elif kind == 4:
            ys = [F.broadcast_to(F.sum(x), SHAPE)]
        elif kind == 5:
            ys = list(F.split_axis(F.concat([x, self.pick()], axis=0), 2, axis=0))
        else:
            cls = rng.choice(self.functions)
            ys = list(cls().apply((x, self.pick())))
        for y in ys:
            if not self.tame and rng.random() < 0.1:
                self.watch(y)
            self.variables.append(y)

    def drop(self):
        if len(self.variables) > 2:
            del self.variables[self.rng.randrange(len(self.variables))]

    def backward(self):
        if self.depth >= MAX_DEPTH:
            return
        y = self.pick()
        rng = self.rng
        if self.tame or rng.random() < 0.8:  # without a gradient each function of the original has its own error
            y.grad = self.numbers.uniform(0.5, 1.5, SHAPE)
        self.depth += 1
        self.in_pass += 1
        try:
            y.backward(retain_grad=rng.random() < 0.5, enable_double_backprop=rng.random() < 0.3)
        finally:
            self.depth -= 1
            self.in_pass -= 1

    def grad(self):
        if self.depth >= MAX_DEPTH:
            return
        ys = [self.pick() for _ in range(self.rng.randint(1, 2))]
        xs = [self.pick() for _ in range(self.rng.randint(1, 2))]
        gys = [self.chainer.Variable(self.numbers.uniform(0.5, 1.5, SHAPE)) for _ in ys]
        self.depth += 1
        self.in_pass += 1
        try:
            gxs = self.chainer.grad(ys, xs, gys, enable_double_backprop=self.rng.random() < 0.5)
        finally:
            self.depth -= 1
            self.in_pass -= 1
        self.events.append([None if g is None else g.array.copy() for g in gxs])
        there = [g for g in gxs if g is not None]
        if self.tame:  # how many functions a gradient is made of is the original's own affair: hooks must not see them
            self.calm = True
            seconds = self.chainer.grad(there, xs) if there and there[0].creator is not None else []
            self.events.append([None if g is None else g.array.copy() for g in seconds])
            self.calm = False
            there = [self.chainer.Variable(g.array) for g in there]
        self.variables.extend(there)

    # ---- what programs do in the middle of a pass ------------------------------------------------------------
    def act(self, function=None):
        """One thing, perhaps: from a hook, a backward, a finalizer."""
        rng = self.rng
        if self.calm or rng.random() < 0.6:
            return
        tame = [
            self.cut_function,
            self.cut_variable,
            self.cut_history,
            self.clear,
            self.give,
            self.fail,
            self.backward,
            self.grad,
            self.apply,
            self.drop,
        ]
        wild = [self.collect, self.rewire, self.replace, self.thread, self.interrupt, self.flip, self.ask, self.rename]
        action = rng.choice(tame if self.tame else tame + wild)
        if action == self.cut_function and function is not None and rng.random() < 0.5:
            function.unchain()
            return
        action()

    def cut_function(self):
        f = self.pick().creator_node
        if f is not None:
            f.unchain()

    def cut_variable(self):
        v = self.pick()
        if self.tame and v.creator_node is not None and len(v.creator_node.outputs) > 1:
            return  # a pass that retains gradients still clears its gradient in the original, by way of the others
        v.unchain()

    def cut_history(self):
        self.pick().unchain_backward()

    def clear(self):
        self.pick().cleargrad()

    def give(self):
        self.pick().grad = self.numbers.uniform(0.5, 1.5, SHAPE)

    def fail(self):
        if self.rng.random() < 0.3:
            raise Planned

    # ---- what only wild programs do --------------------------------------------------------------------------
    def watch(self, target):
        """Something happens when `target` dies."""
        node = target.node if self.rng.random() < 0.5 else None

        def last():
            if node is not None and self.rng.random() < 0.5:
                self.kept.append(node.get_variable())
            try:
                self.act()
            except (Exception, KeyboardInterrupt):
                pass

        which = self.rng.randrange(3)
        if which == 0:
            weakref.finalize(target, last).atexit = False
        elif which == 1:
            target.reviver = Reviver(self, target if self.rng.random() < 0.3 else None, last)
        elif target.array is not None:
            weakref.finalize(target.array, last).atexit = False

    def collect(self):
        gc.collect(self.rng.randrange(3))

    def rewire(self):
        x, y = self.pick(), self.pick()
        f = x.creator_node
        if f is not None and f.rank >= y.rank:
            y.node.creator_node = f

    def replace(self):
        self.pick().array = self.numbers.uniform(0.5, 1.5, SHAPE) if self.rng.random() < 0.8 else None

    def interrupt(self):
        if self.rng.random() < 0.3:
            raise KeyboardInterrupt

    def flip(self):
        node = self.pick().node
        node.requires_grad = not node.requires_grad

    def ask(self):
        v = self.pick()
        f = v.creator_node
        if f is not None:
            self.kept.extend(out() for out in f.outputs)
            self.kept.extend(f.inputs or ())
        self.kept.append(v.node.get_variable_or_none())
        del self.kept[:-20]

    def rename(self):
        v = self.pick()
        v.extra = [v, self.pick().node]  # a cycle
        v.name = "again"

    def thread(self):
        t = threading.Thread(target=self.quietly, args=(self.backward if self.rng.random() < 0.5 else self.grad,))
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
        return [
            (None if v.array is None else np.array(v.array), None if v.grad is None else np.array(v.grad))
            for v in self.variables
        ]

    def run(self):
        for _ in range(2):
            self.leaf()
        hook = make_hook(self)
        steps = [self.leaf, *[self.apply] * 6, self.drop, self.backward, self.backward, self.grad, self.act]
        for _ in range(self.rng.randint(6, 16)):
            step = self.rng.choice(steps)
            try:
                if self.rng.random() < 0.7:
                    with hook:
                        step()
                else:
                    step()
                outcome = None
            except KeyboardInterrupt:
                outcome = "KeyboardInterrupt"
            except Planned:
                outcome = "Planned"
            except Exception:
                outcome = "error"  # its type and text are the original's own
            if self.tame:
                if outcome:  # after an exception in the middle of a pass the original's gradients are half done
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


def make_functions(world):
    chainer = world.chainer

    class Product(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0, 1))
            return (inputs[0] * inputs[1],)

        def backward(self, indexes, gys):
            world.act(self)
            a, b = self.get_retained_inputs()
            both = gys[0] * b, gys[0] * a
            return tuple(both[i] for i in indexes)

    class Two(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_outputs((0,))
            return np.tanh(inputs[0]), inputs[0] + inputs[1]

        def backward(self, indexes, gys):
            (y,) = self.get_retained_outputs()
            world.act(self)
            first, second = gys
            zero = chainer.Variable(np.zeros(SHAPE))
            first, second = (zero if g is None else g for g in (first, second))
            both = first * (1 - y * y) + second, second
            return tuple(both[i] for i in indexes)

    class Partial(chainer.FunctionNode):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, indexes, gys):
            world.act(self)
            return tuple(gys[0] * 2 if i == 0 else None for i in indexes)

    class Accumulating(chainer.FunctionNode):
        def forward(self, inputs):
            return (inputs[0] + inputs[1],)

        def backward_accumulate(self, indexes, gys, gxs):
            world.act(self)
            return tuple(gys[0] if g is None else g + gys[0] for g in gxs)

    return [Product, Two, Partial, Accumulating]


def make_hook(world):
    class Surgeon(world.chainer.FunctionHook):
        name = "surgeon"

        def forward_preprocess(self, function, in_data):
            if not world.in_pass:  # what a backward is made of differs
                world.act()

        def forward_postprocess(self, function, in_data):
            if not world.in_pass:
                world.act()

        def backward_preprocess(self, function, in_data, out_grad):
            world.act(function)

        def backward_postprocess(self, function, in_data, out_grad):
            world.act(function)

    return Surgeon()


def sane(chainer):
    """Whether a plain program gives the right numbers."""
    F = chainer.functions
    x = chainer.Variable(np.array([0.3, 0.7, 1.1]))
    y = F.sum(F.sin(x) * x)
    y.backward()
    (g,) = chainer.grad([F.sum(F.sin(x) * x)], [x], enable_double_backprop=True)
    (gg,) = chainer.grad([F.sum(g)], [x])
    a = x.array
    return (
        np.allclose(x.grad, np.sin(a) + a * np.cos(a), rtol=1e-12)
        and np.allclose(gg.array, 2 * np.cos(a) - a * np.sin(a), rtol=1e-12)
        and not chainer.get_function_hooks()
        and chainer.config.enable_backprop
    )


def program(chainer, seed, tame):
    """What happened in the program of that seed."""
    world = World(chainer, seed, tame)
    events = world.run()
    world.calm = True
    del world.variables[:], world.kept[:]
    return events
