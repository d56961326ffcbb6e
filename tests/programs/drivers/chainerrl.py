"""Agents on the library's own toy problem: replay, policy gradients, trust regions, distributions of returns."""

import functools
import sys
import types

import _chainer
import chainer
import numpy as np


def train(run):
    run.path()
    if "cached_property" not in sys.modules:
        sys.modules["cached_property"] = types.SimpleNamespace(cached_property=functools.cached_property)
    run.without("filelock", "cv2", "atari_py")
    import chainerrl
    from chainerrl import agents, distribution, explorers, links, policies, q_functions, replay_buffer, v_functions
    from chainerrl.envs.abc import ABC

    def phi(x):
        return np.asarray(x, run.dtype)

    def explorer(env):
        return explorers.ConstantEpsilonGreedy(0.3, env.action_space.sample)

    def optimizer(model, rate=3e-3):
        run.perturb(_chainer.arrays(model))
        return chainer.optimizers.Adam(rate).setup(model)

    def buffer():
        return replay_buffer.ReplayBuffer(1000)

    def dqn(kind, env, **options):
        q = q_functions.FCStateQFunctionWithDiscreteAction(4, 2, 12, 1)
        return kind(
            q,
            optimizer(q),
            buffer(),
            0.9,
            explorer(env),
            phi=phi,
            replay_start_size=8,
            minibatch_size=6,
            target_update_interval=10,
            **options,
        )

    def categorical(env):
        q = q_functions.DistributionalFCStateQFunctionWithDiscreteAction(4, 2, 11, -1, 1, 12, 1)
        return agents.CategoricalDQN(
            q,
            optimizer(q),
            buffer(),
            0.9,
            explorer(env),
            phi=phi,
            replay_start_size=8,
            minibatch_size=6,
            target_update_interval=10,
        )

    def actor_critic():
        return chainerrl.agents.a3c.A3CSeparateModel(
            policies.FCSoftmaxPolicy(4, 2, 1, 12), v_functions.FCVFunction(4, 1, 12)
        )

    def ppo(env):
        model = actor_critic()
        return agents.PPO(
            model,
            optimizer(model),
            gamma=0.9,
            phi=phi,
            update_interval=12,
            minibatch_size=6,
            epochs=2,
            standardize_advantages=False,
        )

    def a3c(env):
        model = actor_critic()
        return agents.A3C(model, optimizer(model), t_max=3, gamma=0.9, phi=phi)

    def trpo(env):
        policy, v = policies.FCSoftmaxPolicy(4, 2, 1, 12), v_functions.FCVFunction(4, 1, 12)
        run.perturb(_chainer.arrays(policy))
        return agents.TRPO(policy, v, optimizer(v), gamma=0.9, phi=phi, update_interval=12, vf_batch_size=6)

    def ddpg(env):
        model = chainerrl.agents.ddpg.DDPGModel(
            q_func=q_functions.FCSAQFunction(4, 2, 12, 1),
            policy=policies.FCDeterministicPolicy(4, 1, 12, 2, np.full(2, -1.0), np.ones(2)),
        )
        return agents.DDPG(
            model,
            optimizer(model["policy"]),
            optimizer(model["q_function"]),
            buffer(),
            0.9,
            explorers.AdditiveGaussian(0.3, -1, 1),
            phi=phi,
            replay_start_size=8,
            minibatch_size=6,
        )

    def sac(env):
        def squashed(x):
            mean, ln_var = chainer.functions.split_axis(x, 2, 1)
            return distribution.SquashedGaussianDistribution(mean, var=chainer.functions.exp(ln_var))

        policy = links.Sequence(
            chainer.links.Linear(4, 12), chainer.functions.relu, chainer.links.Linear(12, 4), squashed
        )
        qs = [q_functions.FCSAQFunction(4, 2, 12, 1) for _ in range(2)]
        return agents.SoftActorCritic(
            policy,
            *qs,
            optimizer(policy),
            *map(optimizer, qs),
            buffer(),
            0.9,
            phi=phi,
            replay_start_size=8,
            minibatch_size=6,
            entropy_target=-2,
        )

    def training(make, discrete=True):
        env = ABC(size=2, discrete=discrete)
        env.action_space.seed(0)
        agent = make(env)
        observation, reward, done = env.reset(), 0.0, False
        while True:
            total = 0.0
            for _ in range(6):
                if done:
                    agent.stop_episode_and_train(observation, reward, True)
                    observation, reward = env.reset(), 0.0
                action = agent.act_and_train(observation, reward)
                observation, reward, done, _ = env.step(action)
                total += reward
            statistics = {name: value for name, value in agent.get_statistics() if value is not None}
            yield dict(statistics, reward=total)

    yield from run.together(
        dqn=training(lambda env: dqn(agents.DQN, env)),
        double=training(lambda env: dqn(agents.DoubleDQN, env)),
        pal=training(lambda env: dqn(agents.PAL, env, alpha=0.9)),
        categorical=training(categorical),
        a3c=training(a3c),
        ppo=training(ppo),
        trpo=training(trpo),
        ddpg=training(ddpg, discrete=False),
        sac=training(sac, discrete=False),
    )
