"""Chainer's example scripts, run by their command lines on the original and here."""
