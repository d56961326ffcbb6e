"""Fewer steps of a tape that compute the same numbers but for rounding: products by numbers and sums become parts of
the steps whose results they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from compatgrad.exporting._tape import MAP, PRODUCT, Array, Call, Place, Step

__all__ = ["folded"]


def folded(steps: Sequence[Step | Call], outputs: Sequence[Place]) -> list[Step | Call]:
    fold = _Fold(steps, outputs)
    for k, step in enumerate(fold.steps):
        if isinstance(step, Step) and step.kind == MAP:
            if step.function == "mul":
                fold.multiply(k, step)
            elif step.function in ("add", "sub", "add_scaled"):
                fold.add(k, step)
    return fold.live()


class _Fold:
    def __init__(self, steps: Sequence[Step | Call], outputs: Sequence[Place]) -> None:
        self.steps: list[Step | Call | None] = list(steps)
        self.outputs = {p.array for p in outputs}
        self.reads: Counter[Array] = Counter(a for s in steps for a in s.reads())
        self.maker = {a: k for k, s in enumerate(steps) for a in s.writes()}

    def only(self, p: Place, reader: Step) -> int | None:
        """The number of the loop whose result is `p`, whole and in the same order as the result of its only reader;
        None for others."""
        a = p.array
        if a in self.outputs or self.reads[a] != 1 or a.kind != "work" or p.mask:
            return None
        k = self.maker.get(a)
        step = None if k is None else self.steps[k]
        if not isinstance(step, Step) or p != step.result.unmasked():
            return None
        return k if p.sizes == reader.result.sizes and p.strides == reader.result.strides else None

    def replace(self, k: int, before: int, step: Step) -> None:
        """Puts `step` in the place of step k, which reads the result of step `before`."""
        old, gone = self.steps[k], self.steps[before]
        assert old is not None and gone is not None
        self.reads.subtract([*old.reads(), *gone.reads()])
        self.reads.update(step.reads())
        self.steps[before], self.steps[k] = None, step
        self.maker[step.result.array] = k

    def multiply(self, k: int, step: Step) -> None:
        """x c, where x is a product of matrices or itself multiplied by a number."""
        x, c = step.operands
        if c.array.kind != "number" or (before := self.only(x, step)) is None:
            return
        made = self.steps[before]
        assert isinstance(made, Step)
        number = float(c.array.source)
        if made.kind == PRODUCT and len(made.operands) == 2:
            self.replace(k, before, replace(made, result=step.result, number=made.number * number))
        elif made.kind == MAP and made.function == "mul" and made.operands[1].array.kind == "number":
            other = float(made.operands[1].array.source)
            if abs(number) != 1 and abs(other) != 1:
                return  # another rounding
            product = Array("number", c.array.dtype, 1, number * other)
            place = Place(product, 0, c.sizes, c.strides)
            self.replace(k, before, replace(made, result=step.result, operands=[made.operands[0], place]))

    def add(self, k: int, step: Step) -> None:
        """a + b or a - b, where b, or a in a sum, is a product of matrices or multiplied by a number."""
        a, b = step.operands
        sign = {"add": 1.0, "sub": -1.0, "add_scaled": step.number}[step.function]
        pairs = [(a, b, sign, 0)]
        if step.function == "add":
            pairs.append((b, a, 1.0, 1))
        for kept, changed, factor, at in pairs:
            before = self.only(changed, step)
            made = None if before is None else self.steps[before]
            if before is None or not isinstance(made, Step):
                continue
            if made.kind == PRODUCT and len(made.operands) == 2:
                strides = _along_product(kept, step.result, made)
                if strides is not None:
                    new = replace(made, result=step.result, number=made.number * factor)
                    new.operands, new.strides = [*made.operands, kept], [*made.strides, strides]
                    self.replace(k, before, new)
                    return
            elif made.kind == MAP and made.function == "mul" and made.operands[1].array.kind == "number":
                if made.sizes != step.sizes or made.strides[0] != step.strides[0]:
                    continue
                number = float(made.operands[1].array.source) * factor
                new = Step(MAP, "add_scaled", number, step.sizes, step.result, [kept, made.operands[0]], [])
                new.strides = [step.strides[0], step.strides[1 + at], made.strides[1]]
                self.replace(k, before, new)
                return

    def live(self) -> list[Step | Call]:
        """The steps whose results are used, in order."""
        used = set(self.outputs)
        kept: list[Step | Call] = []
        for step in reversed(self.steps):
            if step is None:
                continue
            random = isinstance(step, Call) and step.random
            if random or any(a in used for a in step.writes()):
                kept.append(step)
                used.update(step.reads())
        return kept[::-1]


def _along_product(p: Place, like: Place, product: Step) -> tuple[int, ...] | None:
    """The strides of `p`, which has the sizes of the result, along the dimensions of a product; None if its columns
    have gaps."""
    more = len(like.sizes) - len(p.sizes)
    strides = (0,) * more + tuple(0 if n == 1 else s for n, s in zip(p.sizes, p.strides, strict=True))
    if like.sizes[-2:] != product.sizes[-3:-1]:
        if like.sizes[-2:] != (product.sizes[-2], product.sizes[-3]):
            return None
        strides = (*strides[:-2], strides[-1], strides[-2])  # the product of the transposed matrices
    if like.sizes[:-2] != product.sizes[:-3]:
        return None
    if strides[-1] not in (0, 1) and product.sizes[-2] > 1:
        return None
    return (*strides, 0)
