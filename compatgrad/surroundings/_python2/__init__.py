"""Modules that only Python 2 had, where another module of today does not have all their names."""
