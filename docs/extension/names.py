"""DOCA's names, statuses and states as objects of the site: with an anchor, in the index, and found by the search."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.std import GenericObject

# The words of the index, by the name of the directive, which is also the role that links to it.
KINDS = {"doca": "DOCA name", "status": "status", "state": "state"}


def node_of(_: Any, signature: str, node: addnodes.desc_signature) -> str:
    """Shows the name, after its kind when it is not a function: "struct doca_mmap"."""
    kind, _, name = signature.strip().rpartition(" ")
    if kind in ("struct", "union", "enum", "typedef", "callback", "macro"):
        node += addnodes.desc_annotation(kind, kind, addnodes.desc_sig_space())
        node += addnodes.desc_name(name, name)
        return name
    node += addnodes.desc_name(signature, signature)
    return signature


class Named(GenericObject):
    """One description of one name, or of some that belong together, with | between them."""

    def _object_hierarchy_parts(self, node: addnodes.desc_signature) -> tuple[str, ...]:
        return (node.next_node(addnodes.desc_name).astext(),)

    def _toc_entry_name(self, node: addnodes.desc_signature) -> str:
        """The entry in the contents of the page."""
        return self._object_hierarchy_parts(node)[0]

    def get_signatures(self) -> list[str]:
        return [each.strip() for each in self.arguments[0].split("|")]


def setup(app: Any) -> None:
    for name, what in KINDS.items():
        app.add_object_type(name, name, f"pair: %s; {what}", node_of, nodes.literal, what)
        members = {"indextemplate": f"pair: %s; {what}", "parse_node": staticmethod(node_of)}
        directive = type(name.title(), (Named,), members)
        app.add_directive_to_domain("std", name, directive, override=True)
