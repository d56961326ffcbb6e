"""Profiles in the forms of other tools: speedscope's JSON, and the statistics of Python's `pstats`."""

from __future__ import annotations

import json
import marshal
from typing import Any

_KINDS = (("functions", "by function"), ("layers", "by layer"), ("lines", "by line"))


def speedscope(report: dict[str, Any]) -> str:
    """For https://www.speedscope.app: a profile by function, one by layer and one by line, of a mean step."""
    frames: dict[tuple[tuple[str, Any], ...], int] = {}

    def frame(name: str, **more: Any) -> int:
        return frames.setdefault((("name", name), *more.items()), len(frames))

    profiles = []
    for kind, title in _KINDS:
        samples, weights = [], []
        for row in report[kind]:
            place = {"file": row["file"], "line": row["line"]} if kind == "lines" else {}
            parts = row["name"].split("/") if kind == "layers" else [row["name"]]
            own = row.get("self_forward", row["forward"])
            for what, seconds in (("forward", own), ("other", row.get("other", 0.0)), ("backward", row["backward"])):
                if seconds > 0:
                    samples.append([frame(what), *(frame(part, **place) for part in parts)])
                    weights.append(seconds)
        profiles.append(
            {
                "type": "sampled",
                "name": f"{title}: {' '.join(report['program'])}",
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    found = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "compatgrad profile",
        "name": " ".join(report["program"]),
        "activeProfileIndex": 0,
        "shared": {"frames": [dict(items) for items in frames]},
        "profiles": profiles,
    }
    return json.dumps(found) + "\n"


def pstats(report: dict[str, Any]) -> bytes:
    """For `pstats.Stats(FILE)` and tools that read it: lines and functions of a step. A line's own time is what its
    functions do not take."""
    found: dict[tuple[str, int, str], tuple[int, int, float, float, dict[Any, Any]]] = {}
    for row in report["functions"]:
        calls = max(round(row["calls"]), 1)
        found["~", 0, row["name"]] = calls, calls, row["total"], row["total"], {}
    for row in report["lines"]:
        calls = max(round(row["calls"]), 1)
        found[row["file"], row["line"], row["source"]] = calls, calls, row["other"], row["total"], {}
    return marshal.dumps(found)
