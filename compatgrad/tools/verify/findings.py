"""What a comparison of two recordings finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from compatgrad.tools.verify.recording import Distance, Event

__all__ = ["Comparison", "Finding"]


@dataclass
class Finding:
    """A place where the sides differ.

    kind: initial, batch, parameter, random, function, gradient, update or persistent. place, slot: "i" (input) or "o"
    (result) and its number. came_in: the largest error of the inputs. culprits: the functions whose backward pass
    explains a gradient. through: functions between compared ones and this one that only the original has.
    gradient: for an update, the events of the parameter's gradient. share: one of so many elements may be beyond a
    threshold.
    """

    kind: str
    step: int
    original: Event
    here: Event
    place: str
    slot: int
    distance: Distance
    allowed: float
    came_in: float
    inputs: list[tuple[str, Distance]] = field(default_factory=list)
    culprits: list[Event] = field(default_factory=list)
    through: list[Event] = field(default_factory=list)
    gradient: tuple[Event, Event] | None = None
    share: int = 100
    why: str = ""

    @property
    def agreed(self) -> bool:
        """Whether the inputs agreed: the difference began here."""
        return self.came_in <= max(self.allowed / 3, 1e-6)


@dataclass
class Comparison:
    """What `compare` found.

    doubtful: differences that single elements beyond a threshold would explain. single: what one side only has. worst:
    step -> phase -> the largest relative error. layers: name -> how many were compared, and the largest error. until:
    the step in which rounding errors had grown too large to compare. draws: the step from which generators differ.
    """

    findings: list[Finding]
    doubtful: list[Finding]
    single: list[tuple[str, Event]]
    worst: dict[int, dict[str, float]]
    layers: dict[str, tuple[int, float]]
    counts: dict[str, int]
    until: int | None
    draws: int | None
    notes: list[str]
    crossed: int = 0  # how many of the doubtful findings single elements explain
