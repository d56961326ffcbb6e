"""Functions that Theano computes."""
