"""Code that a compiler or a recorder of GPU work takes over: known, refused by default, and allowed with the effect named."""

import importlib.util
import sys
import types
import unittest
from unittest import mock

from support import Probed, RingCase, spec
from bystander_overlay import compiled, encode, place

CASES = [
    ("import numba as nb\n@nb.njit(cache=True)\ndef f():\n    x = 1\n", "f", "numba.njit", compiled.SOURCE),
    ("from numba import cuda\n@cuda.jit\ndef f():\n    x = 1\n", "f", "numba.cuda.jit", compiled.SOURCE),
    ("import triton\n@triton.autotune(configs=[])\n@triton.jit\ndef f():\n    x = 1\n", "f", "triton.autotune", compiled.SOURCE),
    ("import tilelang\n@tilelang.jit(out_idx=[1])\ndef f():\n    x = 1\n", "f", "tilelang.jit", compiled.SOURCE),
    ("import tilelang.language as T\n@T.prim_func\ndef f():\n    x = 1\n", "f", "tilelang.language.prim_func", compiled.SOURCE),
    ("import cython\n@cython.cfunc\ndef f():\n    x = 1\n", "f", "cython.cfunc", compiled.SOURCE),
    ("import torch\n@torch.jit.script\ndef f():\n    x = 1\n", "f", "torch.jit.script", compiled.SOURCE),
    ("import torch\n@torch.jit.ignore\ndef f():\n    x = 1\n", "f", None, None),
    ("import torch\n@torch.compile(dynamic=True)\ndef f():\n    x = 1\n", "f", "torch.compile", compiled.DYNAMO),
    ("import torch\nfrom functools import partial\n@partial(torch.compile, dynamic=True)\ndef f():\n    x = 1\n", "f", "torch.compile", compiled.DYNAMO),
    ("import torch\n@torch.compiler.disable\ndef f():\n    x = 1\n", "f", None, None),
    ("import torch\n@torch.no_grad()\n@torch.inference_mode()\ndef f():\n    x = 1\n", "f", None, None),
    ("import torch\ndef f():\n    x = 1\ng = torch.compile(f)\n", "f", "torch.compile", compiled.DYNAMO),
    ("import torch\ndef f():\n    x = 1\ng = torch.compile(mode='max-autotune')(f)\n", "f", "torch.compile", compiled.DYNAMO),
    ("import torch\ndef f():\n    x = 1\ng = torch.compile(model=f)\n", "f", "torch.compile", compiled.DYNAMO),
    ("import torch\ndef h():\n    x = 1\ndef f():\n    x = 1\ng = torch.compile(h)\n", "f", None, None),
    ("import torch\nclass M:\n    def __init__(self):\n        self.f = torch.compile(self.f)\n    def f(self):\n        x = 1\n", "M.f", "torch.compile", compiled.DYNAMO),
    ("import torch\nclass M:\n    def __init__(self):\n        self.f = torch.compile(self.f)\nclass N:\n    def f(self):\n        x = 1\n", "N.f", None, None),
    ("import torch\nclass M:\n    def __init__(self):\n        torch.compile(self)\n    def forward(self):\n        x = 1\n", "M.forward", "torch.compile", compiled.DYNAMO),
    ("import torch\nclass M:\n    def f(self):\n        x = 1\nM.f = torch.compile(M.f)\n", "M.f", "torch.compile", compiled.DYNAMO),
    ("from ..decorators import support_torch_compile\n@support_torch_compile(dynamic_arg_dims={})\nclass M:\n    def forward(self):\n        x = 1\n", "M.forward", "support_torch_compile", compiled.DYNAMO),
    ("from vllm.compilation.decorators import support_torch_compile\n@support_torch_compile\nclass M:\n    def load(self):\n        x = 1\n", "M.load", None, None),
    ("import torch\ndef f():\n    x = 1\ndef g(graph):\n    f()\n    with torch.cuda.graph(graph, pool=None):\n        f()\n", "f", "torch.cuda.graph", compiled.CAPTURED),
    ("import torch\nclass R:\n    def run(self):\n        x = 1\n    def capture(self, graph):\n        with torch.cuda.graph(graph):\n            out = self.run()\n", "R.run", "torch.cuda.graph", compiled.CAPTURED),
    ("import torch\nclass R:\n    def capture(self, graph):\n        def once():\n            x = 1\n        once()\n        with torch.cuda.graph(graph):\n            out = once()\n", "R.capture.once", "torch.cuda.graph", compiled.CAPTURED),
    ("import torch\ndef f():\n    x = 1\ng = torch.cuda.make_graphed_callables(f, ())\n", "f", "torch.cuda.make_graphed_callables", compiled.CAPTURED),
    ("import torch\ndef f():\n    x = 1\ng = torch.cuda.make_graphed_callables((f, f), ())\n", "f", "torch.cuda.make_graphed_callables", compiled.CAPTURED),
    ("from functools import partial\nimport jax\n@partial(jax.jit, static_argnums=0)\ndef f():\n    x = 1\n", "f", "jax.jit", compiled.TRACED),
    ("import jax\ndef f():\n    x = 1\ng = jax.jit(f)\n", "f", "jax.jit", compiled.TRACED),
    ("import torch\n@torch.compile\ndef g():\n    def f():\n        x = 1\n    return f\n", "g.f", "torch.compile", compiled.DYNAMO),
]  # fmt: skip


class Known(unittest.TestCase):
    def test_what_takes_a_function_over_is_known_by_decorator_call_or_block(self):
        for source, function, name, kind in CASES:
            module = compile(source, "m.py", "exec", 0x400, True)
            found = compiled.Takeovers(module).of(place.resolve(module, function=function).spot)
            self.assertEqual((found and found.name, found and found.kind), (name, kind), source)

    def test_a_line_inside_a_graph_block_is_known_and_one_beside_it_is_not(self):
        source = "import torch\ndef f(graph):\n    a = 1\n    with torch.cuda.graph(graph):\n        b = 2\n    c = 3\n"
        module = compile(source, "m.py", "exec", 0x400, True)
        found = [compiled.Takeovers(module).of(place.resolve(module, line=line).spot) for line in (3, 5, 6)]
        self.assertEqual([item and item.line for item in found], [None, 4, None])


class Stands:
    """A stand-in for torch: whether it is compiling or capturing is told by a test; any other question is an error."""

    def __init__(self):
        self.compiling = self.capturing = False
        torch = types.ModuleType("torch")
        torch.compile = lambda function: function
        torch.compiler = types.SimpleNamespace(is_compiling=lambda: self.compiling)
        torch.cuda = types.SimpleNamespace(is_current_stream_capturing=lambda: self.capturing)
        self.module = torch


class Allowed(RingCase):
    SOURCE = "import torch\n@torch.compile\ndef f(a):\n    b = a + 1\n    return b\n"

    def setUp(self):
        super().setUp()
        self.stands = Stands()
        patch = mock.patch.dict(sys.modules, torch=self.stands.module)
        patch.start()
        self.addCleanup(patch.stop)

    def test_by_default_it_is_refused_with_the_decorator_and_its_line(self):
        probed = Probed(self, self.SOURCE, spec(["b"], after="b = ..."))
        self.assertEqual(probed.overlay.events, [("refused", 0, "the function is compiled by `torch.compile` (line 2)")])

    def test_break_puts_it_in_and_names_the_effect(self):
        probed = Probed(self, self.SOURCE, spec(["b"], after="b = ...", compiled="break"))
        probed.names["f"](1)
        self.assertEqual([values for _, _, values in probed.taken()], [[2]])
        self.assertIn("a graph break at the probe", probed.overlay.events[0][2])

    def test_skip_stands_aside_while_it_compiles_and_at_every_moment(self):
        for moment, captures in ((None, ["b"]), ("return", ["return"]), ("raise", ["raise"])):
            probed = Probed(self, self.SOURCE, spec(captures, after=None if moment else "b = ...", moment=moment, compiled="skip"))
            self.assertIn("0 hits by design while compiled", probed.overlay.events[0][2])
            for compiling in (True, False):
                self.stands.compiling = compiling
                try:
                    probed.names["f"](1 if moment != "raise" else "x")
                except TypeError:
                    pass
                self.assertEqual(len(probed.taken()), not compiling, moment)

    def test_skip_breaks_nothing_where_torch_has_no_such_test(self):
        probed = Probed(self, self.SOURCE, spec(["b"], after="b = ...", compiled="skip"))
        del self.stands.module.compiler
        self.assertEqual(probed.names["f"](1), 2)
        self.assertEqual(probed.taken(), [])

    def test_what_is_compiled_from_its_source_is_refused_whatever_is_asked(self):
        for wanted in ("break", "skip"):
            probed = Probed(self, "import numba\n@numba.njit\ndef f(a):\n    return a\n", spec(["a"], compiled=wanted))
            self.assertEqual(probed.overlay.events, [("refused", 0, "the function is compiled by `numba.njit` (line 2)")])
        source = "from lib import support_torch_compile\n@support_torch_compile\nclass M:\n    def forward(self, a):\n        return a\n"
        probed = Probed(self, source, spec(["a"], function="M.forward", compiled="skip"))
        self.assertIn("does not import torch by name", probed.overlay.events[0][2])

    def test_a_graph_being_captured_is_stood_aside_of(self):
        source = "import torch\ndef f(a):\n    b = a + 1\n    return b\ndef g(graph):\n    with torch.cuda.graph(graph):\n        f(1)\n"
        probed = Probed(self, source, spec(["b"], after="b = ...", compiled="skip"))
        for capturing in (True, False):
            self.stands.capturing = capturing
            probed.names["f"](1)
            self.assertEqual(len(probed.taken()), not capturing)


class Tensors(unittest.TestCase):
    def test_nothing_of_a_tensor_but_its_metadata_is_asked_for_also_while_a_stream_is_captured(self):
        asked = []

        class Tensor:
            def __getattribute__(self, name):
                asked.append(name)
                known = {"shape": (2, 3), "dtype": "torch.float16", "device": "cuda:0"}
                if name not in known:
                    raise AssertionError("cudaErrorStreamCaptureUnsupported: " + name)
                return known[name]

            def __len__(self):
                raise AssertionError("len")

            __repr__ = __bool__ = __iter__ = __float__ = __int__ = __len__

        torch = types.ModuleType("torch")
        torch.Tensor, torch.nn, torch._C = Tensor, types.ModuleType("nn"), types.ModuleType("_C")
        torch.nn.Parameter, torch._C.DisableTorchFunction = type("Parameter", (Tensor,), {}), mock.MagicMock
        with mock.patch.dict(sys.modules, torch=torch):
            shown = encode.encode([Tensor()])["items"][0]
        self.assertEqual((shown["shape"], shown["dtype"], shown["device"]), ([2, 3], "torch.float16", "cuda:0"))
        self.assertEqual(set(asked), {"shape", "dtype", "device"})

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_real_tensors_show_their_metadata_and_their_subclasses_run_nothing(self):
        import torch

        entered = []

        class Own(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                entered.append(function)
                return super().__torch_function__(function, types, args, kwargs or {})

        own = torch.zeros(2, 3).as_subclass(Own)
        entered.clear()
        shown = [encode.encode(item) for item in (torch.zeros(2, 3), torch.nn.Parameter(torch.zeros(4)), own, torch.nn.UninitializedParameter())]
        self.assertEqual([item.get("shape") for item in shown[:2]], [[2, 3], [4]])
        self.assertEqual((shown[0]["dtype"], shown[0]["device"], entered), ("torch.float32", "cpu", []))


if __name__ == "__main__":
    unittest.main()
