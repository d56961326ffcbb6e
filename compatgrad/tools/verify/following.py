"""Follows two recordings side by side and finds where they first differ by more than rounding allows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from compatgrad.tools.verify import rounding
from compatgrad.tools.verify.alignment import WritingOrder, align, readers
from compatgrad.tools.verify.differences import crossed, stretched
from compatgrad.tools.verify.findings import Comparison, Finding
from compatgrad.tools.verify.parameters import Parameters
from compatgrad.tools.verify.recording import Distance, Event, Recording, distance
from compatgrad.tools.verify.sizes import Sizes

__all__ = ["compare"]

OWN_TURN = ("initial", "gradient", "update")  # kinds of events that are compared before or after all other events
# inputs of the original's functions that the function here does not have
NOT_HERE = {("Gaussian", 1)}  # the logarithm of the variance; here it is the noise times the standard deviation
INCOMPARABLE = 0.05  # from this relative drift on, trainings that started alike are no longer compared


class _Follower:
    def __init__(self, original: Recording, here: Recording, factor: float, stop: bool, again: bool) -> None:
        self.again = again
        self.original, self.here, self.factor, self.stop = original, here, factor, stop
        self.pairs, self.single = align(original, here)
        self.order = WritingOrder(original, here, self.pairs)
        self.error: dict[int, float] = {}  # number of an original's event -> relative error of its results
        self.slots: dict[int, list[float]] = {}
        self.consumers = readers(original)
        self.backward_of: dict[int, list[Event]] = defaultdict(list)
        self.users: dict[str, list[Event]] = {}  # parameter -> the functions that read it in this step
        self.raw: dict[str, float] = {}  # the relative errors of gradients, of which some are zero but for rounding
        self.total: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])  # squares of errors and sizes, by step
        self.worst: dict[int, dict[str, float]] = defaultdict(dict)
        self.layers: dict[str, tuple[int, float]] = {}
        self.counts: dict[str, int] = defaultdict(int)
        self.findings: list[Finding] = []
        self.drift = 0.0  # the largest error so far
        self.until: int | None = None
        self.draws: int | None = None
        self.notes: list[str] = []
        self.doubtful: list[Finding] = []
        self.sizes = Sizes(original)
        self.parameters = Parameters(original, here, self.sizes, again, self.doubtful)
        self.written: dict[tuple[int, int], float] = {}  # (step, array) -> error of a gradient that is added to
        for event in original.events:
            if event["k"] == "backward":
                self.backward_of[event["of"]].append(event)

    # ---- pieces ----
    def _of(self, a: Any, b: Any) -> Distance | None:
        return distance(self.original, a, self.here, b)

    def _note(self, step: int, phase: str, name: str, error: float) -> None:
        self.worst[step][phase] = max(self.worst[step].get(phase, 0.0), error)
        count, largest = self.layers.get(name, (0, 0.0))
        self.layers[name] = count + 1, max(largest, error)
        self.counts[phase] += 1

    def _terms(self, a: Event, kind: str) -> float:
        """The size of numbers that are added and may cancel: inputs of a function, or a parameter before its update."""
        previous = self.parameters.previous.get(a["n"])
        if kind == "update" and previous is not None:
            return self.sizes.of(previous[0])
        return self.sizes.largest_input(a) if a["k"] == "forward" and rounding.cancels(a["n"]) else 0.0

    def _crossed(self, finding: Finding, x: Any, y: Any) -> bool:
        """Whether a difference may come from single elements beyond a threshold, such as the 0 of ReLU. Where the
        arrays are not there, it is noted as doubtful."""
        d = finding.distance
        most = rounding.of_single_elements(d.count)
        most *= 2 if self.again else 1  # statistics are right to a factor of two
        if d.relative > most or (finding.share > 100 and d.count < finding.share):
            return False  # too much for single elements
        if not finding.came_in:
            return False
        both = self.original.whole(x), self.here.whole(y)
        if both[0] is not None and both[1] is not None:
            return crossed(both[0], both[1], finding.allowed, finding.share)
        self.doubtful.append(finding)
        return True

    def _outcome(
        self,
        pair: tuple[Event, Event],
        outs: str,
        came_in: float,
        kind: str = "function",
        floor: float = 0.0,
        names: Sequence[str] = (),
        upstream: tuple[float, int] = (0.0, 0),
    ) -> Finding | None:
        """Compares the arrays `outs` of a pair. Returns a finding if one is further apart than rounding and what
        `came_in` allow. floor: the least size that the arrays of leaves are taken to have; names: of the functions that
        may have thresholds."""
        a, b = pair
        errors, found = [], None
        elements = sum(math.prod(x[1]) for x in a.get("i", ()) if x)
        for source in a.get("f", ()):
            if source >= 0:
                elements += sum(math.prod(x[1]) for x in self.original.events[source].get("o", ())[:1] if x)
        theirs, ours = a.get(outs, ()), b.get(outs, ())
        raw = [0.0] * len(theirs)  # relative to the arrays themselves
        terms = self._terms(a, kind)
        for slot, (x, y) in enumerate(zip(theirs, ours, strict=False)):
            d = self._of(x, y)
            if d is None or a["k"] == "backward" and (stretched(x, y) or not self.order.alike(a, b, slot)):
                errors.append(0.0)
                continue
            leaf = outs == "o" and a.get("g", [-1] * (slot + 1))[slot] < 0
            tiny = 1e-4 * self.sizes.backward[a["s"]] if a["k"] in ("backward", "gradient") else 0.0
            scale = max(d.size, floor if leaf else 0.0, self.sizes.of_sum(d.count, upstream), tiny)
            scale = max(scale, terms if not slot or a["k"] == "forward" else 0.0)
            raw[slot] = d.relative if math.isfinite(d.relative) else 0.0
            self.raw[a["n"]] = d.relative
            relative = d.relative if d.why or not d.error else d.error / scale if scale else math.inf
            errors.append(relative)
            allowed = self.allowed(a, d, elements, came_in, names)
            if a["k"] == "update" and slot:  # 1 - 0.999 in single precision has five digits
                allowed = max(allowed, 100 * rounding.tolerance(d.dtype))
            if relative > allowed and found is None:
                found = Finding(kind, a["s"], a, b, outs, slot, d, allowed, came_in, why=d.why)
                found.share = 100 if any(map(rounding.has_threshold, names)) else 1000
                if not d.why and (names or a["k"] == "backward") and self._crossed(found, x, y):
                    found = None
        self.slots[a["j"]] = raw
        error = max([e for e in errors if math.isfinite(e)], default=0.0)
        # what follows works with a difference of nearly equal numbers, of which only rounding is left
        self.error[a["j"]] = max(
            [error, *(min(r or 1.0, 1.0) for r, e in zip(raw, errors, strict=False) if terms and e)]
        )
        place = a.get("p") or ""
        self._note(a["s"], a["k"], f"{place.rstrip('/')}/{a['n']}" if place else a["n"], error)
        if found is None and a["k"] == "forward":
            self.drift = max(self.drift, error)
        return found

    def allowed(self, a: Event, d: Distance, elements: int, came_in: float, names: Sequence[str]) -> float:
        """The relative error that rounding allows; names: of the functions that computed the array."""
        factor = max(rounding.factor(name, elements, d.count) for name in names or [a["n"]])
        factor *= 3 if a["k"] == "backward" else 1
        own = rounding.tolerance(d.dtype) * factor * self.factor
        growth = rounding.growth(a["n"], self.sizes.elements_each(a))
        if rounding.counts_in_steps(a["n"]) and came_in:
            return math.inf
        if not rounding.tolerance(d.dtype):  # integers
            return math.inf if came_in else 0.0
        return own * growth / rounding.GROWTH + rounding.NOISE + growth * came_in

    # ---- kinds of events ----
    def initial(self, pair: tuple[Event, Event]) -> Finding | None:
        a, b = pair
        found = self._outcome(pair, "o", 0.0, "initial")
        self.parameters.keep(a, b, self.error[a["j"]])
        return found

    def forward(self, pair: tuple[Event, Event]) -> Finding | None:
        a, b = pair
        came_in, inputs = 0.0, []
        through: list[Event] = []
        sources = a.get("f", [-1] * len(a.get("i", ())))
        for slot, (x, y) in enumerate(zip(a.get("i", ()), b.get("i", ()), strict=False)):
            source = sources[slot] if slot < len(sources) else -1
            name = f"input {slot}"
            if source >= 0:
                came_in = max(came_in, self._error_of(source, through))
                continue
            d = self._of(x, y)
            if d is None or (a["n"], slot) in NOT_HERE:
                continue
            if d.relative > 1e-4:  # hooks may see the inputs in another order
                others = filter(None, (self._of(x, z) for z in b.get("i", ()) if z))
                d = min((d, *others), key=lambda other: other.relative)
            parameter = self.parameters.named(x, a)
            if parameter is not None:
                name += f", the parameter {parameter}"
                self.users.setdefault(parameter, []).append(a)
            if parameter is None and slot >= 3 and "norm" in a["n"].lower():  # statistics, which the function changed
                continue
            inputs.append((name, d))
            expected = self.parameters.error.get(parameter or "", self.drift)
            limit = 2 * rounding.tolerance(d.dtype) * self.factor + rounding.NOISE + rounding.GROWTH * expected
            if d.relative > limit and (rounding.tolerance(d.dtype) or not self.drift):
                kind = "batch" if parameter is None else "initial" if a["s"] == 1 else "parameter"
                return Finding(kind, a["s"], a, b, "i", slot, d, limit, 0.0, inputs, why=d.why)
            size = d.size
            if parameter is not None and len(x[1]) == 1 and a.get("o") and a["o"][0]:  # a bias, or similar
                size = max(size, self.sizes.of(a["o"][0]))
            came_in = max(came_in, d.error / size if size and math.isfinite(d.error) else 0.0)
        if not a.get("f") and not inputs:
            came_in = self.drift
        found = self._outcome(pair, "o", came_in)
        if found is not None:
            found.inputs, found.through = inputs, through
            if rounding.RANDOM.search(a["n"]) and found.distance.relative > 0.05 and found.agreed:
                found.kind = "random"
        return found

    def _error_of(self, number: int, through: list[Event]) -> float:
        """The error of a function's results; if only the original has the function, that of its inputs."""
        if number in self.error:
            return self.error[number]
        event = self.original.events[number]
        if event["k"] != "forward" or len(through) > 50:
            return 0.0
        through.append(event)
        return max([self._error_of(n, through) for n in event.get("f", ()) if n >= 0], default=0.0)

    def _consumers(self, number: int) -> list[tuple[Event, int]]:
        """The functions whose backward passes made the gradient of a function's results, each with the number of the
        function to whose results it gave them: that function, or one after it whose own backward was not recorded, as
        that of MXNet's additions, which passes gradients on as they are."""
        found, looked, waiting = [], {number}, [number]
        while waiting and len(looked) < 100:
            at = waiting.pop()
            for event in self.consumers.get(at, ()):
                if event["j"] in self.backward_of:
                    found.append((event, at))
                elif event["j"] not in looked:
                    looked.add(event["j"])
                    waiting.append(event["j"])
        return found

    def backward(self, pair: tuple[Event, Event]) -> Finding | None:
        """Chainer's events have the gradients of the function's results, nnabla's and MXNet's those of its inputs."""
        a, _ = pair
        pairs = self._consumers(a["of"])
        consumers = [event for event, _ in pairs]
        came_in = self.error.get(a["of"], 0.0)
        through: list[Event] = []
        upstream = 0.0, 0
        for consumer, of in pairs:
            for event in self.backward_of[consumer["j"]]:
                if event["j"] not in self.slots:  # the event has no partner
                    through.append(consumer)
                errors = self.slots.get(event["j"], [])
                if "o" in event:
                    errors = [e for e, n in zip(errors, event["g"], strict=False) if n == of]
                    for x in (x for x, n in zip(event["o"], event["g"], strict=False) if n == of and x):
                        upstream = max(upstream, (self.sizes.of(x), math.prod(x[1])))
                came_in = max([came_in, *filter(math.isfinite, errors)])
            values = (self.error.get(n, 0.0) for n in (consumer["j"], *consumer.get("f", ())))
            came_in = max([came_in, *values])
        came_in = max([came_in, *(self.error.get(n, 0.0) for n in self._sources(a))])
        outs = "o" if "o" in a else "i"
        names = [e["n"] for e in consumers] if outs == "i" else [a["n"]]
        into = a.get("g", ()) if "o" in a else ()
        written = [(a["s"], w or n) for w, n in zip(a.get("w") or [0] * len(into), into, strict=False)]
        came_in = max([came_in, *(self.written.get(key, 0.0) for key in written if key[1] != -1)])
        if through:  # the errors that come in from functions without a partner are not known
            came_in = max(came_in, 1e-4)
        floor = max(self.sizes.least_of_gradient(a), self.sizes.least_of_leaves(a))
        found = self._outcome(pair, outs, came_in, "function", floor, names, upstream)
        self.written.update(zip(written, self.slots[a["j"]], strict=False))
        if found is None and self.doubtful and self.doubtful[-1].original is a:
            self.doubtful[-1].culprits = consumers
        if found is not None:
            own = self.original.events[a["of"]] if a["of"] >= 0 else a
            found.culprits = [own] if outs == "o" else consumers
            found.through = through
        return found

    def _sources(self, a: Event) -> Iterable[int]:
        return self.original.events[a["of"]].get("f", ()) if a["of"] >= 0 else ()

    def gradient(self, pair: tuple[Event, Event]) -> Finding | None:
        a, _ = pair
        worst = self.worst[a["s"]]
        came_in = max(worst.get("forward", 0.0), worst.get("backward", 0.0))
        self.parameters.gradients[a["n"]] = pair
        found = self._outcome(pair, "o", came_in, "gradient", self.sizes.least_of_gradient(a))
        if found is not None:
            found.culprits = self.users.get(a["n"], [])
        return found

    def update(self, pair: tuple[Event, Event], errors: dict[str, float]) -> Finding | None:
        a, b = pair
        name = a["n"]
        came_in = max(errors.get(name, 0.0), self.parameters.error.get(name, 0.0))
        found = self._outcome(pair, "o", came_in, "update")
        if found is not None and self.parameters.lost(name, found):
            found = None
        if found is None and name in self.parameters.previous:
            found = self.parameters.changed(pair, came_in)
        if found is not None and found.slot and found.slot - 1 < len(a.get("x", ())):
            found.why = found.why or f"the optimizer's state {a['x'][found.slot - 1]!r}"
        self.parameters.keep(a, b, self.error[a["j"]])
        size = self.sizes.of(a["o"][0])
        self.total[a["s"]][0] += (self.error[a["j"]] * size) ** 2 * math.prod(a["o"][0][1])
        self.total[a["s"]][1] += size**2 * math.prod(a["o"][0][1])
        return found

    def persistent(self, pair: tuple[Event, Event]) -> Finding | None:
        a, _ = pair
        before = self.parameters.error.get(a["n"], 0.0)
        found = self._outcome(pair, "o", max(before, self.worst[a["s"]].get("forward", 0.0)), "persistent")
        self.parameters.error[a["n"]] = self.error[a["j"]]
        if found is not None and not found.why and found.distance.error <= found.allowed * self.sizes.deviation(a):
            return None  # a mean of numbers whose sum is 0 but for rounding
        return found

    # ---- the walk ----
    def follow(self) -> None:
        steps: dict[int, list[tuple[Event, Event]]] = defaultdict(list)
        for pair in self.pairs:
            steps[pair[0]["s"]].append(pair)
        for step in sorted(steps):
            pairs = steps[step]
            errors: dict[str, float] = {}
            self.users = {}
            last: dict[str, int] = {}
            for phase in ("initial", "walk", "gradient", "update"):
                chosen = [p for p in pairs if p[0]["k"] == phase or phase == "walk" and p[0]["k"] not in OWN_TURN]
                if phase == "gradient":  # in the order of the backward pass: what was read last comes first
                    last = {name: max(e["j"] for e in events) for name, events in self.users.items()}
                    chosen.sort(key=lambda p: -last.get(p[0]["n"], -1))
                for pair in chosen:
                    finding = self._one(pair, errors)
                    if finding is not None and self._take(finding):
                        return
            error, size = self.total[step]
            if size:
                self.worst[step]["update"] = math.sqrt(error / size)
            if error > INCOMPARABLE**2 * size:
                self.until = step
                return

    def _one(self, pair: tuple[Event, Event], errors: dict[str, float]) -> Finding | None:
        a, b = pair
        kind = a["k"]
        if kind == "step":
            if self.draws is None and a["d"][0] != b["d"][0]:
                self.draws = a["s"]
            return None
        if kind == "update":
            return self.update(pair, errors)
        found: Finding | None = getattr(self, kind)(pair)
        if kind == "gradient":
            errors[a["n"]] = self.raw.get(a["n"], 0.0)
        return found

    def _take(self, finding: Finding) -> bool:
        """Adds a finding; returns whether that was the last."""
        self.findings.append(finding)
        return self.stop or len(self.findings) >= 20


def compare(
    original: Recording, here: Recording, factor: float = 1.0, stop: bool = True, again: bool = False
) -> Comparison:
    """Compares two recordings. factor: multiplies all tolerances; stop: end at the first finding; again: whether a
    second run will look at what is doubtful."""
    follower = _Follower(original, here, factor, stop, again)
    follower.follow()
    if follower.draws is not None:
        follower.notes.append(f"NumPy's generator is in another state from the end of step {follower.draws} on")
    return Comparison(
        follower.findings,
        follower.doubtful,
        follower.single,
        dict(follower.worst),
        follower.layers,
        dict(follower.counts),
        follower.until,
        follower.draws,
        follower.notes,
    )
