"""Options, monitors and files shared by the programs."""

import argparse
import json

import nnabla as nn
import nnabla.random
from nnabla.ext_utils import get_extension_context
from nnabla.logger import logger
from nnabla.monitor import Monitor, MonitorSeries, MonitorTimeElapsed


def parser(description, max_iter, learning_rate):
    """An argument parser with the options of every program."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--batch-size", "-b", type=int, default=50)
    p.add_argument("--max-iter", "-i", type=int, default=max_iter, help="number of updates")
    p.add_argument("--learning-rate", "-l", type=float, default=learning_rate)
    p.add_argument("--context", "-c", default="cpu", help="extension module, e.g. cpu, cudnn")
    p.add_argument("--device-id", "-d", default="0")
    p.add_argument("--seed", "-s", type=int, default=313, help="seed of parameters, data order and noise")
    p.add_argument("--initial-parameters", help="start from the parameters in this .h5 file")
    p.add_argument("--monitor-path", "-m", help="folder for the monitors' files")
    p.add_argument("--monitor-interval", type=int, default=50)
    p.add_argument("--out", "-o", help="write the values of every iteration to this JSON file")
    p.add_argument("--save", help="save the trained parameters to this .h5 file")
    return p


def start(args):
    """Set the context, seed the random numbers, and load the initial parameters if a file is given."""
    nn.set_default_context(get_extension_context(args.context, device_id=args.device_id))
    nnabla.random.seed(args.seed)
    nn.clear_parameters()
    if args.initial_parameters:
        nn.load_parameters(args.initial_parameters)


class Log(object):
    """A MonitorSeries for each name, and a record of all values."""

    def __init__(self, args, *names, **intervals):
        monitor = Monitor(args.monitor_path) if args.monitor_path else None
        interval = args.monitor_interval
        intervals.update({name: interval for name in names})
        self.series = {name: MonitorSeries(name, monitor, interval=n) for name, n in intervals.items()}
        self.time = MonitorTimeElapsed("elapsed", monitor, interval=interval)
        self.records = {}

    def add(self, i, **values):
        values = {name: float(value) for name, value in values.items()}
        self.records.setdefault(i, {"iteration": i}).update(values)
        for name, value in values.items():
            self.series[name].add(i, value)
        self.time.add(i)

    def finish(self, args):
        if args.out:
            with open(args.out, "w") as f:
                json.dump(list(self.records.values()), f, indent=1)
        if args.save:
            nn.save_parameters(args.save)
        logger.info("done")
