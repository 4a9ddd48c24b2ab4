"""Values of every kind, one hit each; touching any of the hostile ones ends the program."""

import enum, sys, collections
class Color(enum.Enum):
    RED = 1
class Num(enum.IntEnum):
    ONE = 1
class Plain:
    x = 5
    def __init__(self): self.y = [1,2]; self.password="p"
    @property
    def prop(self): raise SystemExit("user code")
    def method(self): pass
class Slots:
    __slots__=("a","b")
    def __init__(self): self.a=3
class S(str): pass
class I(int): pass
class F(float): pass
class GA:
    def __getattr__(self, n): raise SystemExit("user code")
    def __repr__(self): raise SystemExit
    def __eq__(self, o): raise SystemExit
    def __len__(self): raise SystemExit
    def __bool__(self): raise SystemExit
    __hash__ = object.__hash__
VALUES = [None, True, False, 0, -1, 2**31, 2**63-1, -2**63, 2**63, -2**70, 2**2047, 2**2048, -(2**2048), 2**5000, 1.5, -0.0, float("nan"), float("inf"), -float("inf"), 1e300,
 "", "text", "é"*200, "x"*201, "\U0001F600"*50, "\ud83d", "a\x00b\n", "日本"*150, b"", b"bytes", b"it's", b"\x00\xff'\"", b"x"*101, bytearray(b"abc"), bytearray(200),
 (), (1,), (1,2,"a",None), tuple(range(9)), [1,[2,[3,[4]]]], list(range(100)), {}, {"a":1,"b":{"c":{"d":1}}}, {1:2,1.5:3,True:4,None:5,"s":6}, {(1,2):3}, {"api_key":"x","token":5,"tokens":3,"user_tokens":1,"max_tokens":7, "apiKey":"s","Authorization":"x"},
 {str(i):i for i in range(20)}, {"k"*60+str(i):i for i in range(20)}, {10**30:1, -5:2, 1e22:3}, {1,2}, frozenset([1]), 1+2j, complex("nan"), range(5), object, int, Color.RED, Num.ONE, Color, Plain(), Plain, Slots(), S("sub"*100), I(7), I(2**3000), F(2.5), GA(), {GA():1}, [GA()],
 collections.OrderedDict(a=1), collections.defaultdict(int), collections.deque([1]), lambda: 1, len, sys, ..., NotImplemented, memoryview(b"x"), type, ValueError("m"), collections.namedtuple("P","x y")(1,2), Exception, "pass\u00e9", {(): 1, (None, True, -0.0, b"x", "it's"): 2, ((1, 2), "a"): 3, None: 4, b"it's": 5, "last": 6},
 {("k"*60, "api_key"): 1, ("user", "k"*60): 2, b"password": 3, ("k"*200,)*8: 4}, {(GA(),): 1}, {"a": 1, ((1, GA()),): 2}, {(((1,),),): 1}, {tuple(range(9)): 1},
 {("k"*201,): 1}, {b"k"*201: 1}, {1 << 5000: 1}, {(1 << 5000,): 1}, {(I(1),): 1}, {(S("s"),): 1}, {("\ud83d", "é\\"): 1}, {"é":1, "x"*49+"é":2}]
class Box:
    def __init__(self, value, number):
        self.value = value
        self.number = number


def show(value, box, number):
    seen = number
    return seen


if __name__ == "__main__":
    for number, value in enumerate(VALUES):
        show(value, Box([value], number), number)
