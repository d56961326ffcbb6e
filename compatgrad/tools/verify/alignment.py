"""Pairs the events of two recordings: by step, kind, layer, name and occurrence, not by number."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from compatgrad.tools.verify.recording import Event, Recording

Key = tuple[object, ...]
_PREFIX = re.compile(r"^(contrib|npi|npx|np|image|linalg|random|sample|broadcast|elemwise)_")


def _key(event: Event) -> Key:
    """MXNet has several names of one operator: concat and Concat, arange_like and _contrib_arange_like."""
    name = _PREFIX.sub("", event["n"]).lower().replace("_", "") if event["k"] == "forward" else event["n"]
    return event["k"], event.get("p", ""), name or event["n"]


def _groups(recording: Recording) -> dict[tuple[int, str], list[Event]]:
    groups: dict[tuple[int, str], list[Event]] = defaultdict(list)
    for event in recording.events:
        groups[event["s"], event["k"]].append(event)
    return groups


def _pairs(theirs: list[Event], ours: list[Event]) -> Iterator[tuple[Event | None, Event | None]]:
    """Pairs events of one step and kind; None where the other side has no such event.

    The occurrences of a name in a layer are paired only if both sides have as many of them: if one is missing, nobody
    knows which.
    """
    counts = Counter(map(_key, theirs)), Counter(map(_key, ours))
    waiting: dict[Key, list[Event]] = defaultdict(list)
    for event in reversed(ours):
        waiting[_key(event)].append(event)
    for event in theirs:
        key = _key(event)
        yield event, waiting[key].pop() if counts[0][key] == counts[1][key] else None
    yield from ((None, event) for event in ours if counts[0][_key(event)] != counts[1][_key(event)])


def align(original: Recording, here: Recording) -> tuple[list[tuple[Event, Event]], list[tuple[str, Event]]]:
    """The pairs (original, here) in the original's order, and what only one side has: ("original" or "here", event)."""
    pairs: list[tuple[Event, Event]] = []
    single: list[tuple[str, Event]] = []
    theirs, ours = _groups(original), _groups(here)
    for group in sorted({*theirs, *ours}):
        for a, b in _pairs(theirs.get(group, []), ours.get(group, [])):
            if a is not None and b is not None:
                pairs.append((a, b))
            elif a is not None:
                single.append(("original", a))
            elif b is not None:
                single.append(("here", b))
    pairs.sort(key=lambda pair: pair[0]["j"])
    return pairs, single
