"""Tasks that the ranks run."""
from towpath.charm import charm, coro


def square(number):
    return number * number


def add(first, second):
    return first + second


def fail(number):
    raise ValueError("task %d" % number)


@coro
def nested(number):
    return sum(charm.pool.map(square, range(number)))


def main(args):
    assert charm.pool.map(square, range(50)) == [n * n for n in range(50)]
    assert charm.pool.map(square, list(range(50)), chunksize=7) == [n * n for n in range(50)]
    assert charm.pool.map_async(square, [3, 4]).get() == [9, 16]
    futures = charm.pool.map_async(square, [3, 4, 5], multi_future=True)
    assert [future.get() for future in futures] == [9, 16, 25]
    assert charm.pool.submit([(square, (3,)), (add, (1, 2))]) == [9, 3]
    assert charm.pool.Task(add, (4, 5), ret=True).get() == 9
    try:
        charm.pool.map(fail, [1, 2, 3])
    except ValueError as error:
        assert str(error).startswith("task ")
    else:
        raise AssertionError("no exception came")
    if charm.numPes() > 2:
        assert charm.pool.map(nested, [3, 4, 5]) == [5, 14, 30]
    print("ok")
    exit()


charm.start(main)
