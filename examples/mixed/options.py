"""Options and plots of curves shared by the programs."""

import argparse

import numpy as np
import torch


def parser(doc, epoch, batchsize, lr):
    """A parser with the options of every program; `--help` begins with `doc`, the program's docstring."""
    p = argparse.ArgumentParser(description=doc, formatter_class=_Help)
    p.add_argument("--epoch", "-e", type=int, default=epoch, help="number of epochs")
    p.add_argument("--batchsize", "-b", type=int, default=batchsize, help="images in a mini-batch")
    p.add_argument("--lr", "-l", type=float, default=lr, help="learning rate")
    p.add_argument("--seed", "-s", type=int, default=0, help="seed of parameters, data order and noise")
    p.add_argument("--plot", "-p", metavar="IMAGE", help="draw the curves of the training (needs matplotlib)")
    return p


class _Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Shows the docstring without reformatting, and the defaults of options that have one."""

    def _get_help_string(self, action):
        return action.help if action.default is None else super()._get_help_string(action)


def start(args):
    """Seeds the random numbers, and checks before the training what would otherwise fail after it."""
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    if args.plot:
        try:
            import matplotlib
        except ImportError as error:
            raise SystemExit(f"--plot needs matplotlib ({error}): pip install matplotlib") from None
        matplotlib.use("Agg")


def plot(path, curves):
    """Plots `curves`, a dict of lists with a value per epoch, one below the other."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(curves), sharex=True, squeeze=False, figsize=(6, 2 * len(curves)))
    for axis, (name, values) in zip(axes[:, 0], curves.items(), strict=True):
        axis.plot(range(1, len(values) + 1), values)
        axis.set_ylabel(name)
    axis.set_xlabel("epoch")
    figure.tight_layout()
    figure.savefig(path)
