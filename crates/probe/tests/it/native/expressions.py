"""What expressions are tried on; touching any of the hostile objects ends the program. The first lines are the smallest ones."""

# atom: i
# atom: c
# atom: e
# atom: d
# atom: l
# atom: m
# atom: ds
# atom: w
# atom: x
# atom: maybe
# atom: G
# atom: TABLE
# atom: len
# atom: True
# atom: None
# atom: 3
# atom: -2
# atom: 1.5
# atom: 'a'
# atom: b'x'
# atom: 100
# atom: c.s
# atom: c.empty
# atom: c.n
# atom: c.t
# atom: c.api_key
# atom: c.inner
# atom: c.inner.deep
# atom: c.big
# atom: c.z
# atom: c.token
# atom: c.vocab_token
# atom: c.prop
# atom: c.meth
# atom: c.cm
# atom: c.shared
# atom: c.inner.meth2
# atom: e.x
# atom: m.own
# atom: m.attr
# atom: m.p
# atom: m.__name__
# atom: w.d
# atom: w.nd
# atom: ds['a']
# atom: d['a']
# atom: d['b'][1]['q']
# atom: d['zz']
# atom: d[5]
# atom: d[True]
# atom: d[b'x']
# atom: d[None]
# atom: l[0]
# atom: l[-1]
# atom: l[9]
# atom: l['a']
# atom: c.t[0]
# atom: TABLE[1]
# atom: TABLE['a']
# atom: TABLE[None]
# atom: e[0]
# atom: len(l)
# atom: len(d)
# atom: len(e)
# atom: len(c.t)
# atom: len(i)
# atom: c.__dict__
# atom: c.inner.__dict__
# atom: C
# atom: C.shared
# atom: C.prop
# atom: C.s

import collections, enum, sys
G = 7
TABLE = {"a": 1, 2: "two", None: 3, 1.0: "one", True: "yes"}
class Base:
    shared = 1.5
    __slots__ = ()
class C(Base):
    __slots__ = ("s", "empty", "__dict__")
    def __init__(self):
        self.s = 3; self.n = [1, 2, 3]; self.t = "token"; self.api_key = "k"; self.inner = Inner(); self.big = 2**4097; self.z = 0
        self.token = "secret"; self.vocab_token = 5
    @property
    def prop(self): raise SystemExit("code of the program")
    def meth(self): pass
    @classmethod
    def cm(cls): pass
class Inner:
    def __init__(self): self.__dict__["deep"] = {"k": [10, 20]}; self.meth2 = 1
    def meth2(self): pass
class Evil:
    def __getattribute__(self, n): raise SystemExit("code of the program")
    def __eq__(self, o): raise SystemExit
    def __hash__(self): return hash("a")
    def __len__(self): raise SystemExit
    def __bool__(self): raise SystemExit
    def __getitem__(self, k): raise SystemExit
    def __add__(self, o): raise SystemExit
class Meta(type):
    attr = 4
    @property
    def p(cls): raise SystemExit
class WithMeta(metaclass=Meta): own = 9
class DictSub(dict):
    def __getitem__(self, k): raise SystemExit
class Data:
    def __get__(self, o, k): raise SystemExit
    def __set__(self, o, v): pass
class NonData:
    def __get__(self, o, k): raise SystemExit
class Desc:
    d = Data(); nd = NonData()
    def __init__(self): self.__dict__["nd"] = 5
def look(i, c, e, d, l, m, ds, w):
    maybe = 1
    if i % 2: del maybe
    x = i * 1.5
    done = x
    return done
def main():
    c = C()
    for i in range(4):
        look(i, c, Evil(), {"a": 1, "b": [1, {"q": 2}], Evil: 3, "n": None, 5: 5, b"x": 1}, [1, "two", 3.5, None], WithMeta, DictSub(a=1), Desc())
if __name__ == "__main__": main()
