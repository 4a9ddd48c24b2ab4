"""Functions that are left in every way, and how to call each; the tests run them with and without probes side by side."""

SOURCE = '''
import contextlib


def simple(a):
    return a + 1


def several_lines(a):
    return (
        a +
        1
    )


def constant_below():
    return (
        7
    )


def name_below(a):
    return (
        a
    )


def bare(a):
    if a:
        return
    x = 1


def many(a):
    if a == 0:
        return 0
    elif a == 1:
        return [a]
    elif a == 2:
        x = 2
    else:
        return a


def no_else(a):
    if a:
        x = 1


def nested_ifs(a):
    if a:
        if a > 1:
            x = 1
        else:
            if a > 5:
                x = 2
    y = 1
    if y:
        pass


def loop(a):
    for i in range(a):
        x = i


def loop_break(a):
    for i in range(5):
        if i == a:
            break
        x = i


def loop_else(a):
    for i in range(5):
        if i == a:
            break
    else:
        x = 1


def while_loop(a):
    while a:
        a -= 1


def forever(a):
    while True:
        a -= 1
        if a < 0:
            return a


def forever_break(a):
    while True:
        a -= 1
        if a < 0:
            break


def with_end(a):
    with contextlib.suppress(ValueError):
        if a:
            raise ValueError
        x = 1


def with_return(a):
    with contextlib.suppress(ValueError):
        if a:
            raise ValueError
        return a


def with_lines(a):
    with contextlib.suppress(
        ValueError
    ), contextlib.suppress(
        KeyError
    ):
        x = 1


def try_except(a):
    try:
        x = 1 // a
    except ZeroDivisionError:
        y = 2


def try_named(a):
    try:
        x = 1 // a
    except ZeroDivisionError as error:
        y = error
    except TypeError:
        return 9


def try_else(a):
    try:
        x = 1 // a
    except ZeroDivisionError:
        return 2
    else:
        y = 1


def try_finally(a):
    try:
        return 1 // a
    except ZeroDivisionError:
        return "zero"
    finally:
        a = None


def finally_end(a):
    try:
        x = 1
    finally:
        y = 2


def finally_returns(a):
    try:
        return 1 // a
    finally:
        return 3


def return_in_loop(a):
    for i in range(3):
        with contextlib.suppress(KeyError):
            try:
                if i == a:
                    return i
                continue
            finally:
                x = i
    return (yield_nothing(a),
            a)


def yield_nothing(a):
    return None


def docstring():
    "nothing"


def passes():
    pass


def decorated_inside(a):
    def inner(b):
        return b
    class C:
        def g(self):
            return 1
    return inner(a)


def with_lambda(a):
    f = lambda: a
    return f()


def closure(a):
    b = a
    def inner():
        nonlocal b
        b += 1
        return b
    inner()
    return b


def one_line(a): return a


def semicolons(a):
    x = 1; return x


def conditional(a):
    return a if a else None


def raises(a):
    raise ValueError(a)


def raises_deep(a):
    x = [
        a,
        1 // a,
    ]
    return x


def raises_chain(a):
    try:
        1 // a
    except ZeroDivisionError as error:
        raise KeyError("chained") from error


def raises_context(a):
    try:
        1 // a
    except ZeroDivisionError:
        raise KeyError("context")


def raises_group(a):
    for i in range(3):
        if i == a:
            assert not a, "told"
    return i


def generator(a):
    x = yield a
    if x:
        return x
    yield a + 1


def generator_finally(a):
    try:
        yield a
        yield a + 1
    finally:
        x = 1


def delegating(a):
    result = yield from generator(a)
    return result


def stopping(a):
    yield a
    raise StopIteration(a)


async def coroutine(a):
    x = await step(a)
    return x


async def step(a):
    return a


async def async_generator(a):
    yield a
    if a:
        return
    yield a + 1


def walrus(a):
    return [y for x in [a] if (y := x)]


def with_global(a):
    global SEEN
    SEEN = a
    return SEEN


def unbound(a):
    if a:
        x = 1
    return x


def deletes(a):
    x = a
    del x
    del a


def recursive(a):
    if a == 0:
        return 0
    return recursive(a - 1) + 1


def stacked(a):
    return (
        simple(
            a
        )
        + simple(
            a + 1
        )
    )


def passing_to_the_end(a):
    x = a
    x += 1
    (
        x
    )


def exits(a):
    import sys
    sys.exit(a)


class C:
    def method(self, a):
        self.__private = a
        return self.__private

    @property
    def value(self):
        return 5

    @staticmethod
    def static(a):
        return a

    @classmethod
    def made(cls, a):
        return cls().method(a)
'''

MATCH = '''
def matching(a):
    match a:
        case 0:
            x = 1
        case [b, *rest]:
            return b
        case {"k": v}:
            x = 2


def matching_all(a):
    match a:
        case 0:
            x = 1
        case _:
            if a:
                y = 1
'''

ARGUMENTS = {
    "constant_below": [()], "docstring": [()], "passes": [()], "with_lines": [(1,)], "C.method": [(1,)], "C.made": [(1,)], "C.static": [(1,)],
    "deletes": [(1,)], "decorated_inside": [(3,)], "matching": [(0,), ([1, 2],), ({"k": 1},), (7,)], "raises_group": [(0,), (1,), (2,)],
}  # fmt: skip
