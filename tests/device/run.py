#!/usr/bin/env python3
"""Builds the stub driver, the tests' libcuda.so.1, in build/tests/device, and checks it.

    run.py                   all checks
    run.py --filter REGEX    some of them
    run.py --build           only builds it
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

DIRECTORY = environments.BUILD / "tests" / "device"
LIMIT = 60
# What the environment says in a check; in others, one device.
SETTINGS = {
    "memory_is_limited": {"TOWPATH_STUB_MEMORY": 8 << 20},
    "ipc_refused": {"TOWPATH_STUB_IPC": 0},
    "ipc_without_peer_access": {"TOWPATH_STUB_PEER_ACCESS": 0, "TOWPATH_STUB_DEVICES": 2},
    "visible_devices": {"TOWPATH_STUB_DEVICES": 3, "CUDA_VISIBLE_DEVICES": "2,0"},
    "exclusive": {"TOWPATH_STUB_EXCLUSIVE": 1},
    "peer_access": {"TOWPATH_STUB_DEVICES": 2},
    "jit_refuses": {"TOWPATH_STUB_JIT": 0},
    "injected_errors": {"TOWPATH_STUB_FAIL": "cuLaunchKernel:3,cuMemAlloc:2:2"},
    "injected_later": {"TOWPATH_STUB_FAIL": "cuMemsetD8Async:2+:719:later"},
}


def build():
    """The directory with libcuda.so.1 and the program `checks`."""
    with environments.held("stub-driver"):
        words = ["make", "-C", HERE / "stub", f"BUILD={DIRECTORY}"]
        environments.command(words, "stub-driver.log")
    return DIRECTORY


def environment(**settings):
    """The environment of a program: these variables, and none of the caller's own settings for
    CUDA, the stub and the tests."""
    foreign = ("CUDA_", "TEST_", "TOWPATH_DEVICE", "TOWPATH_STUB_")
    kept = environments.clean_environment()
    return {**{name: value for name, value in kept.items() if not name.startswith(foreign)},
            **{name: str(value) for name, value in settings.items()}}


def checked(name, seed):
    """What is wrong with a check; empty where it passes."""
    log = DIRECTORY / "log"
    for old in DIRECTORY.glob("log.*"):
        old.unlink()
    variables = environment(TOWPATH_STUB_SEED=seed, TOWPATH_STUB_LOG=log, **SETTINGS.get(name, {}))
    words = ["timeout", str(LIMIT), DIRECTORY / "checks", name]
    result = subprocess.run(words, env=variables, capture_output=True, text=True)
    if result.returncode:
        return f"ended with {result.returncode}: {result.stdout}{result.stderr}"
    logs = [path.read_text() for path in DIRECTORY.glob("log.*")]
    if not any(re.search(r"^cuInit [1-9]", text, re.M) for text in logs):
        return "its log does not count cuInit"
    if name == "kernels" and not re.search(r"^bytes_by_kernels 8000$", logs[0], re.M):
        return f"its log does not count the kernel's bytes:\n{logs[0]}"
    if name == "no_driver_at_exit" and "the driver has ended" not in result.stdout:
        return "the driver works in destructors"
    return ""


def compared():
    """What is wrong with the stub's declarations, by the published header."""
    directory = environments.venv("cuda-headers")
    headers = sorted(directory.glob("lib/python*/site-packages/nvidia/cuda_runtime/include"))
    words = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
             f"-I{headers[0]}", HERE / "stub" / "compare.c"]
    result = subprocess.run(words, capture_output=True, text=True)
    return result.stderr if result.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="a regular expression for names of checks")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    build()
    if options.build:
        return 0
    listed = subprocess.run([DIRECTORY / "checks"], capture_output=True, text=True, check=True)
    checks = {name: lambda name=name: checked(name, options.seed)
              for name in listed.stdout.split()}
    checks["declarations"] = compared
    failed = 0
    checks = {name: run for name, run in checks.items() if re.search(options.filter, name)}
    for name, run in checks.items():
        problem = run()
        print(f"{'FAIL' if problem else 'ok  '} {name}", flush=True)
        if problem:
            failed += 1
            print("     " + problem.strip().replace("\n", "\n     "))
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
