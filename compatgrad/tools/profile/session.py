"""Measures the steps of a program that runs in this process, in stages.

1. warmup: steps that are not counted;
2. timed: only the ends of steps are watched; the time of a step comes from here;
3. parts: forward, backward, update and data are watched too;
4. functions: hooks see every function and layer; the tables come from here;
5. trace, if one is asked for: torch's profiler runs.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import torch

from compatgrad._install import install
from compatgrad.core.lines import OWN, program_frame
from compatgrad.tools._words import count
from compatgrad.tools.compatgrad_recorder._calls import Watches
from compatgrad.tools.compatgrad_recorder._steps import Phases, Steps, chosen_clock, facts, quiet

from .record import LABEL, Recorder, Row, typical
from .trace import Memory, Tracer, memory_of


@dataclass
class Result:
    """What was measured. Times are in seconds."""

    times: list[float] = field(default_factory=list)  # of the timed steps
    parts: list[dict[str, float]] = field(default_factory=list)  # of each step
    hooked: list[float] = field(default_factory=list)  # times of the steps with hooks
    kept: list[float] = field(default_factory=list)  # the times in `hooked` of the steps that the tables are made from
    by_function: dict[str, Row] = field(default_factory=dict)
    by_layer: dict[str, Row] = field(default_factory=dict)
    by_line: dict[tuple[str, int], Row] = field(default_factory=dict)
    memory: list[Memory] = field(default_factory=list)
    seen: int = 0
    ends_with: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    threads: int = 0
    device: str = ""
    started: str = ""  # when the program began, in UTC
    clock: str = "wall"  # or "cpu": processor time
    trace: str = ""


class Session:
    """Watches a program in this process. `progress` is called with a text for people."""

    def __init__(self, steps: int, warmup: int, trace: str = "", memory: bool = False, progress: Any = None) -> None:
        self.result = Result(started=datetime.now(timezone.utc).isoformat(timespec="seconds"))
        self.trace, self.progress = trace, progress or (lambda text: None)
        self.wants_trace = bool(trace) or memory
        self.steps = Steps(
            [
                ("warmup", warmup),
                ("timed", steps),
                ("parts", steps),
                ("functions", steps),
                ("trace", min(steps, 4) if self.wants_trace else 0),
            ],
            enter=self._enter,
        )
        self.done: Any = None  # called when the last stage is over
        self.phases = Phases()
        self.recorder: Recorder | None = None
        self.tracer: Tracer | None = None
        self.made = Watches(_note_line)  # functions of nnabla's graphs that are made before the first step
        self.finished = False

    def start(self, install: Callable[[], None] = install) -> None:
        """Begins to watch. `install` makes the imports of the frontends compatgrad's; its finder of modules must come
        behind that of the steps."""
        install()
        self.steps.watch(self._imported)
        self._imported("nnabla.functions")

    def _imported(self, name: str) -> None:
        functions = sys.modules.get("nnabla.functions")
        if name == "nnabla.functions" and functions is not None:
            for each in list(vars(functions)):
                if not each.startswith("_"):
                    self.made.replace(functions, each, "made")

    # ---- stages ------------------------------------------------------------------------------------------------------

    def _enter(self, stage: str | None) -> None:
        self.made.remove()
        self._leave()
        steps = self.steps
        steps.begin = steps.end = steps.step = None
        if stage is None:
            self.progress("")
            self.finish()
            return
        self.progress(f"{stage}: {count(dict(steps.stages)[stage], 'step')}")
        if stage in ("parts", "functions", "trace"):
            steps.watch_parts()
        if stage == "parts":
            self.phases = Phases()
            parts = _Parts(self.phases)
            steps.begin, steps.end, steps.step = parts.begin, parts.end, parts.step
        elif stage in ("functions", "trace"):
            if stage == "trace":
                self.tracer = Tracer()
            targets = [getattr(optimizer, "target", None) for optimizer in steps.optimizers]
            recorder = Recorder(targets, self.tracer, timed=stage == "functions")
            if stage == "functions":
                self.recorder = recorder
            self.active = recorder
            recorder.set_hooks()
            steps.begin, steps.end, steps.step = recorder.begin_part, recorder.end_part, self._step
            recorder.phases = Phases()

    active: Recorder | None = None

    def _step(self, start: float, end: float) -> None:
        assert self.active is not None
        self.active.step(start, end)
        if self.tracer is not None:
            self.tracer.step()

    def _leave(self) -> None:
        """Ends what the last stage has begun."""
        if self.active is not None:
            self.active.remove_hooks()
            self.active = None
        if self.tracer is not None:
            tracer, self.tracer = self.tracer, None
            tracer.stop()
            if self.steps.over or self.steps.stage is None:
                self.result.memory = memory_of(tracer)
                if self.trace:
                    tracer.write(self.trace)
                    if os.path.exists(self.trace):  # torch raises no error
                        self.result.trace = self.trace
                    else:
                        print(f"compatgrad profile: --trace: {self.trace} could not be written", file=sys.stderr)
        self.steps.parts.remove()

    def finish(self) -> None:
        """Ends watching, and completes the result. The second call does nothing."""
        if self.finished:
            return
        self.finished = True
        self._leave()
        self.made.remove()
        steps, result = self.steps, self.result
        steps.close()
        result.times = steps.times.get("timed", [])
        result.parts = self.phases.steps
        result.hooked = steps.times.get("functions", [])
        result.seen = sum(len(times) for times in steps.times.values())
        result.ends_with = steps.what
        if self.recorder is not None:
            kept = [self.recorder.steps[k] for k in quiet(result.hooked)] if result.hooked else []
            result.by_function, result.by_layer, result.by_line = typical(kept)
            result.kept = [result.hooked[k] for k in quiet(result.hooked)] if result.hooked else []
        result.versions = _facts()
        result.clock = chosen_clock()
        result.threads = torch.get_num_threads()
        on_gpu = torch.cuda.is_available() and torch.cuda.max_memory_allocated() > 0
        result.device = (
            torch.cuda.get_device_name() if on_gpu else f"CPU ({platform.processor() or platform.machine()})"
        )
        if self.done is not None:
            self.done()


def _facts() -> dict[str, str]:
    found: dict[str, str] = facts()
    if "compatgrad" in sys.modules:
        found["compatgrad"] = sys.modules["compatgrad"].__version__
    return found


class _Parts:
    """Passes the beginnings and ends of parts on to `Phases`."""

    def __init__(self, phases: Phases) -> None:
        from .record import now

        self.phases, self.now = phases, now

    def begin(self, kind: str, function: Any, arguments: Any) -> None:
        self.phases.begin(kind, self.now())

    def end(self, kind: str, function: Any, arguments: Any) -> None:
        self.phases.end(self.now())

    def step(self, start: float, end: float) -> None:
        self.phases.step(self.now())


def _note_line(kind: str, function: Any, arguments: Any, named: Any) -> Any:
    """Calls a function of nnabla, and notes with the function that it adds to the graph where the program called it."""
    from .record import Label, _parent

    y = function(*arguments, **named)
    made = _parent(y)
    if made is not None and LABEL not in made.local_function_hooks:
        frame = program_frame(sys._getframe(1))
        if frame is not None and not frame.f_code.co_filename.startswith(OWN):
            made.local_function_hooks[LABEL] = Label("", (frame.f_code.co_filename, frame.f_lineno))
    return y
