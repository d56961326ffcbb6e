"""Pairs of synthetic sentences."""

import numpy as np


def pairs(number, words, longest=9, seed=1):
    """Pairs of a sentence and its reverse, as arrays of word indices from 3 on."""
    rng = np.random.RandomState(seed)
    sentences = [rng.randint(3, words, rng.randint(3, longest)).astype("i") for _ in range(number)]
    return [(s, s[::-1].copy()) for s in sentences]
