"""A stand-in for a compiler of whole functions: it traces the source, and gives up at any call, which it cannot put into its graph."""

import ast
import builtins
import inspect
import textwrap


class Unsupported(RuntimeError):
    pass


def compile(fullgraph):
    def decorate(function):
        graph = []

        def call(*arguments):
            if not graph:
                graph.append(trace(function))
            return graph[0](*arguments)

        return call

    return decorate


def trace(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    if any(isinstance(node, ast.Call) for statement in tree.body[0].body for node in ast.walk(statement)):
        raise Unsupported("call in graph: print not supported for non-export cases")
    tree.body[0].decorator_list = []
    names = {}
    exec(builtins.compile(tree, "<graph>", "exec"), names)
    return names[function.__name__]
