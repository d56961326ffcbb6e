"""Extensions of the trainer (`chainer.training.extensions`)."""

from compatgrad.chainer.training.extensions import snapshot_writers
from compatgrad.chainer.training.extensions._snapshot import snapshot, snapshot_object
from compatgrad.chainer.training.extensions.computational_graph import DumpGraph
from compatgrad.chainer.training.extensions.evaluator import Evaluator
from compatgrad.chainer.training.extensions.exponential_shift import ExponentialShift
from compatgrad.chainer.training.extensions.fail_on_nonnumber import FailOnNonNumber
from compatgrad.chainer.training.extensions.inverse_shift import InverseShift
from compatgrad.chainer.training.extensions.linear_shift import LinearShift
from compatgrad.chainer.training.extensions.log_report import LogReport
from compatgrad.chainer.training.extensions.micro_average import MicroAverage
from compatgrad.chainer.training.extensions.multistep_shift import MultistepShift
from compatgrad.chainer.training.extensions.parameter_statistics import ParameterStatistics
from compatgrad.chainer.training.extensions.plot_report import PlotReport
from compatgrad.chainer.training.extensions.polynomial_shift import PolynomialShift
from compatgrad.chainer.training.extensions.print_report import PrintReport
from compatgrad.chainer.training.extensions.progress_bar import ProgressBar
from compatgrad.chainer.training.extensions.step_shift import StepShift
from compatgrad.chainer.training.extensions.value_observation import observe_lr, observe_value
from compatgrad.chainer.training.extensions.variable_statistics_plot import VariableStatisticsPlot
from compatgrad.chainer.training.extensions.variable_unchain import unchain_variables
from compatgrad.chainer.training.extensions.warmup_shift import WarmupShift

dump_graph = DumpGraph

__all__ = [
    "DumpGraph",
    "Evaluator",
    "ExponentialShift",
    "FailOnNonNumber",
    "InverseShift",
    "LinearShift",
    "LogReport",
    "MicroAverage",
    "MultistepShift",
    "ParameterStatistics",
    "PlotReport",
    "PolynomialShift",
    "PrintReport",
    "ProgressBar",
    "StepShift",
    "VariableStatisticsPlot",
    "WarmupShift",
    "dump_graph",
    "observe_lr",
    "observe_value",
    "snapshot",
    "snapshot_object",
    "snapshot_writers",
    "unchain_variables",
]
