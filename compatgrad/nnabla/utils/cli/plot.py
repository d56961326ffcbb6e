"""``plot_series`` and ``plot_timer``: plot files of monitors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad.core.files import in_folder_beside

from ... import monitor
from ._steps import adds, command

__all__ = ["add_plot_series_command", "add_plot_timer_command"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@command
def plot_series_command(args: Any) -> bool:
    """Plots files that `nnabla.monitor.MonitorSeries` wrote. It needs matplotlib.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: a file cannot be read or written.

    Example:
        nnabla_cli plot_series -o loss.png -l training results/loss.series.txt
    """
    _plot(args, monitor.plot_series)
    return True


@command
def plot_timer_command(args: Any) -> bool:
    """Plots files that `nnabla.monitor.MonitorTimeElapsed` wrote, by iteration or since the start. It needs matplotlib.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: a file cannot be read or written.

    Example:
        nnabla_cli plot_timer -e -u m -o time.png results/time.timer.txt
    """
    if not args.ylabel:
        unit = _UNITS[args.time_unit]
        args.ylabel = f"Total elapsed time [{unit}]" if args.elapsed else f"Elapsed time [{unit}/iter]"
    _plot(args, monitor.plot_time_elapsed, elapsed=args.elapsed, unit=args.time_unit)
    return True


def _plot(args: Any, plot: Callable[..., None], **options: Any) -> None:
    import matplotlib

    if args.outfile:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure()
    labels = args.label or []
    for i, path in enumerate(args.inputs):
        plot(path, plot_kwargs={"label": labels[i] if i < len(labels) else path}, **options)
    axes = figure.gca()
    axes.legend(loc="best")
    axes.set(title=args.title, xlabel=args.xlabel, ylabel=args.ylabel)
    axes.set_xlim(left=args.xlim_min, right=args.xlim_max)
    axes.set_ylim(bottom=args.ylim_min, top=args.ylim_max)
    if args.outfile:
        with in_folder_beside(args.outfile) as name:
            figure.savefig(name)
    else:
        pyplot.show()
    pyplot.close(figure)


def _add(subparsers: Any, name: str, text: str, command: Callable[[Any], bool]) -> Any:
    parser = subparsers.add_parser(name, help=text)
    parser.add_argument("inputs", nargs="+", metavar="infile", help="files to plot")
    parser.add_argument("-l", "--label", action="append", help="label of a curve; given once for each file")
    parser.add_argument("-o", "--outfile", default="", help="file for the plot; without it, a window is opened")
    parser.add_argument("-x", "--xlabel", default="", help="label of the x axis")
    parser.add_argument("-y", "--ylabel", default="", help="label of the y axis")
    parser.add_argument("-t", "--title", default="", help="title")
    parser.add_argument("-T", "--ylim-max", type=float, help="largest y")
    parser.add_argument("-B", "--ylim-min", type=float, help="smallest y")
    parser.add_argument("-R", "--xlim-max", type=float, help="largest x")
    parser.add_argument("-L", "--xlim-min", type=float, help="smallest x")
    parser.set_defaults(func=command)
    return parser


@adds("plot_series loss.series.txt -o loss.png", "plot_series_command", outfile="loss.png")
def add_plot_series_command(subparsers: Any) -> None:
    _add(subparsers, "plot_series", "plot *.series.txt files", plot_series_command)


@adds("plot_timer time.timer.txt -u m", "plot_timer_command", time_unit="m")
def add_plot_timer_command(subparsers: Any) -> None:
    parser = _add(subparsers, "plot_timer", "plot *.timer.txt files", plot_timer_command)
    parser.add_argument("-e", "--elapsed", action="store_true", help="plot the time since the start")
    parser.add_argument("-u", "--time-unit", default="s", choices=list(_UNITS), help="unit of time")
