"""Times the same program on an original, in the original's interpreter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compatgrad.tools._words import agreeing, count
from compatgrad.tools.verify.runs import write_recorder


class OriginalFailed(Exception):
    """The program could not be timed on the original; the message says why."""


def time_original(python: str, program: Sequence[str], steps: int, warmup: int, clock: str = "wall") -> dict[str, Any]:
    """What the recorder's `_steps` measures in the interpreter `python`: the program ends there after its last step."""
    found = shutil.which(python)
    if found is None:
        raise OriginalFailed(f"--against: expected a Python interpreter, and {python!r} is none")
    with tempfile.TemporaryDirectory() as folder:
        timer, output = os.path.join(folder, "steps.pyz"), os.path.join(folder, "out.json")
        write_recorder(Path(timer), "_steps")
        command = [found, timer, "--steps", str(steps), "--warmup", str(warmup), "--clock", clock, "--output", output]
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            code = subprocess.call(
                [*command, "--", *program], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
            log.seek(0)
            said = log.read().strip()
        try:
            with open(output) as result:
                measured: dict[str, Any] = json.load(result)
        except (OSError, ValueError):
            measured = {"times": [], "seen": 0}
    if len(measured["times"]) < steps:
        tail = "\n".join(f"  | {line}" for line in said.splitlines()[-15:])
        number = int(measured["seen"])
        seen = f"{count(number, 'step')} {agreeing(number, 'was', 'were')} seen, and {warmup} + {steps} are needed"
        how = f"the program ended with the status {code} in {python}; {seen}"
        raise OriginalFailed(f"--against: {how}" + (f"\n{tail}" if tail else ""))
    measured["interpreter"] = found
    return measured
