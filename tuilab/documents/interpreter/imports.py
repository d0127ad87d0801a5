"""Imports: which library a name stands for. Nothing is imported."""

import ast

from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.names import canonical, member
from tuilab.documents.interpreter.scope import Scope
from tuilab.documents.interpreter.values import Api


def import_modules(interpreter: Interpreter, node: ast.Import, scope: Scope) -> None:
    """`import a.b as c`."""
    for alias in node.names:
        name = canonical(alias.name)
        interpreter.use(name, node.lineno)
        interpreter.event("import", alias.name[:80], node.lineno)
        if alias.asname:
            interpreter.journal.write(scope.names, alias.asname, Api(name))
        else:
            root = alias.name.partition(".")[0]
            interpreter.journal.write(scope.names, root, Api(canonical(root)))


def import_names(interpreter: Interpreter, node: ast.ImportFrom, scope: Scope) -> None:
    """`from a.b import c`; a relative import names a file that the document does not show."""
    interpreter.event("import", (node.module or ".")[:80], node.lineno)
    if node.level or not node.module:
        return
    module = canonical(node.module)
    if module == "__main__":
        # What a timer's set-up imports is the module itself.
        for alias in node.names:
            found = interpreter.module.find(alias.name)
            if found is not None:
                interpreter.journal.write(scope.names, alias.asname or alias.name, found)
        return
    for alias in node.names:
        if alias.name == "*":
            interpreter.note(node.lineno, f"names imported by * from {node.module[:60]} are not followed")
            continue
        name = f"{module}.{alias.name}"
        interpreter.use(name, node.lineno)
        interpreter.journal.write(scope.names, alias.asname or alias.name, member(name, node.lineno))
