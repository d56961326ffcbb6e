"""The parameters of two recordings: their values, how these change, and from which gradients."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from compatgrad.tools.verify import rounding
from compatgrad.tools.verify.differences import lost, side_change
from compatgrad.tools.verify.findings import Finding
from compatgrad.tools.verify.recording import Distance, Event, Recording
from compatgrad.tools.verify.sizes import Sizes

__all__ = ["Parameters"]


class Parameters:
    """again: whether a second run will look at doubtful findings, which are appended to `doubtful`."""

    def __init__(
        self, original: Recording, here: Recording, sizes: Sizes, again: bool, doubtful: list[Finding]
    ) -> None:
        self.original, self.here, self.sizes, self.again, self.doubtful = original, here, sizes, again, doubtful
        self.values: dict[Any, list[str]] = defaultdict(list)  # an array's values -> parameters that have them
        self.previous: dict[str, tuple[Any, Any]] = {}
        self.error: dict[str, float] = {}  # relative, of the last values
        self.gradients: dict[str, tuple[Event, Event]] = {}

    def _identity(self, described: Any) -> Any:
        """A key for the values of an array of the original."""
        x = self.original.whole(described)
        if x is not None:
            return described[0], tuple(described[1]), x.tobytes() if x.size > 1 else None
        return None if described is None or described[2] is None else (described[0], tuple(described[1]), *described[2])

    def named(self, described: Any, event: Event) -> str | None:
        """The parameter with the values of an input; of several with the same values, that of the event's layer."""
        names = dict.fromkeys(self.values.get(self._identity(described), ()))
        place = event.get("p") or ""
        own = [n for n in names if "/" in n and place.endswith(n.rpartition("/")[0].rstrip("/"))]
        own += [n for n in names if place.rpartition("/")[2] == n.rpartition("_")[0]]  # MXNet's dense0_weight
        return (own or [*names])[0] if names else None

    def keep(self, a: Event, b: Event, error: float) -> None:
        """Notes the values that a parameter has from this event on."""
        self.values[self._identity(a["o"][0])].append(a["n"])
        self.previous[a["n"]] = a["o"][0], b["o"][0]
        self.error[a["n"]] = error

    def _moved(self, pair: tuple[Event, Event]) -> tuple[float, float] | None:
        """How far the changes of a parameter are apart, and the size of the larger change."""
        if pair[0]["n"] not in self.previous:
            return None
        new, old = (pair[0]["o"][0], pair[1]["o"][0]), self.previous[pair[0]["n"]]
        moved = [side_change(r, n, o) for r, n, o in zip((self.original, self.here), new, old, strict=True)]
        if moved[0] is None or moved[1] is None:
            return None
        return float(abs(moved[0] - moved[1]).max()), float(max(abs(moved[0]).max(), abs(moved[1]).max()))

    def changed(self, pair: tuple[Event, Event], came_in: float) -> Finding | None:
        """Compares the changes of a parameter, which are smaller than the parameter."""
        a, b = pair
        moved = self._moved(pair)
        if moved is None:
            return None
        apart, size = moved
        new = a["o"][0]
        floor = 100 * rounding.NOISE * self.sizes.of(new) * (1 if self.original.whole(new) is not None else 10)
        if size <= floor or apart <= (0.02 + rounding.GROWTH * came_in) * size:
            return None
        d = Distance(apart, size, new[0], math.prod(new[1]))
        why = "the change of the parameter differs"
        found = Finding("update", a["s"], a, b, "o", 0, d, 0.02 + rounding.GROWTH * came_in, came_in, why=why)
        return None if self.lost(a["n"], found) else found

    def lost(self, name: str, finding: Finding) -> bool:
        """Whether parameters differ only where their gradients are lost in rounding. Rules such as Adam's divide by the
        size of each gradient, so that rounding decides the step of a gradient that is nearly zero. Without the arrays
        the finding is doubtful."""
        gradient = self.gradients.get(name)
        adaptive = rounding.is_adaptive(finding.original.get("x", ()))
        if not finding.came_in or gradient is None or finding.slot or not adaptive:
            return False
        finding.gradient = gradient
        arrays = [self.original.whole(finding.original["o"][0]), self.here.whole(finding.here["o"][0])]
        both = [self.original.whole(gradient[0]["o"][0]), self.here.whole(gradient[1]["o"][0])]
        if all(x is not None for x in (*arrays, *both)):
            return lost(*arrays, *both)  # type: ignore[arg-type]
        moved = self._moved((finding.original, finding.here))
        if not self.again and moved is not None and moved[0] > 0.5 * moved[1]:
            return False  # more elements differ than that could explain, and no second run will look at them
        self.doubtful.append(finding)
        return True
