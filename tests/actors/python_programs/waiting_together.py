"""Several coroutines wait for the same future, the same list of futures, and on both ends of a
channel. In charm4py one may."""
from towpath.charm import Channel, Chare, Future, LocalFuture, charm, coro


class Waiter(Chare):
    @coro
    def begin(self):
        self.future, self.local = Future(), LocalFuture()

    @coro
    def get(self):
        return self.future.get()

    @coro
    def listen(self):
        return [future.get() for future in charm.iwait([self.future])]

    @coro
    def get_local(self):
        return self.local.get()

    def give(self, value):
        self.future.send(value)
        self.local.send(value)
        self.local.send(value + 1)


class Speaker(Chare):
    def connect(self, other):
        self.channel = Channel(self, remote=other)

    @coro
    def say(self, word):
        self.channel.send(word)

    @coro
    def hear(self):
        return self.channel.recv()

    @coro
    def hear_ready(self):
        for channel in charm.iwait([self.channel]):
            return channel.recv()


def values(futures):
    return [future.get() for future in futures]


def futures_are_shared(last):
    waiter = Chare(Waiter, onPE=last)
    waiter.begin(awaitable=True).get()
    got = [waiter.get(ret=True) for _ in range(3)]
    listened = [waiter.listen(ret=True) for _ in range(2)]
    local = [waiter.get_local(ret=True) for _ in range(2)]
    charm.waitQD()
    waiter.give(7)
    assert values(got) == [7] * 3 and values(listened) == [[7]] * 2 and values(local) == [7, 8]


def channels_are_shared(last):
    here, there = Chare(Speaker, onPE=0), Chare(Speaker, onPE=last)
    here.connect(there, awaitable=True).get()
    said = [here.say(word, awaitable=True) for word in ("one", "two")]
    charm.waitQD()
    there.connect(here, awaitable=True).get()
    values(said)
    assert values([there.hear(ret=True) for _ in range(2)]) == ["one", "two"]
    heard = [there.hear(ret=True), there.hear_ready(ret=True), there.hear(ret=True)]
    charm.waitQD()
    for number in range(3):
        here.say(number)
    assert sorted(values(heard)) == [0, 1, 2]


def main(args):
    last = charm.numPes() - 1
    futures_are_shared(last)
    channels_are_shared(last)
    print("ok")
    exit()


charm.start(main)
