"""Turns names in code spans into links: pages (`docs/tools.md`), and names that the reference describes."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from tests.docs.site import pages

_NAME = re.compile(r"([A-Za-z_][\w.]*)(?:\(.*\))?", re.S)
# how the pages shorten modules
_SHORT = {"interop": "compatgrad.interop", "ops": "compatgrad.ops", "mx": "mxnet", "nn": "nnabla"}


class Links(SphinxPostTransform):
    """Replaces code spans by links to what they name."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        objects = self.env.domains.python_domain.objects
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, (nodes.reference, addnodes.pending_xref, nodes.title)):
                continue
            # the rows of a support table stand below the name of their module
            in_table = self.env.docname.startswith("support/") and isinstance(literal.parent, nodes.paragraph)
            row = in_table and literal.parent.parent.parent[0] is literal.parent.parent
            short = literal.astext().rpartition(".")[2] if row else None
            uri = self._page(literal.astext()) or self._object(literal.astext(), objects)
            if uri is not None:
                link = nodes.reference("", "", internal=True, refuri=uri, classes=["code-link"])
                literal.replace_self(link)
                link += literal
            if short is not None:
                literal.children = [nodes.Text(short)]

    def _page(self, text: str) -> str | None:
        path, _, anchor = text.partition("#")
        target = pages.SHOWN.get(path)
        if target is None or target.removesuffix(".md") not in self.env.all_docs:
            return None
        return self._uri(target.removesuffix(".md"), anchor)

    def _object(self, text: str, objects: Any) -> str | None:
        match = _NAME.fullmatch(text)
        if match is None or "." not in match[1]:
            return None
        name = match[1]
        first, _, rest = name.partition(".")
        if first in _SHORT:
            name = f"{_SHORT[first]}.{rest}"
        entry = objects.get(name)
        return None if entry is None else self._uri(entry.docname, entry.node_id)

    def _uri(self, page: str, anchor: str) -> str | None:
        builder = self.app.builder
        if page == self.env.docname and not anchor:
            return None
        base = "" if page == self.env.docname else builder.get_relative_uri(self.env.docname, page)
        return f"{base}#{anchor}" if anchor else posixpath.normpath(base) if base else None


class PlainTypes(SphinxTransform):
    """Types in signatures stay text: `Variable` is a class of each frontend, and a link would lead to any of them."""

    default_priority = 5

    def apply(self, **kwargs: Any) -> None:
        for signature in self.document.findall(addnodes.desc_signature):
            for reference in list(signature.findall(addnodes.pending_xref)):
                reference.replace_self(reference.children)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(PlainTypes)
    app.add_post_transform(Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
