"""Utilities: data iterators, learning rate schedules, images, files."""
