"""The build of the compiled module: in place, by pip, and at first import, all with the same parameters.

`target` defines what is built and how, `compiler` builds it; `backend`, `__main__` and `loader` start builds. Nothing
here imports torch or the rest of compatgrad, because a build may run before either can be imported.
"""
