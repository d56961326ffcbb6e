"""Chainer's own example scripts, by their own command lines, on the original and here."""
