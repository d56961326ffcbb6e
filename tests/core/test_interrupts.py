"""Ctrl-C at random times of training steps: a share of the 10,000 that `python -m tests.core.interrupts` sends.

It detects faults such as MXNet's recording flag left on, or another error of torch's Python code in place of
KeyboardInterrupt.
"""

import signal
import subprocess
import sys

import pytest

import compatgrad.chainer as chainer
import compatgrad.nnabla as nn
from compatgrad import _C
from compatgrad.chainer.link_hook import _get_link_hooks
from compatgrad.core.configuration import scope, using_modes
from compatgrad.nnabla.recompute import get_global_recompute
from tests.core.interrupts import OF


@pytest.mark.parametrize("frontend", OF)
def test_interrupts_are_raised_and_leave_no_state(frontend):
    command = [sys.executable, "-m", "tests.core.interrupts", frontend, "150", "--minutes", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "'in a call': " in done.stdout, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"


class Place:
    level = 0


def test_a_block_that_cannot_be_entered_sets_nothing():
    with pytest.raises(AttributeError), scope(lambda: ({"debug": True}, ((Place, "level", 1), (0, "x", 2)), None)):
        raise AssertionError("entered")
    assert Place.level == 0 and _C.get_mode_raw("debug") is None
    with pytest.raises(ValueError, match="expected one of"), using_modes(train=False, unknown=True):
        raise AssertionError("entered")
    assert _C.get_mode_raw("train") is None
    with pytest.raises(TypeError, match="settings"), scope(lambda: None):  # type: ignore[arg-type,return-value]
        raise AssertionError("entered")


def test_nested_blocks_restore_in_order():
    block = scope(lambda: ({"train": False}, ((Place, "level", Place.level + 1), (Place, "new", 1)), "said"))
    with block as said, block:
        assert (said, Place.level, _C.get_mode_raw("train")) == ("said", 2, False)
    assert (Place.level, hasattr(Place, "new"), _C.get_mode_raw("train")) == (0, False, None)
    with pytest.raises(RuntimeError, match="left without being entered"):
        block.__exit__(None, None, None)


class Hook(chainer.LinkHook):
    name = "interrupted"


def enter_process_wide_blocks():
    with nn.auto_forward(), nn.recompute(), Hook():
        pass


def test_interrupts_of_process_wide_settings_and_link_hooks():
    def raise_interrupt(signum, frame):
        raise KeyboardInterrupt

    before, interrupts = signal.signal(signal.SIGALRM, raise_interrupt), 0
    try:
        for k in range(3000):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-6 * (1 + k % 30))
                while True:
                    enter_process_wide_blocks()
            except KeyboardInterrupt:
                interrupts += 1
            assert not nn.get_auto_forward() and not get_global_recompute() and not _get_link_hooks()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupts == 3000


def test_a_hook_may_have_attributes_of_any_name():
    class Timed(chainer.FunctionHook):
        name = "timed"

        def __init__(self):
            super().__init__()
            self._thread = None

    with Timed():
        assert "timed" in _C.function_hooks()
    assert "timed" not in _C.function_hooks()
