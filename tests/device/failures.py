#!/usr/bin/env python3
"""Lets calls of the CUDA driver fail in one of two ranks that exchange messages in device memory.

messages.c and halo.c have error handlers that end the job, returned.c one that returns, and
slots.c at times.

    failures.py                  the 1st, 2nd and 20th call of every function that the library uses
    failures.py --filter REGEX   some of them, by names such as "cuLaunchKernel:20:719:later"

A call fails at once or, with "later", what it has put into a stream fails when its turn comes.
The job must end in time: right, or with a sentence that names the driver's error. With returned.c
it must end right, unless a call of the program itself has failed. Wrong data, a signal, a hang and
an end without a reason are failures. Prints "N passed, M failed".
"""

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import library as programs  # noqa: E402

DECLARATIONS = environments.ROOT / "crates/device/src/abi.rs"
RETURNED = "returned"
# Program, arguments and variables of all ranks.
JOBS = {"messages": ("messages", [100, 1], {}),
        "halo": ("halo", [8, 1], {}),
        "slots, path ring": ("slots", [1, 300000], {"TOWPATH_DEVICE_PATH": "ring"}),
        "slots, path pinned": ("slots", [1, 300000], {"TOWPATH_DEVICE_PATH": "pinned"}),
        "messages, virtual memory": ("messages", [100, 1], {"TEST_MEMORY": "virtual"}),
        RETURNED: ("returned", [], {})}
LIMIT = 20
RANKS = 2
CALLS = [1, 2, 20]
LAUNCH_FAILED, NOT_SUPPORTED = 719, 801
# What they put into a stream can fail later.
IN_STREAMS = {"cuEventRecord", "cuLaunchKernel", "cuMemcpyAsync", "cuStreamWriteValue32"}
# What shares virtual memory: the library alone calls the first ones, the program the others too.
SHARING = {"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
           "cuMemRetainAllocationHandle"}
MAPPING = {"cuMemAddressFree", "cuMemAddressReserve", "cuMemMap", "cuMemRelease",
           "cuMemSetAccess", "cuMemUnmap"}
# Without them, messages take another way.
REFUSABLE = {"cuIpcGetMemHandle", "cuIpcOpenMemHandle", "cuMemHostGetDevicePointer",
             "cuMemHostRegister", "cuPointerSetAttribute", *SHARING}
# A message can be right although they have failed; of the others the first failure must be noticed.
HARMLESS = {"cuCtxPopCurrent", "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRelease",
            "cuMemHostGetDevicePointer", "cuMemHostRegister", "cuMemHostUnregister",
            "cuPointerSetAttribute", "cuThreadExchangeStreamCaptureMode", *SHARING, *MAPPING}
REASON = re.compile(r"the CUDA driver .*\(CUDA_ERROR_LAUNCH_FAILED\)|gives 719")
WRONG = re.compile(r"byte \d+ of \d+ is")


def used_functions():
    """The driver's functions that the library declares, without their versions."""
    return sorted(set(re.findall(r'c?"(cu[A-Z]\w+?)(?:_v\d)?"', DECLARATIONS.read_text())))


def counted_calls(library, job, directory):
    """How often each rank calls each function in a run without failures."""
    counts = []
    for rank in range(RANKS):
        log = Path(directory) / f"calls-{job}-{rank}"
        status, output = ended(library, job, rank, {"TOWPATH_STUB_LOG": log})
        if status != 0:
            raise SystemExit(f"without failures the job ended with {status}:\n{output}")
        text = "".join(path.read_text() for path in Path(directory).glob(f"{log.name}.*"))
        counts.append({re.sub(r"_v\d$", "", name): int(calls) for name, calls in
                       re.findall(r"^(cu\w+) (\d+)$", text, re.M)})
    return counts


def ended(library, name, rank, settings):
    """Status and output of a job in which one rank has these variables too."""
    program, arguments, common = JOBS[name]
    words = [library.program(program, "mpich"), *arguments]
    command = [library.prefix / "bin/mpiexec"]
    for other in range(RANKS):
        given = [word for name, value in settings.items() for word in ("-env", name, value)]
        command += [":"] * (other > 0) + ["-n", 1, *(given if other == rank else []), *words]
    return programs.started(command, library.environment(common, 1), LIMIT)


def cases(counts):
    """Rank and failure of all runs of a job: the ranks take turns."""
    found = []
    for name in used_functions():
        for place, call in enumerate(CALLS):
            found.append((place % RANKS, name, call, f"{LAUNCH_FAILED}"))
            if name in IN_STREAMS:
                found.append(((place + 1) % RANKS, name, call, f"{LAUNCH_FAILED}:later"))
            if name in REFUSABLE:
                found.append((place % RANKS, name, call, f"{NOT_SUPPORTED}"))
    return [(rank, f"{name}:{call}:{how}") for rank, name, call, how in found
            if counts[rank].get(name, 0) >= call]


def all_cases(library):
    """Job, rank and failure of all runs. Of a job that takes another path than the one before, those
    with the functions that only this path uses."""
    with tempfile.TemporaryDirectory() as directory:
        seen = set()
        for job in JOBS:
            counts = counted_calls(library, job, directory)
            for rank, failure in cases(counts):
                function = failure.split(":")[0]
                if not JOBS[job][2] or function not in seen or function in IN_STREAMS:
                    yield job, rank, failure
            seen |= {function for ranks in counts for function in ranks}


def problem_of_success(job, failure, output):
    """What is wrong with a job that ended with status 0."""
    function, call, code = failure.split(":")[:3]
    if programs.oks(output) != RANKS:
        return "ended well, but not every rank said ok"
    told = job == RETURNED and REASON.search(output)
    if not told and call == "1" and code == str(LAUNCH_FAILED) and function not in HARMLESS:
        return "nobody has noticed the failure"
    return ""


def problem_of(job, failure, status, output):
    """What is wrong with the end of a job; empty where nothing is."""
    if failure.endswith(f":{NOT_SUPPORTED}") and status:
        return f"ended with {status} instead of taking another way"
    if status is None:
        return f"still ran after {LIMIT} s"
    if WRONG.search(output):
        return "data is wrong"
    if status == 0:
        return problem_of_success(job, failure, output)
    if job == RETURNED and "gives 719" not in output:
        return f"ended with {status}, although errors return"
    if status >= 128:
        return f"ended by signal {status - 128}"
    return "" if REASON.search(output) else f"ended with {status} and does not say why"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--filter", default="", help="a regular expression for the names of jobs")
    options = parser.parse_args()
    library = programs.Library(options.prefix)
    passed = failed = 0
    for job, rank, failure in all_cases(library):
        name = f"{job}, {failure}, rank {rank}"
        if not re.search(options.filter, name):
            continue
        began = time.monotonic()
        status, output = ended(library, job, rank, {"TOWPATH_STUB_FAIL": failure})
        problem = problem_of(job, failure, status, output)
        passed, failed = passed + (not problem), failed + bool(problem)
        how = "right" if status == 0 else "with its reason"
        print(f"{'FAIL' if problem else 'ok  '} {time.monotonic() - began:5.1f} s  {name}: "
              f"{problem or how}", flush=True)
        if problem:
            print("     " + "\n     ".join(output.splitlines()[-programs.TAIL:]), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
