"""Chainer's static graphs. Here every graph is defined by run: the decorators leave their functions as they
are.
"""
