#!/usr/bin/env python3
"""Moves random layouts and reduces random vectors by the kernels of crates/device/kernels, and
compares every byte.

    kernels.py                  as OpenCL on PoCL, and as C
    kernels.py --only C         one of them
    kernels.py --cases 500 --seed 3

PoCL comes from a Python package into an environment under build/: a real compiler for devices
translates the source, and its CPU device runs it. In C, the threads run in random order. Both must
reduce to the same bits; the tests of the library compare those of C with the host's.
"""

import argparse
import ctypes
import faulthandler
import os
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402
import layouts  # noqa: E402
import vectors  # noqa: E402

KERNELS = environments.ROOT / "crates/device/kernels"
DIRECTORY = environments.BUILD / "tests" / "device"
GROUP = 32
UNTOUCHED = 0xEE


class Buffer:
    """Bytes at an address that is a multiple of 16, or a table of numbers."""

    def __init__(self, content):
        self.memory = ctypes.create_string_buffer(len(content) + 16)
        self.address = (ctypes.addressof(self.memory) + 15) // 16 * 16
        self.size = len(content)
        ctypes.memmove(self.address, content, len(content))

    @classmethod
    def table(cls, numbers):
        return cls(bytes((ctypes.c_int64 * len(numbers))(*numbers)))

    def content(self):
        return ctypes.string_at(self.address, self.size)


class Side:
    """One side of a case in memory."""

    def __init__(self, shape, offsets, fill):
        self.lowest = min(offsets) // 16 * 16
        self.buffer = Buffer(fill(max(offsets) + shape.word - self.lowest))
        self.tables = [Buffer.table(table) for table in shape.tables()]
        base = (self.buffer.address - self.lowest) % (1 << 64)
        self.layout = shape.layout(base, *(table.address for table in self.tables))


class Prepared:
    """A case in memory, and what its bytes must be afterwards."""

    def __init__(self, case, draw):
        places = case.places()
        source = Side(case.from_, [place for place, _ in places], draw.randbytes)
        target = Side(case.to, [place for _, place in places],
                      lambda size: bytes([UNTOUCHED]) * size)
        self.sides, self.expected = (source, target), bytearray(target.buffer.content())
        before = source.buffer.content()
        for from_, to in places:
            start = from_ - source.lowest
            self.expected[to - target.lowest:to - target.lowest + case.word] = \
                before[start:start + case.word]
        self.flag, self.count = ctypes.c_uint32(UNTOUCHED), ctypes.c_uint32(0)
        self.value = draw.randrange(1, 1 << 32)
        end = layouts.Completion(ctypes.addressof(self.flag), ctypes.addressof(self.count),
                                 self.value, 0)
        end = draw.choice([end, layouts.Completion()])
        self.move = layouts.Move(source.layout, target.layout, case.first, case.words, end)

    def problem(self):
        """What is wrong after the move; empty where every byte is as it must be."""
        flag, count = self.flag.value, self.count.value
        if (flag, count) != (self.value if self.move.completion.flag else UNTOUCHED, 0):
            return f"its end is announced as {flag}, not {self.value}, and the count is {count}"
        found = self.sides[1].buffer.content()
        wrong = [at for at, byte in enumerate(found) if byte != self.expected[at]]
        return f"{len(wrong)} bytes are wrong, the first one is byte {wrong[0]}" if wrong else ""


def moved(case, run, draw):
    """What is wrong with a case; empty where nothing is."""
    prepared = Prepared(case, draw)
    run(case.kernel, prepared.move, GROUP * draw.randrange(1, 9))
    return prepared.problem()


def moved_together(group, run, draw):
    """What is wrong with each of several cases that one launch moves; empty where nothing is."""
    prepared = [Prepared(case, draw) for case in group]
    moves = layouts.Moves(count=len(group))
    for place, one in enumerate(prepared):
        moves.starts[place + 1] = moves.starts[place] + GROUP * draw.randrange(1, 5)
        moves.moves[place] = one.move
    run("towpath_move_many", moves, moves.starts[len(group)])
    return [one.problem() for one in prepared]


class C:
    """A source as C, for ordinary memory."""

    def __init__(self, source):
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        library = DIRECTORY / f"{source}.so"
        words = ["cc", "-x", "c", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared",
                 "-fPIC", KERNELS / f"{source}.cu", "-o", library]
        environments.command(words, f"device-kernels-{source}.log")
        self.library = ctypes.CDLL(str(library))
        self.draw = random.Random(1)

    def run(self, kernel, arguments, threads):
        function = self.library[kernel]
        for thread in self.draw.sample(range(threads), threads):
            function(ctypes.byref(arguments), ctypes.c_uint32(thread), ctypes.c_uint32(threads))


class OpenCL:
    """A source as OpenCL C on PoCL's CPU device, whose addresses are those of the process."""

    def __init__(self, source):
        import pyopencl

        self.cl = pyopencl
        platforms = pyopencl.get_platforms()
        pocl = [found for found in platforms if "Portable Computing Language" in found.name]
        if not pocl:
            names = ", ".join(found.name for found in platforms) or "nothing"
            raise SystemExit(f"OpenCL finds {names}, but not PoCL: remove build/venv/opencl, so "
                             "that the environment is made again")
        platform = pocl[0]
        print(f"OpenCL: {platform.version}", flush=True)
        context = pyopencl.Context([platform.get_devices()[0]])
        self.queue = pyopencl.CommandQueue(context)
        options = ["-cl-std=CL1.2", "-I", str(KERNELS)]
        text = (KERNELS / f"{source}.cu").read_text()
        program = pyopencl.Program(context, text).build(options)
        self.kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}

    def run(self, kernel, arguments, threads):
        function = self.kernels[kernel]
        function.set_arg(0, bytes(arguments))
        self.cl.enqueue_nd_range_kernel(self.queue, function, (threads,), (GROUP,))
        self.queue.finish()


DIALECTS = {"C": C, "OpenCL": OpenCL}


def all_moved(dialects, options):
    """Moves random layouts by each dialect. Yields each case and what is wrong with it."""
    for name, dialect in dialects.items():
        run, draw = dialect("move").run, random.Random(options.seed)
        for case in layouts.cases(options.seed, options.cases):
            yield f"{name}, {case.name}", moved(case, run, draw)
        for group in layouts.groups(options.seed, options.cases):
            problems = moved_together(group, run, draw)
            for case, problem in zip(group, problems):
                yield f"{name}, one of {len(group)}, {case.name}", problem


def reduced(case, run, threads):
    """The result of a reduction by a kernel."""
    left, right = Buffer(case.left), Buffer(case.right)
    run(case.kernel, vectors.Reduction.of(left.address, right.address, case), threads)
    return right.content()


def all_reduced(dialects, options):
    """Reduces random vectors by all dialects, if there are several to compare. Yields each case and
    what is wrong with it."""
    if len(dialects) < 2:
        return
    runs = {name: dialect("reduce").run for name, dialect in dialects.items()}
    draw = random.Random(options.seed)
    for case in vectors.cases(options.seed, (KERNELS / "reduce_70.ptx").read_text()):
        threads = GROUP * draw.randrange(1, 9)
        results = {name: reduced(case, run, threads) for name, run in runs.items()}
        same = len(set(results.values())) == 1
        yield case.kernel, "" if same else case.difference(*results.values())


def again_with_opencl():
    """Runs this program by the Python of the environment that has OpenCL."""
    python = environments.venv("opencl") / "bin" / "python"
    cache = DIRECTORY / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, "POCL_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache),
                 "TOWPATH_OPENCL": "1"}
    os.execve(python, [str(python), *sys.argv], variables)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=DIALECTS)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # A wrong kernel may also touch memory that nobody has.
    faulthandler.enable()
    if options.only != "C" and "TOWPATH_OPENCL" not in os.environ:
        again_with_opencl()
    chosen = {name: dialect for name, dialect in DIALECTS.items() if options.only in (None, name)}
    passed = failed = 0
    for name, problem in (*all_moved(chosen, options), *all_reduced(chosen, options)):
        if problem:
            print(f"FAIL {name}: {problem}", flush=True)
        passed, failed = passed + (not problem), failed + bool(problem)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
