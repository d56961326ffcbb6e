#!/usr/bin/env python
"""Trust region policy optimization (Schulman et al., 2015) of a digit-naming policy.

Each image is a one-step episode: the policy selects a digit, and its reward is 1 if the digit is right. The natural
gradient is computed by the conjugate gradient method. The product of the Hessian of the KL divergence with a vector is
computed by differentiating twice, so that no matrix is stored.
"""

import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import serializers
from chainer.utils import type_check

import digits
from losslog import LossLog


class Policy(chainer.Chain):
    def __init__(self, n_units, n_actions):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(64, n_units)
            self.l2 = L.Linear(n_units, n_actions, initialW=chainer.initializers.Normal(0.01))

    def forward(self, x):
        return F.log_softmax(self.l2(F.tanh(self.l1(x))))


class Surrogate(chainer.Function):
    """Mean advantage of the selected actions, weighted by the ratio of their new and old probabilities."""

    def __init__(self, action, log_prob_old, advantage):
        self.action = action
        self.log_prob_old = log_prob_old
        self.advantage = advantage

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        (log_prob,) = in_types
        type_check.expect(
            log_prob.dtype.kind == "f",
            log_prob.ndim == 2,
            log_prob.shape[0] == len(self.action),
        )

    def forward(self, inputs):
        (log_prob,) = inputs
        self.retain_inputs(())
        self.shape = log_prob.shape
        rows = np.arange(len(self.action))
        ratio = np.exp(log_prob[rows, self.action] - self.log_prob_old)
        self.weighted = (ratio * self.advantage).astype(log_prob.dtype)
        return (np.asarray(self.weighted.mean()),)

    def backward(self, inputs, grad_outputs):
        (gy,) = grad_outputs
        gx = np.zeros(self.shape, dtype=self.weighted.dtype)
        gx[np.arange(len(self.action)), self.action] = gy * self.weighted / len(self.action)
        return (gx,)


class CallCounter(chainer.FunctionHook):
    """Counts how often each function ran forward and backward."""

    name = "CallCounter"

    def __init__(self):
        self.forward_calls = {}
        self.backward_calls = {}

    def forward_postprocess(self, function, in_data):
        self.forward_calls[function.label] = self.forward_calls.get(function.label, 0) + 1

    def backward_postprocess(self, function, in_data, out_grad):
        self.backward_calls[function.label] = self.backward_calls.get(function.label, 0) + 1

    def report(self):
        print(f"{'function':>24}  {'forward':>8}  {'backward':>8}")
        for label in sorted(set(self.forward_calls) | set(self.backward_calls)):
            forward, backward = self.forward_calls.get(label, 0), self.backward_calls.get(label, 0)
            print(f"{label:>24}  {forward:8d}  {backward:8d}")


def assert_twice_differentiable(variable):
    """Raise an error before training if a function is old-style, which has no second derivative."""
    stack, seen = [variable.creator_node], set()
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, chainer.FunctionAdapter):
            raise RuntimeError(f"{node.label} cannot be differentiated twice")
        stack.extend(x.creator_node for x in node.inputs)


def flatten(variables):
    return F.concat([F.flatten(v) for v in variables], axis=0)


def get_params(params):
    return np.concatenate([p.array.ravel() for p in params])


def set_params(params, flat):
    start = 0
    for p in params:
        p.array[...] = flat[start : start + p.size].reshape(p.shape)
        start += p.size


def mean_kl(log_p, log_q):
    """Mean KL divergence of the distributions q from the distributions p."""
    return F.mean(F.sum(F.exp(log_p) * (log_p - log_q), axis=1))


def hessian_vector_product(flat_grads, params, vector, damping):
    """Multiply a vector by the Hessian, given the gradients as a graph of the parameters."""
    product = F.sum(flat_grads * vector)
    rows = chainer.grad([product], params)
    return flatten(rows).array + damping * vector


def conjugate_gradient(product, b, n_iter, tol=1e-10):
    x = np.zeros_like(b)
    r = b.copy()
    p = b.copy()
    rr = r.dot(r)
    for _ in range(n_iter):
        ap = product(p)
        alpha = rr / p.dot(ap)
        x += alpha * p
        r -= alpha * ap
        rr_new = r.dot(r)
        if rr_new < tol:
            break
        p = r + rr_new / rr * p
        rr = rr_new
    return x


def sample_actions(log_prob):
    cumulative = np.exp(log_prob).cumsum(axis=1)
    u = np.random.uniform(size=(len(log_prob), 1))
    return np.minimum((cumulative < u).sum(axis=1), log_prob.shape[1] - 1)


def update(policy, params, x, t, args):
    """One TRPO step; returns the surrogate, the step's KL divergence and the mean reward."""
    with chainer.no_backprop_mode():
        log_prob_old = policy(x).array
    action = sample_actions(log_prob_old)
    reward = (action == t).astype(np.float64)
    advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    taken = log_prob_old[np.arange(len(x)), action]

    def surrogate(log_prob):
        return Surrogate(action, taken, advantage)(log_prob)

    policy.cleargrads()
    objective = surrogate(policy(x))
    objective.backward()
    g = np.concatenate([p.grad.ravel() for p in params])

    kl = mean_kl(log_prob_old, policy(x))
    assert_twice_differentiable(kl)
    flat_grads = flatten(chainer.grad([kl], params, enable_double_backprop=True))

    def product(v):
        return hessian_vector_product(flat_grads, params, v, args.damping)

    direction = conjugate_gradient(product, g, args.cg_iter)
    scale = np.sqrt(2 * args.max_kl / direction.dot(product(direction)))

    # Accept the longest of several steps that improves the surrogate within the trust region.
    theta = get_params(params)
    for k in range(10):
        set_params(params, theta + (0.5**k) * scale * direction)
        with chainer.no_backprop_mode():
            log_prob = policy(x)
            new_objective = float(surrogate(log_prob).array)
            new_kl = float(mean_kl(log_prob_old, log_prob).array)
        if new_objective > float(objective.array) and new_kl < 1.5 * args.max_kl:
            return new_objective, new_kl, reward.mean()
    set_params(params, theta)
    return float(objective.array), 0.0, reward.mean()


def evaluate(policy, x, t):
    """Cross entropy, and accuracy of the policy's most probable action."""
    with chainer.no_backprop_mode():
        log_prob = policy(x).array
    return -log_prob[np.arange(len(x)), t].mean(), (log_prob.argmax(axis=1) == t).mean()


def main():
    parser = argparse.ArgumentParser(description="TRPO on the digits of scikit-learn")
    parser.add_argument("--batchsize", "-b", type=int, default=300, help="number of episodes in an update")
    parser.add_argument("--epoch", "-e", type=int, default=30, help="number of epochs")
    parser.add_argument("--unit", "-u", type=int, default=32, help="number of hidden units")
    parser.add_argument("--max-kl", type=float, default=0.01, help="size of the trust region")
    parser.add_argument("--damping", type=float, default=0.1, help="added to the diagonal of the Hessian")
    parser.add_argument("--cg-iter", type=int, default=10, help="steps of the conjugate gradient method")
    parser.add_argument("--profile", action="store_true", help="print how often each function was called")
    parser.add_argument("--seed", "-s", type=int, default=0, help="random seed")
    parser.add_argument("--out", "-o", help="write the loss of every iteration to this JSON file")
    parser.add_argument("--model", "-m", help="save the trained policy to this npz file")
    args = parser.parse_args()

    np.random.seed(args.seed)
    chainer.global_config.dtype = np.float64  # the conjugate gradient method needs the precision
    (x_train, t_train), (x_test, t_test) = digits.load(dtype=np.float64)
    policy = Policy(args.unit, 10)
    params = list(policy.params())
    counter = CallCounter()

    log = LossLog(("loss", "surrogate", "kl", "reward", "test"))
    with counter:
        for _ in range(args.epoch):
            for index in digits.minibatches(len(x_train), args.batchsize):
                surrogate, kl, reward = update(policy, params, x_train[index], t_train[index], args)
                loss, _ = evaluate(policy, x_train, t_train)
                log.add(loss=loss, surrogate=surrogate, kl=kl, reward=reward)
            log.show(len(x_train) // args.batchsize, test=evaluate(policy, x_test, t_test)[1])

    if args.profile:
        counter.report()
    if args.out:
        log.save(args.out)
    if args.model:
        serializers.save_npz(args.model, policy)


if __name__ == "__main__":
    main()
