"""Helpers of ChainerMN's tests."""

from compatgrad.chainermn.testing.device import get_device  # noqa: F401
