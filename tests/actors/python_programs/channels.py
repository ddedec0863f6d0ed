"""Channels keep the order of their messages, and belong to two chares."""
import numpy
from towpath.charm import Array, Channel, Chare, Group, charm, coro

COUNT = 200


class End(Chare):
    @coro
    def ring(self, size):
        index = self.thisIndex[0]
        left = Channel(self, remote=self.thisProxy[(index - 1) % size])
        right = Channel(self, remote=self.thisProxy[(index + 1) % size])
        for number in range(COUNT):
            left.send(number, "left")
            right.send(number, "right")
            assert left.recv() == (number, "right")
            assert right.recv() == (number, "left")

    @coro
    def stream(self, other, is_sender):
        channel = Channel(self, remote=other)
        if is_sender:
            for number in range(COUNT):
                channel.send(numpy.full(number * 7, number))
            assert channel.recv() == "end"
        else:
            for number in range(COUNT):
                data = channel.recv()
                assert len(data) == number * 7 and (data == number).all()
            channel.send("end")

    @coro
    def collect(self, others):
        channels = [Channel(self, remote=other) for other in others]
        for channel in channels:
            channel.send("begin")
        found = []
        for _ in range(3):
            for channel in charm.iwait(channels):
                found.append(channel.recv())
        assert sorted(found) == sorted(list(range(3)) * len(others))

    @coro
    def answer(self, other):
        channel = Channel(self, remote=other)
        assert channel.recv() == "begin"
        for number in range(3):
            channel.send(number)


def main(args):
    ends = Array(End, 5)
    ends.ring(5, awaitable=True).get()
    group = Group(End)
    last = group[charm.numPes() - 1]
    futures = [ends[0].stream(last, True, awaitable=True),
               last.stream(ends[0], False, awaitable=True)]
    charm.wait(futures)
    for future in futures:
        future.get()
    futures = [ends[index].answer(ends[0], awaitable=True) for index in range(1, 5)]
    futures.append(ends[0].collect([ends[index] for index in range(1, 5)], awaitable=True))
    for future in futures:
        future.get()
    print("ok")
    exit()


charm.start(main)
