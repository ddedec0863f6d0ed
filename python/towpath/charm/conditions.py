"""Conditions for which messages and coroutines wait: `@when(...)` and `self.wait(...)`."""

import ast
import sys
from collections import deque


class Condition:
    """An expression over a chare, and over the parameters of an entry method.

    One of the form "self.attribute == parameter" is looked up instead of evaluated for each message
    that waits.
    """

    def __init__(self, text, module, parameters=()):
        self.text, self.module, self.parameters = text, module, parameters
        names = ", ".join(["self", *parameters])
        self.key = (text, names)
        tree = ast.parse(text, filename=f"condition {text!r}", mode="eval")
        self.attribute, self.place = matched(tree.body, parameters)
        code = compile(f"lambda {names}: ({text})", f"condition {text!r}", "eval")
        # Where the program has defined it: it may use the names of its module.
        self.holds = eval(code, vars(sys.modules[module]))

    def __reduce__(self):
        return Condition, (self.text, self.module, self.parameters)

    def is_met(self, chare, arguments=()):
        return self.holds(chare, *arguments[:len(self.parameters)])


def matched(expression, parameters):
    """The attribute and the place of the parameter in "self.attribute == parameter"."""
    if not (isinstance(expression, ast.Compare) and len(expression.ops) == 1
            and isinstance(expression.ops[0], ast.Eq)):
        return None, None
    sides = [expression.left, expression.comparators[0]]
    for one, other in (sides, sides[::-1]):
        if (isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
                and one.value.id == "self" and isinstance(other, ast.Name)
                and other.id in parameters):
            return one.attr, parameters.index(other.id)
    return None, None


class Waiting:
    """What waits for one condition in a chare: calls, each (entry, arguments, reply), in the order
    in which they came, and coroutines."""

    def __init__(self, condition):
        self.condition = condition
        self.by_value = {}
        self.others = deque()

    def add(self, call):
        place = self.condition.place
        if place is None:
            self.others.append(call)
            return
        value = call[1][place]
        try:
            self.by_value.setdefault(value, deque()).append(call)
        except TypeError:
            # It has no hash.
            self.others.append(call)

    def next(self, chare):
        """The first that need not wait any longer, or None."""
        if self.by_value:
            value = getattr(chare, self.condition.attribute)
            calls = self.by_value.get(value)
            if calls:
                call = calls.popleft()
                if not calls:
                    del self.by_value[value]
                return call
        for place, call in enumerate(self.others):
            if self.condition.is_met(chare, call[1]):
                del self.others[place]
                return call
        return None

    def is_empty(self):
        return not self.by_value and not self.others


def enqueue(chare, condition, call):
    waiting = chare._waiting
    if condition.key not in waiting:
        waiting[condition.key] = Waiting(condition)
    waiting[condition.key].add(call)


def next_call(chare):
    """A call whose condition is met now, or None."""
    for key, waiting in chare._waiting.items():
        call = waiting.next(chare)
        if call is not None:
            if waiting.is_empty():
                del chare._waiting[key]
            return call
    return None
