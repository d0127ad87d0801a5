"""Interprets imports: binds names to libraries or neighboring modules, without importing anything."""

import ast

from tuilab.documents.interpreter import modules
from tuilab.documents.interpreter.interpreter import Flow, Interpreter, statement
from tuilab.documents.interpreter.names import member, module
from tuilab.documents.interpreter.scope import Scope


@statement(ast.Import)
def import_modules(interpreter: Interpreter, node: ast.Import, scope: Scope) -> Flow:
    for alias in node.names:
        root = alias.name.partition(".")[0]
        interpreter.imported.add(root)
        own = modules.imported(interpreter, alias.name if alias.asname else root, 0, node.lineno)
        if own is not None:
            interpreter.event("import", alias.name[:80], node.lineno)
            interpreter.journal.write(scope.names, alias.asname or root, own)
            continue
        found = module(alias.name, alias.asname or alias.name)
        interpreter.use(found, node.lineno, alias.name)
        interpreter.event("import", alias.name[:80], node.lineno)
        bound = found if alias.asname else module(root, root)
        interpreter.journal.write(scope.names, alias.asname or root, bound)
    return Flow.NEXT


@statement(ast.ImportFrom)
def import_names(interpreter: Interpreter, node: ast.ImportFrom, scope: Scope) -> Flow:
    """Bind the names of `from a.b import c` to the contents of a neighboring module, or to names of a
    library.
    """
    interpreter.event("import", (node.module or ".")[:80], node.lineno)
    interpreter.imported.add((node.module or ".").partition(".")[0])
    own = modules.imported(interpreter, node.module or "", node.level, node.lineno)
    if own is not None:
        for alias in node.names:
            if alias.name == "*":
                public = {n: v for n, v in own.scope.names.items() if not n.startswith("_")}
            else:
                found = modules.member(interpreter, own, alias.name, node.lineno)
                unread = modules.unread(own, alias.name, node.lineno)
                public = {alias.asname or alias.name: unread if found is None else found}
            for name, value in public.items():
                interpreter.journal.write(scope.names, name, value)
        return Flow.NEXT
    if node.level or not node.module:
        return Flow.NEXT
    if node.module == "__main__":
        # timeit's set-up code may import names from the module that runs it.
        for alias in node.names:
            known = interpreter.module.find(alias.name)
            if known is not None:
                interpreter.journal.write(scope.names, alias.asname or alias.name, known)
        return Flow.NEXT
    owner = module(node.module, node.module)
    for alias in node.names:
        if alias.name == "*":
            interpreter.note(node.lineno, f"names imported by * from {node.module[:60]} are not resolved")
            continue
        found = member(owner, alias.name, node.lineno, alias.asname or alias.name)
        interpreter.use(module(f"{node.module}.{alias.name}", ""), node.lineno, f"{node.module}.{alias.name}")
        interpreter.journal.write(scope.names, alias.asname or alias.name, found)
    return Flow.NEXT
