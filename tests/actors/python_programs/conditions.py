"""Methods wait for conditions on their chare and their parameters."""
from towpath.charm import Array, Chare, Future, Group, charm, when


class Stepper(Chare):
    def __init__(self, count, done):
        self.iter, self.count, self.done = 0, count, done
        self.seen, self.is_open, self.limit = [], False, 10

    @when("self.iter == iter")
    def step(self, iter, value):
        self.seen.append((iter, value))
        if len(self.seen) % self.count == 0:
            self.iter += 1

    @when("self.is_open")
    def opened(self, word):
        self.seen.append(word)

    @when("x + y < self.limit and self.is_open")
    def below(self, x, y):
        self.seen.append(x + y)

    def open(self, limit):
        self.is_open, self.limit = True, limit

    def result(self):
        return self.seen


def main(args):
    done = Future()
    steppers = Group(Stepper, args=[2, done])
    for value in range(2):
        for iter in (3, 1, 2, 0):
            steppers.step(iter, value)
    charm.waitQD()
    for seen in steppers.result(ret=True).get():
        assert [iter for iter, _ in seen] == [0, 0, 1, 1, 2, 2, 3, 3], seen
    one = Chare(Stepper, args=[1, done], onPE=charm.numPes() - 1)
    one.opened("a")
    one.below(5, 5)
    one.below(3, 1)
    one.below(20, 2)
    charm.waitQD()
    assert one.result(ret=True).get() == []
    one.open(10, awaitable=True).get()
    charm.waitQD()
    assert sorted(map(str, one.result(ret=True).get())) == ["4", "a"]
    one.open(11)
    charm.waitQD()
    assert sorted(map(str, one.result(ret=True).get())) == ["10", "4", "a"]
    print("ok")
    exit()


charm.start(main)
