"""Pairs the events of two recordings: by step, kind, layer, name, and where their inputs come from, not by number."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from compatgrad.tools.verify.recording import Event, Recording, distance

Key = tuple[object, ...]
_PREFIX = re.compile(r"^(contrib|npi|npx|np|image|linalg|random|sample|broadcast|elemwise)_")
_LOOKED_AT = 200  # candidates for one event


def _key(event: Event) -> Key:
    """MXNet has several names of one operator: concat and Concat, arange_like and _contrib_arange_like."""
    name = _PREFIX.sub("", event["n"]).lower().replace("_", "") if event["k"] == "forward" else event["n"]
    return event["s"], event["k"], event.get("p", ""), name or event["n"]


def _shapes(event: Event) -> Key:
    return tuple(tuple(a[1]) if a else None for a in event.get("o", ()))


class _Pairing:
    def __init__(self, original: Recording, here: Recording) -> None:
        self.original, self.here = original, here
        self.partner: dict[int, Event] = {}  # number of an original's event -> the event here
        self.back: dict[int, int] = {}
        self.counts = Counter(map(_key, original.events)), Counter(map(_key, here.events))
        self.waiting: dict[Key, list[Event]] = defaultdict(list)
        for event in here.events:
            if event["k"] != "backward":
                self.waiting[_key(event)].append(event)
        self.readers = readers(original), readers(here)

    def pair(self, a: Event, b: Event) -> None:
        self.partner[a["j"]] = b
        self.back[b["j"]] = a["j"]

    def fits(self, a: Event, b: Event) -> tuple[int, bool]:
        """How many inputs of two events come from paired functions, and whether others contradict."""
        theirs, ours = [n for n in a.get("f", ()) if n >= 0], [n for n in b.get("f", ()) if n >= 0]
        expected = [self.partner[n]["j"] for n in theirs if n in self.partner]
        contrary = any(j not in ours for j in expected)
        if len(expected) == len(theirs):  # otherwise a helper function may be in between
            contrary |= any(self.back[n] not in theirs for n in ours if n in self.back)
        return len(expected), contrary

    def choose(self, a: Event) -> Event | None:
        """The event here that belongs to the original's event `a`. If the sides have different numbers of events of a
        name, the inputs must decide which one that is."""
        key = _key(a)
        waiting = self.waiting.get(key, [])
        alike = self.counts[0][key] == self.counts[1][key]
        inner = any(n >= 0 for n in a.get("f", ()))
        for shaped in (True, False):
            for place, b in enumerate(waiting[:_LOOKED_AT]):
                if shaped != (_shapes(a) == _shapes(b)):
                    continue
                known, contrary = self.fits(a, b)
                sure = shaped or a["k"] != "forward"
                if not contrary and (known or alike and sure and (not inner or self.close(a, b))):
                    return waiting.pop(place)
        return None

    def composed(self, a: Event, b: Event) -> tuple[Event, Event]:
        """What to pair instead of a and b, whose results differ in shape: one side may compute in two functions what
        the other computes in one, and then the second of them has the result of that one."""
        for side, (first, other) in enumerate(((a, b), (b, a))):
            for reader in self.readers[side].get(first["j"], ()):
                key = _key(reader)
                more = self.counts[side][key] > self.counts[1 - side][key]
                free = reader["j"] not in (self.back if side else self.partner)
                if more and free and first.get("l") == reader.get("l") and _shapes(reader) == _shapes(other):
                    return (a, reader) if side else (reader, b)
        return a, b

    def close(self, a: Event, b: Event) -> bool:
        """Whether results are nearly the same: needed where nothing is known of the functions before."""
        for x, y in zip(a.get("o", ()), b.get("o", ()), strict=False):
            d = distance(self.original, x, self.here, y)
            if d is not None and d.relative > 1e-2:
                return False
        return True

    def run(self) -> None:
        for a in self.original.events:
            if a["k"] == "backward":
                continue
            b = self.choose(a) if a["j"] not in self.partner else None
            if b is None:
                continue
            if a["k"] == "forward" and _shapes(a) != _shapes(b):
                first, second = self.composed(a, b)
                if second is not b:
                    self.waiting[_key(second)].remove(second)
                a, b = first, second
            self.pair(a, b)
        self.backward()

    def backward(self) -> None:
        """Backward events belong together if their functions do."""
        waiting: dict[Key, list[Event]] = defaultdict(list)
        for b in self.here.events:
            if b["k"] == "backward":
                waiting[b["s"], self.name_of(self.here, b), b["of"], b.get("p")].append(b)
        for queue in waiting.values():
            queue.reverse()
        for a in self.original.events:
            if a["k"] == "backward":
                of = self.partner[a["of"]]["j"] if a["of"] in self.partner else -1
                queue = waiting[a["s"], self.name_of(self.original, a), of, a.get("p")]
                if queue and (of >= 0 or a["of"] < 0):
                    self.pair(a, queue.pop())

    def name_of(self, recording: Recording, event: Event) -> str:
        """A name that both sides have for the backward of a function: none where functions of two names are paired."""
        number = event["of"] if recording is self.original else self.back.get(event["of"], -1)
        if number not in self.partner or _key(self.original.events[number]) == _key(self.partner[number]):
            return str(event["n"])
        return ""


def readers(recording: Recording) -> dict[int, list[Event]]:
    """The functions that read the results of each function."""
    found: dict[int, list[Event]] = defaultdict(list)
    for event in recording.events:
        for source in {n for n in event.get("f", ()) if n >= 0} if event["k"] == "forward" else ():
            found[source].append(event)
    return found


def align(original: Recording, here: Recording) -> tuple[list[tuple[Event, Event]], list[tuple[str, Event]]]:
    """The pairs (original, here) in the original's order, and what only one side has: ("original" or "here", event)."""
    pairing = _Pairing(original, here)
    pairing.run()
    pairs = [(a, pairing.partner[a["j"]]) for a in original.events if a["j"] in pairing.partner]
    single = [("original", a) for a in original.events if a["j"] not in pairing.partner]
    return pairs, single + [("here", b) for b in here.events if b["j"] not in pairing.back]


class WritingOrder:
    """Says whether a gradient that several functions add up can be compared before all of them have run: only if both
    sides have run the same ones by then."""

    def __init__(self, original: Recording, here: Recording, pairs: list[tuple[Event, Event]]) -> None:
        self.writers = self._writers(original), self._writers(here)
        self.partner = {a["j"]: b["j"] for a, b in pairs}

    @staticmethod
    def _key(event: Event, slot: int) -> Key | None:
        into = event.get("g", ())
        if slot >= len(into):
            return None
        if into[slot] >= 0:
            return event["s"], "result", into[slot]
        leaves = event.get("w")
        return (event["s"], "leaf", leaves[slot]) if leaves else None

    def _writers(self, recording: Recording) -> dict[Key, list[int]]:
        found: dict[Key, list[int]] = defaultdict(list)
        for event in recording.events:
            for slot in range(len(event.get("o", ()))) if event["k"] == "backward" else ():
                key = self._key(event, slot)
                if key is not None:
                    found[key].append(event["j"])
        return found

    def alike(self, a: Event, b: Event, slot: int) -> bool:
        keys = self._key(a, slot), self._key(b, slot)
        if keys[0] is None or keys[1] is None or "o" not in a:
            return True
        theirs = {self.partner.get(j) for j in self.writers[0][keys[0]] if j < a["j"]}
        return theirs == {j for j in self.writers[1][keys[1]] if j < b["j"]}
