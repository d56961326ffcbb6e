"""Numbers with their nouns, and verbs that agree with them."""

from __future__ import annotations


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with a noun: "1 call", "2 calls"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def agreeing(number: int, singular: str, plural: str) -> str:
    """The form of a verb, or of another word, that agrees with a number."""
    return singular if number == 1 else plural
