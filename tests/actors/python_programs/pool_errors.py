"""A task that fails leaves the results of others alone, if each has a future. charm4py ends the job
if there is one worker."""
from towpath.charm import charm


def even(number):
    if number % 2:
        raise ValueError("task %d" % number)
    return number


def assert_failed(future, sentence):
    try:
        future.get()
    except ValueError as error:
        assert str(error) == sentence
    else:
        raise AssertionError("no exception came")


def main(args):
    futures = charm.pool.map_async(even, [2, 3, 4], multi_future=True)
    assert futures[0].get() == 2
    assert_failed(futures[1], "task 3")
    futures = charm.pool.map_async(even, [2, 4, 6, 7, 8], chunksize=2, multi_future=True)
    assert [future.get() for future in futures[:2]] == [2, 4]
    for future in futures[2:4]:
        assert_failed(future, "task 7")
    print("ok")
    exit()


charm.start(main)
