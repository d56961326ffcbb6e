"""The walk over all parameters of a link, for what happens at every step of training."""


def _walk(link, out):
    children = getattr(type(link).params, "_walks_children", None)
    if children is None:  # a class that overrides params is asked itself
        out.extend(link.params())
        return
    d = link.__dict__
    names = d["_params"]
    if names:
        for name in sorted(names):
            out.append(d[name])
    if children == "named":
        for name in sorted(d["_children"]):
            _walk(d[name], out)
    elif children == "listed":
        for child in d["_children"]:
            _walk(child, out)


def all_params(link):
    """What `list(link.params())` gives, without a generator per link."""
    out = []
    _walk(link, out)
    return out
