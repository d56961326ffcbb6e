"""The modules that nnabla calls experimental."""
