"""Pairs the events of two recordings: by step, kind, layer, name and occurrence, not by number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from compatgrad.tools.verify.recording import Event, Recording

Key = tuple[object, ...]


def _key(event: Event) -> Key:
    return event["k"], event.get("p", ""), event["n"]


def _looks(event: Event) -> Key:
    shapes = tuple(tuple(a[1]) if a else None for a in (*event.get("i", ()), *event.get("o", ())))
    return *_key(event), shapes


def _groups(recording: Recording) -> dict[tuple[int, str], list[Event]]:
    groups: dict[tuple[int, str], list[Event]] = defaultdict(list)
    for event in recording.events:
        groups[event["s"], event["k"]].append(event)
    return groups


def _pairs(ours: list[Event], theirs: list[Event]) -> Iterator[tuple[Event | None, Event | None]]:
    """Pairs events of one step and kind; None where the other side has no such event."""
    a, b = Counter(map(_key, theirs)), Counter(map(_key, ours))
    if a == b:
        waiting: dict[Key, list[Event]] = defaultdict(list)
        for event in reversed(ours):
            waiting[_key(event)].append(event)
        yield from ((event, waiting[_key(event)].pop()) for event in theirs)
        return
    matcher = SequenceMatcher(None, [_looks(e) for e in theirs], [_looks(e) for e in ours], autojunk=False)
    for tag, i, i_, j, j_ in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(theirs[i:i_], ours[j:j_], strict=True)
            continue
        left = list(ours[j:j_])
        for event in theirs[i:i_]:  # what changed its shape is the same function
            same = next((e for e in left if _key(e) == _key(event)), None)
            if same is not None:
                left.remove(same)
            yield event, same
        yield from ((None, event) for event in left)


def align(original: Recording, here: Recording) -> tuple[list[tuple[Event, Event]], list[tuple[str, Event]]]:
    """The pairs (original, here) in the original's order, and what only one side has: ("original" or "here", event)."""
    pairs: list[tuple[Event, Event]] = []
    single: list[tuple[str, Event]] = []
    theirs, ours = _groups(original), _groups(here)
    for group in _in_order((*theirs, *ours)):
        for a, b in _pairs(ours.get(group, []), theirs.get(group, [])):
            if a is not None and b is not None:
                pairs.append((a, b))
            else:
                single.append(("original", a) if a is not None else ("here", b))  # type: ignore[arg-type]
    pairs.sort(key=lambda pair: pair[0]["j"])
    return pairs, single


def _in_order(groups: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted(set(groups))
