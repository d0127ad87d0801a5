"""Imports: which library a name stands for. Nothing is imported."""

import ast

from tuilab.documents.interpreter.interpreter import Flow, Interpreter, statement
from tuilab.documents.interpreter.names import member, module
from tuilab.documents.interpreter.scope import Scope


@statement(ast.Import)
def import_modules(interpreter: Interpreter, node: ast.Import, scope: Scope) -> Flow:
    """`import a.b as c`."""
    for alias in node.names:
        found = module(alias.name, alias.asname or alias.name)
        interpreter.use(found, node.lineno, alias.name)
        interpreter.event("import", alias.name[:80], node.lineno)
        root = alias.name.partition(".")[0]
        bound = found if alias.asname else module(root, root)
        interpreter.journal.write(scope.names, alias.asname or root, bound)
    return Flow.NEXT


@statement(ast.ImportFrom)
def import_names(interpreter: Interpreter, node: ast.ImportFrom, scope: Scope) -> Flow:
    """`from a.b import c`; a relative import names a file that the document does not show."""
    interpreter.event("import", (node.module or ".")[:80], node.lineno)
    if node.level or not node.module:
        return Flow.NEXT
    if node.module == "__main__":
        # What a timer's set-up imports is the module itself.
        for alias in node.names:
            known = interpreter.module.find(alias.name)
            if known is not None:
                interpreter.journal.write(scope.names, alias.asname or alias.name, known)
        return Flow.NEXT
    owner = module(node.module, node.module)
    for alias in node.names:
        if alias.name == "*":
            interpreter.note(node.lineno, f"names imported by * from {node.module[:60]} are not followed")
            continue
        found = member(owner, alias.name, node.lineno, alias.asname or alias.name)
        interpreter.use(module(f"{node.module}.{alias.name}", ""), node.lineno, f"{node.module}.{alias.name}")
        interpreter.journal.write(scope.names, alias.asname or alias.name, found)
    return Flow.NEXT
