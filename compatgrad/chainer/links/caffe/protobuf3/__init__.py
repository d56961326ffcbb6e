"""Caffe's messages, under the names of the original's generated module."""
