#!/usr/bin/env python3
"""Measures messages of device memory on a machine with one NVIDIA GPU.

    python3 benchmarks/device.py --prefix build/install --part vector --out build/device/results

Needs nvcc, gcc and this tree, nothing else. Towpath is installed below the prefix; --impi names a
tree of Intel MPI (bin, lib), with which the same programs of `latency` and `vector` run again. Each
part leaves a table and its figures (PART.txt, PART.json), also of what ran before a program failed:
every program has a time limit of its own, and so has every part. --build-only compiles the
programs, which may then be copied. --count-lines compares the main loops of the two versions of
Stencil2D.
"""

import argparse
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import device_tables

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "device"
STENCIL = HERE.parent / "examples" / "stencil2d"
OWN, INTEL = "towpath", "intel"
# The objects that a program consists of besides its own.
WITH_MESSAGES = ["device", "methods", "kernels"]
PROGRAMS = {
    "latency": WITH_MESSAGES,
    "vector": WITH_MESSAGES,
    "faces": WITH_MESSAGES,
    "limits": ["device", "kernels"],
    "pack": ["device", "kernels"],
    "allreduce": ["device", "kernels"],
    "host": ["device"],
}
REALS = ("float", "double")
VERSIONS = ("before", "after")
SHAPES = (
    (8, 64),
    (8, 128),
    (4, 8),
    (4, 64),
    (16, 32),
    (16, 256),
    (64, 128),
    (64, 1024),
    (512, 1024),
    (512, 8192),
    (8, 16),
)
GRIDS = ("1x2", "2x1")
PARTS_OF_STENCIL = ((65536, 1024), (1024, 65536), (8192, 8192))
# Lines of a failed program that are shown.
SHOWN = 15
# After so many failures of Intel MPI in a row it is left out.
PATIENCE = 2


@dataclass
class Run:
    """One program, run by one library."""

    program: str
    arguments: list
    limit: float
    library: str = OWN
    label: str = ""  # ends the names of its methods

    def name(self):
        return " ".join([self.library, self.program, *map(str, self.arguments)])


@dataclass
class Part:
    """Runs that belong together, and the seconds that all of them may take."""

    seconds: float
    runs: list = field(default_factory=list)


def parts(scale, intel):
    """All parts; `scale` multiplies the time that is spent on each row."""
    table = {
        "latency": Part(60, [Run("latency", [0.3 * scale], 30)]),
        "vector": Part(100, [Run("limits", [0.5 * scale], 15), *vectors(0.1 * scale, intel)]),
        "faces": Part(
            60, [Run("faces", [what, 0.2 * scale], 20) for what in ("list", 128, 256, 512)]
        ),
        "pack": Part(40, [Run("pack", [0.2 * scale], 35)]),
        "stencil": Part(150, stencils(max(5, int(100 * scale)))),
        "allreduce": Part(30, [Run("allreduce", [1 * scale], 28)]),
        "host": Part(
            30,
            [
                Run("host", [mode, 0.2 * scale], 10, label="_" + mode)
                for mode in ("none", "cuda") * 3
            ],
        ),
    }
    if intel:
        table["latency"].runs.append(Run("latency", [0.3 * scale], 30, INTEL))
    return table


def vectors(seconds, intel):
    """Both libraries take turns, so that both have the first shapes if time runs out."""
    runs = []
    for block, stride in SHAPES:
        runs.append(Run("vector", [block, stride, seconds], 30))
        if intel:
            runs.append(Run("vector", [block, stride, seconds, "datatype"], 20, INTEL))
    return runs


def stencils(iterations):
    """The longest column first."""
    runs = []
    for rows, columns in PARTS_OF_STENCIL:
        for grid in GRIDS:
            for real in REALS:
                shape = [
                    "--rows",
                    rows,
                    "--columns",
                    columns,
                    "--grid",
                    grid,
                    "--iterations",
                    iterations,
                ]
                runs += [Run(f"stencil_{version}_{real}", shape, 25) for version in VERSIONS]
    return runs


class Programs:
    """The compiled programs, in a directory of their own."""

    def __init__(self, directory, prefix, nvcc, architecture):
        self.directory, self.prefix, self.nvcc = directory, prefix, nvcc
        self.device = ["-O3", f"-arch={architecture}"]
        self.host = ["-O2", "-I", prefix / "include"]

    def path(self, name):
        return self.directory / name

    def build(self):
        """Compiles what is missing or older than its source, side by side; whether all is there."""
        self.directory.mkdir(parents=True, exist_ok=True)
        objects = [
            (name, SOURCES / f"{name}.c", self.host) for name in ("device", "methods", *PROGRAMS)
        ]
        objects.append(("kernels", SOURCES / "kernels.cu", self.device))
        for real in REALS:
            macro = [f"-DREAL={real}"]
            objects.append(
                (f"cuda_{real}", STENCIL / "cuda.cu", [*self.device, "-fmad=false", *macro])
            )
            for name in ("stencil", *VERSIONS):
                options = [*self.host, *macro, "-Xcompiler", "-ffp-contract=off"]
                objects.append((f"{name}_{real}", STENCIL / f"{name}.c", options))
        links = [(name, [name, *others]) for name, others in PROGRAMS.items()]
        for real in REALS:
            for version in VERSIONS:
                names = [f"{name}_{real}" for name in ("stencil", version, "cuda")]
                links.append((f"stencil_{version}_{real}", names))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = list(pool.map(lambda work: self.compile(*work), objects))
            linked = list(pool.map(lambda work: self.link(*work), links))
        return all(compiled) and all(linked)

    def compile(self, name, source, options):
        target = self.path(f"{name}.o")
        headers = [*source.parent.glob("*.h"), source]
        if newer(target, headers):
            return True
        return succeeds([self.nvcc, *options, "-c", source, "-o", target])

    def link(self, name, objects):
        files = [self.path(f"{other}.o") for other in objects]
        if newer(self.path(name), files):
            return True
        # MPI is found by LD_LIBRARY_PATH, so that one program runs with either library.
        places = [
            place for name in (self.prefix / "lib", *self.toolkit()) for place in ("-L", name)
        ]
        return succeeds([self.nvcc, *files, "-o", self.path(name), *places, "-lmpi"])

    def toolkit(self):
        """Directories of the toolkit's libraries; a wheel's nvcc does not look into its `lib`."""
        root = Path(self.nvcc).resolve().parent.parent
        return [root / name for name in ("lib64", "lib") if (root / name).is_dir()]


def newer(target, sources):
    return target.exists() and all(
        source.stat().st_mtime <= target.stat().st_mtime for source in sources
    )


def succeeds(command):
    """Runs a compiler; prints what it says if it fails."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if result.returncode:
        print("failed:", *command)
        print(result.stdout + result.stderr, flush=True)
    return result.returncode == 0


def command_of(run, programs, options):
    """The command and the environment of a run."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("I_MPI_", "TOWPATH_"))
    }
    prefix = options.prefix if run.library == OWN else options.impi
    settings = options.env
    if run.library == INTEL:
        settings = {
            "I_MPI_ROOT": str(prefix),
            "I_MPI_OFFLOAD": "1",
            "I_MPI_OFFLOAD_CUDA_LIBRARY": "libcuda.so.1",
            "I_MPI_FABRICS": "shm",
            "I_MPI_HYDRA_BOOTSTRAP": "fork",
            "FI_PROVIDER_PATH": str(prefix / "lib"),
            **options.impi_env,
        }
        environment["PATH"] = f"{prefix / 'bin'}:{environment.get('PATH', '')}"
    environment["LD_LIBRARY_PATH"] = f"{prefix / 'lib'}:{environment.get('LD_LIBRARY_PATH', '')}"
    words = [prefix / "bin" / "mpiexec", "-n", 2, programs.path(run.program), *run.arguments]
    return [str(word) for word in words], {**environment, **settings}


def end_group(process):
    """Ends a program and what it started: the launcher first, which ends its ranks."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def rest_of(process):
    """What a program that was ended has printed; a process outside its group may hold the pipe."""
    try:
        return process.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired as held_open:
        return (held_open.output or b"").decode(errors="replace")


def execute(command, environment, limit):
    """The output of a program, and why it failed, or None."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        problem = f"ended with {process.returncode}" if process.returncode else None
    except subprocess.TimeoutExpired:
        end_group(process)
        output = rest_of(process)
        problem = f"still ran after {limit:.0f} s"
    return output, problem


def figures_of(run, output):
    """The rows of a program's output. A row that says "wrong" has no value."""
    rows = []
    for line in output.splitlines():
        words = line.split()
        if len(words) == 6 and words[0] == "row":
            rows.append(
                {
                    "name": words[1],
                    "bytes": int(words[2]),
                    "method": words[3] + run.label,
                    "value": float(words[4]),
                    "unit": words[5],
                }
            )
        elif len(words) == 6 and words[0] == "wrong":
            rows.append(
                {
                    "name": words[1],
                    "bytes": int(words[2]),
                    "method": words[3] + run.label,
                    "value": None,
                    "unit": f"{words[4]} wrong words",
                }
            )
        elif run.program.startswith("stencil_"):
            rows += stencil_row(run, line)
    return [{"library": run.library, **row} for row in rows]


def stencil_row(run, line):
    found = re.search(r": (\S+) s per iteration, (\d+) wrong cells", line)
    if not found:
        return []
    _, version, real = run.program.split("_")
    value, wrong = float(found[1]), int(found[2])
    given = dict(zip(run.arguments[::2], run.arguments[1::2]))
    name = f"{given['--rows']}x{given['--columns']}_grid_{given['--grid']}_{real}"
    return [
        {
            "name": name,
            "bytes": 0,
            "method": version,
            "value": None if wrong else value * 1e3,
            "unit": f"{wrong} wrong cells" if wrong else "ms",
        }
    ]


def measure(name, part, programs, options):
    """Runs a part; its figures and its problems are on disk after each program."""
    rows, problems, failures = [], [], 0
    ends = time.monotonic() + part.seconds
    for run in part.runs:
        if run.library == INTEL and failures >= PATIENCE:
            continue
        left = ends - time.monotonic()
        if left < 2:
            problems.append(
                f"{run.name()}: not run, the {part.seconds:.0f} s of this part are over"
            )
            continue
        started = time.monotonic()
        output, problem = execute(*command_of(run, programs, options), min(run.limit, left))
        rows += figures_of(run, output)
        if run.library == INTEL:
            failures = failures + 1 if problem else 0
        if problem:
            problems.append(f"{run.name()}: {problem}")
            print(f"{problems[-1]}; the end of its output:")
            print("\n".join("    " + line for line in output.splitlines()[-SHOWN:]), flush=True)
        else:
            print(f"{run.name()}: {time.monotonic() - started:.1f} s", flush=True)
        write(name, rows, problems, options.out)
    return rows, problems


@functools.cache
def machine():
    """The GPU and its driver: figures of different cards are not to be compared."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        result = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "no nvidia-smi"
    return result.stdout.strip() or "no GPU"


def write(name, rows, problems, out):
    out.mkdir(parents=True, exist_ok=True)
    record = {"part": name, "machine": machine(), "rows": rows, "problems": problems}
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    bars = device_tables.bars(name, rows)
    text = [f"{name} on {machine()}", device_tables.table(rows), bars, *problems]
    (out / f"{name}.txt").write_text("\n".join(text) + "\n")


def count_lines(formatter):
    """Lines of the main loops of Stencil2D: neither blank nor a comment, both formatted alike."""
    counts = []
    for version in VERSIONS:
        source = STENCIL / f"{version}.c"
        style = (
            "{BasedOnStyle: LLVM, IndentWidth: 4, ColumnLimit: 100, BreakBeforeBraces: Linux, "
            "AllowShortFunctionsOnASingleLine: None}"
        )
        text = source.read_text()
        if formatter:
            text = subprocess.run(
                [formatter, f"-style={style}", source], capture_output=True, text=True, check=True
            ).stdout
        text = text.split("/* main loop */")[1].split("/* end of main loop */")[0]
        lines = [
            line for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines() if line.strip()
        ]
        counts.append(len(lines))
    before, after = counts
    how = f"formatted by {formatter}" if formatter else "as committed"
    print(
        f"main loop of Stencil2D, {how}: before {before} lines, after {after} lines, "
        f"{after / before:.1%} (64 % at most)"
    )
    return after / before <= 0.64


def pairs(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text} is not of the form NAME=VALUE")
    return name, value


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--prefix", type=Path, default=Path("build/install"), help="where Towpath is installed"
    )
    parser.add_argument("--impi", type=Path, help="a tree of Intel MPI with bin and lib")
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        help="a part, or several with commas between them; all without it",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/device/results"), help="where the tables go"
    )
    parser.add_argument(
        "--programs",
        type=Path,
        default=Path("build/device"),
        help="where the programs are compiled to",
    )
    parser.add_argument("--scale", type=float, default=1, help="multiplies the time of each row")
    parser.add_argument(
        "--env",
        type=pairs,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for Towpath's programs",
    )
    parser.add_argument(
        "--impi-env",
        type=pairs,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for Intel MPI's programs",
    )
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--arch", default="sm_90", help="what the kernels are compiled for")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument(
        "--no-build", action="store_true", help="the programs are there, from elsewhere"
    )
    parser.add_argument("--count-lines", action="store_true")
    parser.add_argument("--formatter", default=shutil.which("clang-format"))
    options = parser.parse_args()
    options.prefix, options.programs = options.prefix.resolve(), options.programs.resolve()
    options.impi = options.impi and options.impi.resolve()
    options.env, options.impi_env = dict(options.env), dict(options.impi_env)
    return options


def main():
    options = arguments()
    if options.count_lines:
        return 0 if count_lines(options.formatter) else 1
    table = parts(options.scale, options.impi)
    chosen = [name for text in options.part for name in text.split(",")] or list(table)
    unknown = [name for name in chosen if name not in table]
    if unknown:
        print(f"there is no part {', '.join(unknown)}; the parts are {', '.join(table)}")
        return 2
    programs = Programs(options.programs, options.prefix, options.nvcc, options.arch)
    started = time.monotonic()
    complete = options.no_build or programs.build()
    print(f"compiled in {time.monotonic() - started:.1f} s", flush=True)
    if options.build_only or not complete:
        return 0 if complete else 1
    wrong = False
    for name in chosen:
        rows, problems = measure(name, table[name], programs, options)
        wrong = wrong or bool(problems) or any(row["value"] is None for row in rows)
        summary = device_tables.table(rows, device_tables.SHORT.get(name))
        print(
            f"\n== {name} on {machine()}\n{summary}\n{device_tables.bars(name, rows)}", flush=True
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
