#!/usr/bin/env python3
"""Checks what programs and users are told about device memory, with the stub driver and without:
MPIX_Query_cuda_support and its kin, memory allocation kinds, `towpath info --device`.

    queries.py [--prefix build/install]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import run as stub  # noqa: E402

LIMIT = 60
DRIVERS = {"cuda": "libcuda.so.1", "hip": "libamdhip64.so.6"}
KINDS = {"cuda": "cuda:device,cuda:host,cuda:managed", "hip": "rocm:device,rocm:host,rocm:managed"}


def variables(with_stub, **settings):
    if with_stub:
        settings["LD_LIBRARY_PATH"] = stub.DIRECTORY
    return stub.environment(**settings)


def output(words, **options):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                            timeout=LIMIT, **options)
    assert result.returncode == 0, f"{words} ended with {result.returncode}: {result.stderr}"
    return result.stdout


def compiled(prefix, abi):
    program = environments.BUILD / "tests" / f"queries-{abi}"
    output([prefix / "bin" / "mpicc", "--abi", abi, "-std=gnu11", "-Wall", "-Wextra", "-Werror",
            HERE / "queries.c", "-o", program, "-ldl"])
    return program


def told(prefix, program, api, *options, **settings):
    """What the program prints, by name. With an API, it loads the stub of its driver first."""
    driver = [DRIVERS[api]] if api else []
    words = [prefix / "bin" / "mpiexec", "-n", 1, *options, program, *driver]
    text = output(words, env=variables(bool(api), **settings))
    return dict(line.split("=", 1) for line in text.splitlines())


def check_program(prefix, abi, on_machine):
    program = compiled(prefix, abi)
    for api in ("cuda", "hip", None):
        answers = told(prefix, program, api)
        usable = {name: name == api or name in on_machine for name in DRIVERS}
        kinds = ",".join(["system,mpi", *(KINDS[name] for name in usable if usable[name])])
        cuda, hip = (str(int(usable[name])) for name in ("cuda", "hip"))
        refused = "rocm:device" if usable["hip"] else "(none)"
        expected = {
            "built": "1 1", "cuda": cuda, "hip": hip, "gpu cuda": cuda,
            "gpu ze": "0", "gpu hip": hip, "gpu other": "-1 refused", "requested": "system,mpi",
            "world": kinds, "self": kinds, "before": "(none)", "refused": refused,
            "asserted cuda": "system,cuda:device" if usable["cuda"] else refused,
            "asserted": "system", "inherited": "(none)", "copy": kinds,
            "exchange": "right",
        }
        assert answers == expected, f"{abi}, {api}: {answers}, not {expected}"
    for api in DRIVERS:
        answers = told(prefix, program, api, CUDA_VISIBLE_DEVICES="")
        assert answers["exchange"] == "right", f"{abi}, {api} without a device: {answers}"
    if not on_machine:
        answers = told(prefix, program, "cuda", "--memory-alloc-kinds", "mpi:alloc_mem,cuda,rocm")
        assert answers["requested"] == "mpi:alloc_mem,cuda,rocm", answers
        expected = f"system,mpi,{KINDS['cuda']},mpi:alloc_mem,cuda"
        assert answers["world"] == expected, answers


def devices(prefix, with_stub, **settings):
    """The rows of `towpath info --device`, as text and by key."""
    words = [prefix / "bin" / "towpath", "info", "--device"]
    text = output(words, env=variables(with_stub, **settings))
    rows = json.loads(output([*words, "--json"], env=variables(with_stub, **settings)))
    return " ".join(text.split()), rows["devices"]


def check_info(prefix, on_machine):
    text, rows = devices(prefix, True, TOWPATH_STUB_DEVICES="2", TOWPATH_STUB_VERSION="12040")
    assert rows["driver"]["value"] == "for CUDA 12.4", rows
    assert rows["device 1"]["why"].startswith("GPU-0112"), rows
    assert "8192 MiB" in rows["device 0"]["value"], rows
    assert rows["path within host"]["value"] == "by one kernel", rows
    assert "opened by IPC" in text and rows["hip"]["value"].startswith("for HIP"), text
    assert rows["hip device 0"]["why"].startswith("GPU-"), rows
    _, rows = devices(prefix, True, TOWPATH_STUB_EXCLUSIVE="1")
    assert rows["path within host"]["value"] == "through slots in pinned host memory", rows
    assert "exclusive process" in rows["path within host"]["why"], rows
    _, rows = devices(prefix, True, TOWPATH_STUB_FAIL="cuInit:1:999")
    assert "failed to start" in rows["driver"]["why"] and rows["path"]["value"] == "not used", rows
    _, rows = devices(prefix, True, CUDA_VISIBLE_DEVICES="")
    assert rows["driver device"]["value"] == "none" and rows["path"]["value"] == "not used", rows
    if not on_machine:
        text, rows = devices(prefix, False)
        assert rows["driver"]["value"] == "none" and "libcuda.so.1" in rows["driver"]["why"], rows
        assert "every buffer is in host memory" in text, text


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    options = parser.parse_args()
    stub.build()
    signs = {"cuda": "/dev/nvidiactl", "hip": "/dev/kfd"}
    on_machine = {api for api, sign in signs.items() if os.path.exists(sign)}
    prefix = options.prefix.resolve()
    for abi in ("mpich", "standard"):
        check_program(prefix, abi, on_machine)
        print(f"ok   what a program is told, {abi} ABI", flush=True)
    check_info(prefix, on_machine)
    print("ok   towpath info --device\n3 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
