"""How the compiled module is built: in place, by pip, and at first import, all from one set of parameters.

`target` says for what and how, `compiler` does it; `backend`, `__main__` and `loader` ask for it.
Nothing here needs torch or the rest of compatgrad to be importable: a build comes before either.
"""
