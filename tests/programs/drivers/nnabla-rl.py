"""Algorithms of nnabla-rl on synthetic experiences, with their own networks and training iterations."""

import _gym
import _nnabla
import nnabla as nn
import numpy as np

BATCH = 8


def train(run):
    run.path()
    run.without("cv2")
    _gym.install("gym", "gymnasium")
    import nnabla_rl
    import nnabla_rl.algorithms as A
    from nnabla_rl.environments.environment_info import EnvironmentInfo
    from nnabla_rl.replay_buffer import ReplayBuffer

    rng = np.random.RandomState(1)
    continuous = EnvironmentInfo(_gym.Box(shape=(5,)), _gym.Box(-1.0, 1.0, shape=(3,)), 10, None)
    screen = EnvironmentInfo(_gym.Box(shape=(4, 84, 84)), _gym.Discrete(4), 10, None)

    def experiences(info):
        buffer = ReplayBuffer(capacity=32)
        for _ in range(32):
            pixels = len(info.state_shape) == 3
            state, after = (rng.uniform(size=info.state_shape) * (255 if pixels else 1) for _ in range(2))
            action = rng.randint(0, 4, (1,)) if info.is_discrete_action_env() else rng.uniform(-1, 1, 3)
            buffer.append((state, action, rng.normal(size=(1,)), float(rng.randint(0, 2, (1,))[0]), after, {}))
        return buffer

    def training(name, info, **options):
        config = getattr(A, f"{name}Config")(batch_size=BATCH, **options)
        buffer = experiences(info)
        with nn.parameter_scope(name):  # algorithms use the same names for their networks
            algorithm = getattr(A, name)(info, config=config)
            for _, model in sorted(algorithm._models().items()):
                _nnabla.perturb(run, model.get_parameters())
            algorithm._before_training_start(buffer)
        while True:
            algorithm._iteration_num += 1
            with nn.parameter_scope(name):
                algorithm._run_offline_training_iteration(buffer)
            yield {k: v for k, v in algorithm.latest_iteration_state["scalar"].items() if "loss" in k}

    nn.seed(0)
    nnabla_rl.seed(0)
    # IQL is left out: in the original its loss reads an array that the previous step freed.
    yield from run.together(
        **{name: training(name, screen) for name in ("DQN", "QRDQN", "MunchausenDQN")},
        **{name: training(name, continuous) for name in ("DDPG", "TD3", "SAC", "BCQ", "BEAR", "XQL")},
    )
