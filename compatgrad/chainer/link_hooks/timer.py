"""Timing of links."""

from compatgrad.chainer import _profile
from compatgrad.chainer.link_hook import LinkHook


class TimerHook(_profile.Stopwatch, LinkHook):
    """Measures how long the forward of each link runs, with the links inside it; see `print_report`."""

    name = "TimerHook"
    _header = "LinkName"

    def forward_preprocess(self, args):
        self._start(args.link.xp)

    def forward_postprocess(self, args):
        self._stop(type(args.link).__name__)
