"""Methods that are written with async and await, beyond charm4py."""
from towpath.charm import Array, Chare, Future, Reducer, charm, when


class Awaiter(Chare):
    async def fetch(self, other):
        return await other.plain(ret=True) + [self.thisIndex]

    def plain(self):
        return [self.thisIndex]

    async def together(self):
        return await self.allreduce(1, Reducer.sum)

    async def fail(self):
        await self.thisProxy[0].plain(ret=True)
        raise ValueError("in async")

    async def wrong(self):
        class Other:
            def __await__(self):
                yield 1
        await Other()


async def begin(args):
    array = Array(Awaiter, 4)
    assert await array[1].fetch(array[3], ret=True) == [(3,), (1,)]
    assert await array.together(ret=True) == [4] * 4
    for method, sentence in [("fail", "in async"), ("wrong", "no future")]:
        try:
            await getattr(array[2], method)(awaitable=True)
        except Exception as error:
            assert sentence in str(error)
        else:
            raise AssertionError("no exception came")
    future = Future()
    future.send(3)
    assert await future == 3 and future.get() == 3
    print("ok")
    exit()


charm.start(begin)
