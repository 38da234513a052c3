"""Which file of the package imports which, read from their source."""

from __future__ import annotations

import ast

__all__ = ["Modules", "cycles"]


class Modules:
    """The modules of a package, by their dotted names, with the source of each.

    An import counts wherever it is written: at the top, in a function, or for type checkers only.
    To import what a package re-exports is to import the module that defines it; the package itself
    does not depend on what it only re-exports.
    """

    def __init__(self, sources, packages):
        self.packages = set(packages)
        # Imports that only type checkers see.
        self._unseen: set[ast.AST] = set()
        self.trees = {name: ast.parse(source) for name, source in sources.items()}
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                    self._unseen.update(*(ast.walk(inner) for inner in node.body))
        self._bound = {name: list(self._bindings(name)) for name in self.trees}

    def imports(self, module, *, typing=True):
        """The modules from which a module uses something.

        Args:
            module: Its name.
            typing: Whether what only type checkers import counts.
        """
        used = _used_names(self.trees[module])
        found = set()
        for name, node, *target in self._bound[module]:
            if (module in self.packages and name not in used) or (
                node in self._unseen and not typing
            ):
                continue
            for attributes in used.get(name, {()}):
                found |= self._defining(*target, attributes)
        return found - {module}

    def _bindings(self, module):
        """Each name that an import binds, and the module and the name in it that it refers to."""
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    root = alias.name.partition(".")[0]
                    inner = tuple(alias.name.split(".")[1:])
                    if alias.asname:
                        yield alias.asname, node, root, inner
                    else:
                        yield root, node, root, ()
                        # Without being used, too, it loads the module that it names.
                        yield alias.name, node, root, inner
            elif isinstance(node, ast.ImportFrom):
                origin = self._origin(module, node)
                for alias in node.names:
                    yield alias.asname or alias.name, node, origin, (alias.name,)

    def _origin(self, module, node):
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        up = node.level - (module in self.packages)
        parts = parts[: len(parts) - up]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def _defining(self, module, names, more):
        """The module that defines what these names lead to, from a module on."""
        path = [*names, *more]
        while path and f"{module}.{path[0]}" in self.trees:
            module = f"{module}.{path.pop(0)}"
        if module not in self.trees:
            return set()
        if path and module in self.packages:
            for name, _, *target in self._bound[module]:
                if name == path[0]:
                    return self._defining(*target, tuple(path[1:]))
        return {module}


def _used_names(tree):
    """Each name that is read, with the attributes read from it: `a.b.c` is `a` with `(b, c)`."""
    used = {}
    inner = set()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Name, ast.Attribute)) or node in inner:
            continue
        attributes = []
        base = node
        while isinstance(base, ast.Attribute):
            attributes.insert(0, base.attr)
            base = base.value
            inner.add(base)
        if isinstance(base, ast.Name) and isinstance(base.ctx, ast.Load):
            used.setdefault(base.id, set()).add(tuple(attributes))
    return used


def cycles(direct):
    """The sets of modules of which each one imports every other, directly or not."""
    reached = {}
    for start in direct:
        seen = set()
        open_ = [*direct[start]]
        while open_:
            module = open_.pop()
            if module not in seen:
                seen.add(module)
                open_ += direct.get(module, ())
        reached[start] = seen
    found = []
    for start, targets in reached.items():
        cycle = {target for target in targets if start in reached.get(target, ())}
        if cycle and cycle not in found:
            found.append(cycle)
    return found
