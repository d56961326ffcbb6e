"""Runs `probe.py` in a separate interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from tests.behaviour import probe

_LONGEST = 300  # seconds for one process; the original MXNet sometimes hangs
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(python: str, frontend: str, what: str, examples: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the probe's result for each example. After a crash a new interpreter continues with the next example."""
    found: dict[str, Any] = {}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        given, out = pathlib.Path(folder, "in.json"), pathlib.Path(folder, "out.jsonl")
        while left := {name: example for name, example in examples.items() if name not in found}:
            given.write_text(json.dumps(left))
            out.write_text("")
            command = [python, "-W", "ignore", probe.__file__, frontend, what, str(given), str(out), prefix]
            said = "it hung"
            with contextlib.suppress(subprocess.TimeoutExpired):  # the current example counts as a crash
                said = subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LONGEST
                ).stderr
            before = len(found)
            found.update(json.loads(line) for line in out.read_text().splitlines())
            if len(found) == before:
                sys.exit(f"the probe does not start:\n{said}")
    return found
