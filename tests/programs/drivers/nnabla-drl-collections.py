"""Agents of the collection on random experiences: DQN, its double, dueling and categorical variants, TD3 and SAC."""

import _nnabla
import nnabla as nn
import numpy as np

BATCH, ACTIONS = 2, 4


def train(run):
    run.path()
    run.without("gym", "cv2")
    import categorical_dqn
    import double_dqn
    import dqn
    import dueling_dqn
    import sac
    import td3

    rng = np.random.RandomState(1)

    def experiences(observe, act):
        return observe(), act(), rng.normal(size=(BATCH, 1)), observe(), rng.randint(0, 2, (BATCH, 1))

    def pixels():
        return rng.uniform(size=(BATCH, 4, 84, 84))

    def choices():
        return rng.randint(0, ACTIONS, (BATCH, 1))

    def deep(make, name):
        with _nnabla.building(run, name):
            model = make()
            model.update_target()
        step = 0
        while True:
            yield {"loss": model.train(*experiences(pixels, choices))}
            step += 1
            if step % 5 == 0:
                model.update_target()

    def continuous(make, name):
        with _nnabla.building(run, name):
            model = make()
            model.sync_target()
        while True:
            data = experiences(lambda: rng.normal(size=(BATCH, 5)), lambda: rng.uniform(-1, 1, (BATCH, 3)))
            values = {"value": model.train_value(data[0])} if name == "sac" else {}
            values["critic"] = model.train_critic(*data)
            values["actor"] = model.train_actor(data[0])
            model.update_target()
            yield values

    nn.seed(0)
    options = (ACTIONS, BATCH, 0.99, 2.5e-4)
    yield from run.together(
        dqn=deep(lambda: dqn.DQN(dqn.q_function, *options), "dqn"),
        double=deep(lambda: double_dqn.DoubleDQN(dqn.q_function, *options), "double"),
        dueling=deep(lambda: dqn.DQN(dueling_dqn.q_function, *options), "dueling"),
        categorical=deep(
            lambda: categorical_dqn.CategoricalDQN(categorical_dqn.q_function, ACTIONS, -10.0, 10.0, 11, *options[1:]),
            "categorical",
        ),
        td3=continuous(lambda: td3.TD3((5,), 3, BATCH, 1e-3, 1e-3, 0.005, 0.99, 0.2, 0.5), "td3"),
        sac=continuous(lambda: sac.SAC((5,), 3, BATCH, 3e-4, 3e-4, 3e-4, 0.005, 0.99, 1e-3, 1.0), "sac"),
    )
