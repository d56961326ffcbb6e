"""Options, progress and files shared by the programs."""

import argparse
import json
import logging
import time

import mxnet as mx
import numpy as np


def parser(description, steps, batch_size, lr):
    """An argument parser with the options of every program."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--steps", "-n", type=int, default=steps, help="number of updates")
    p.add_argument("--batch-size", "-b", type=int, default=batch_size, help="samples in an update")
    p.add_argument("--lr", type=float, default=lr, help="learning rate")
    p.add_argument("--gpu", "-g", type=int, default=-1, help="number of the GPU, -1 for the CPU")
    p.add_argument("--seed", "-s", type=int, default=0, help="seed of parameters, data order and noise")
    p.add_argument("--log-interval", type=int, default=50, help="number of updates between two lines of the log")
    p.add_argument("--init", metavar="FILE", help="start from the parameters in this .params file")
    p.add_argument("--save", metavar="FILE", help="save the trained parameters to this .params file")
    p.add_argument("--curve", metavar="FILE", help="write the values of every update to this JSON file")
    p.add_argument("--plot", metavar="FILE", help="plot these values to this image (needs matplotlib)")
    return p


def start(args):
    """Seed the random numbers; return the context to compute in."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    np.random.seed(args.seed)
    mx.random.seed(args.seed)
    return mx.cpu() if args.gpu < 0 else mx.gpu(args.gpu)


def initialize(net, init, args, ctx):
    """Initialize the parameters of a network, or read them from a file."""
    net.initialize(init, ctx=ctx)
    if args.init:
        net.load_parameters(args.init, ctx=ctx)


class Curve(object):
    """Records the values of every update and logs their means."""

    def __init__(self, args):
        self.args = args
        self.records = []
        self.tic = time.time()

    def add(self, **values):
        """Record the values of one update: arrays of one element, or numbers."""
        numbers = {k: v.asscalar() if isinstance(v, mx.nd.NDArray) else v for k, v in values.items()}
        self.records.append({k: float(v) for k, v in numbers.items()})
        n = self.args.log_interval
        if len(self.records) % n == 0:
            last = self.records[-n:]
            means = {k: np.mean([r[k] for r in last if k in r]) for k in sorted(set().union(*last))}
            means = ", ".join("%s %.5f" % item for item in means.items())
            logging.info("[update %d] %s, %.0f updates/s", len(self.records), means, n / (time.time() - self.tic))
            self.tic = time.time()

    def finish(self, net):
        """Write the files that the options name."""
        if self.args.curve:
            with open(self.args.curve, "w") as f:
                json.dump(self.records, f, indent=1)
        if self.args.save:
            net.save_parameters(self.args.save)
        if self.args.plot:
            self.plot(self.args.plot)

    def plot(self, path):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        for name in sorted(set().union(*self.records)):
            steps = [i for i, r in enumerate(self.records) if name in r]
            pyplot.plot(steps, [self.records[i][name] for i in steps], label=name)
        pyplot.xlabel("update")
        pyplot.legend()
        pyplot.savefig(path)
