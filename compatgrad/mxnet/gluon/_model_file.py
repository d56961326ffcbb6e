"""`save_model`, `load_model`: the names of a block and its children as a JSON file, next to a file of parameters."""

import json

from compatgrad.core.files import replacing


def save_model(root, prefix):
    """Writes `prefix`-model.json and `prefix`-model.params."""
    with replacing(prefix + "-model.json", "w") as out:
        json.dump(_described(root, iter(range(1 << 30))), out)
    root.save_parameters(prefix + "-model.params")


def _described(block, numbers):
    key = f"{type(block).__name__.lower()}{next(numbers)}"
    found = {"orig_name": block.name, "children": {}}
    if hasattr(block, "hybrid_forward"):
        found["hybridized"] = False  # else the original expects a compiled graph in the file
    for name, child in block._children.items():
        found["children"][child.name] = name
        found.update(_described(child, numbers))
    return {key: found}


def load_model(root, prefix):
    """Reads what `save_model` wrote into a block of the same structure: names first, then parameters."""
    file = prefix + "-model.json"
    before = []
    try:
        with open(file, encoding="utf-8") as source:
            saved = json.load(source)
        _rename(root, iter(range(1 << 30)), saved, before)
        root.load_parameters(prefix + "-model.params")
    except BaseException as error:
        for block, name, params, children in before:
            block._name = name
            _refill(block.params._params, params)
            _refill(block._children, children)
        wrong = isinstance(error, (LookupError, TypeError, AttributeError, RecursionError, ValueError))
        if wrong and prefix not in str(error):
            raise ValueError(f"{file} does not describe this model: {error}") from error
        raise


def _refill(container, items):
    container.clear()
    container.update(items)


def _rename(block, numbers, saved, before):
    key = f"{type(block).__name__.lower()}{next(numbers)}"
    if key not in saved:
        raise ValueError(f"The file describes another model: it has no {key}, but {', '.join(saved)}")
    found = saved[key]
    before.append((block, block._name, dict(block.params._params), dict(block._children)))
    block._name = found["orig_name"]
    params = block.params
    for name in list(params.keys()):
        params._params[f"{block.name}_{name[len(params.prefix) :]}"] = params._params.pop(name)
    children = list(block._children.items())
    block._children.clear()
    for _, child in children:
        _rename(child, numbers, found, before)
        block._children[found["children"][child.name]] = child
