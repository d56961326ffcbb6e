"""A3C: one of its processes, feedforward and recurrent, in a synthetic environment; Chainer 1."""

import functools
import re
import sys
import types

import _chainer
import _chainer1
import chainer
import numpy as np


def train(run):
    _chainer1.install()
    run.path()
    run.sources(lambda text: re.sub(r"\basync\b", "parallel", text))  # a keyword of Python 3
    run.without("ale", "parallel")
    sys.modules["cached_property"] = types.SimpleNamespace(cached_property=functools.cached_property)
    import a3c
    import a3c_ale
    from nonbias_weight_decay import NonbiasWeightDecay
    from rmsprop_async import RMSpropAsync

    rng = np.random.RandomState(1)
    screens = rng.uniform(size=(6, 4, 84, 84)).astype(run.dtype)

    def training(kind):
        model = kind(4)
        run.perturb(_chainer.arrays(model))
        optimizer = RMSpropAsync(lr=7e-4, eps=1e-1, alpha=0.99).setup(model)
        optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(40))
        optimizer.add_hook(NonbiasWeightDecay(1e-5))
        agent = a3c.A3C(model, optimizer, 5, 0.99, beta=1e-2, process_idx=1)
        place, reward = 0, 0.0
        while True:
            actions = 0
            for _ in range(6):
                action = agent.act(screens[place], reward, False)
                actions = actions * 4 + action
                place, reward = (place + action + 1) % 6, float(action == place % 4)
            agent.act(None, reward, True)
            policy, value = agent.model.pi_and_v(chainer.Variable(screens[:1]))
            yield {"actions": actions, "value": value.array, "entropy": policy.entropy.array}
            agent.model.reset_state()

    yield from run.together(feedforward=training(a3c_ale.A3CFF), recurrent=training(a3c_ale.A3CLSTM))
