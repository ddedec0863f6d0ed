#!/usr/bin/env python3
"""The device benchmarks without a GPU: their C programs and the probe compile with the published
headers, and the bars of the tables are met and missed where they should be.

Ends with "N passed, N failed".
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(ROOT / "benchmarks")]
import device_tables  # noqa: E402
import environments  # noqa: E402

MB = device_tables.MB
# Part, name of the row, bytes, figures that meet every bar that they belong to, and the figure that
# then makes one of them fail.
BARS = [
    (
        "latency",
        "contiguous",
        MB,
        {"device": 10, "bare_copy": 9.5, "intel_device": 11},
        ("device", 12),
    ),
    ("vector", "vector_8_64", 4 * MB, {"datatype": 10, "manual": 81, "kernel": 11}, ("manual", 79)),
    ("vector", "vector_4_8", MB, {"datatype": 10, "intel_datatype": 21}, ("intel_datatype", 19)),
    ("faces", "list_1to8", MB, {"datatype": 10, "manual": 11, "kernel": 11}, ("kernel", 9)),
    ("pack", "pack_8_64", 64 * MB, {"pack": 61, "kernel_pack": 60, "limit": 100}, ("limit", 110)),
    ("pack", "pack_512_1024", 64 * MB, {"unpack": 86, "copy": 100}, ("copy", 110)),
    ("stencil", "65536x1024_grid_1x2_float", 0, {"before": 1.5, "after": 1}, ("before", 1.3)),
    ("stencil", "8192x8192_grid_2x1_float", 0, {"before": 1.1, "after": 1}, ("before", 0.9)),
    ("allreduce", "allreduce", 64 * MB, {"allreduce": 12, "two_kernels": 10}, ("allreduce", 13)),
    ("host", "stack", 8, {"isend_none": 40, "isend_cuda": 59}, ("isend_cuda", 61)),
]
LIMITS = {"launch": 5, "switch": 100}


def headers():
    """The options that name CUDA's headers, and those of its compiler that they include."""
    packages = {"cuda-headers": "cuda_runtime", "nvrtc": "cuda_nvcc"}
    for name, package in packages.items():
        pattern = f"lib/python*/site-packages/nvidia/{package}/include"
        yield from ["-isystem", next(environments.venv(name).glob(pattern))]


def compiles(include, source):
    """What the compiler says of a program; empty where it compiles."""
    words = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *include, source]
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return result.stderr if result.returncode else ""


def rows(name, count, figures):
    """Rows as a program prints them."""
    for method, value in figures.items():
        library = device_tables.INTEL if method.startswith("intel_") else device_tables.OWN
        method = method.removeprefix("intel_")
        row = {"library": library, "name": name, "bytes": count, "method": method}
        yield {**row, "value": value, "unit": "us"}


def judged(part, name, count, figures, change):
    """What is wrong with the bars of a part."""
    good = device_tables.bars(part, [*rows(name, count, figures)])
    bad = device_tables.bars(part, [*rows(name, count, {**figures, change[0]: change[1]})])
    if "met" not in good or "MISSED" in good:
        return f"the bars are not met: {good}"
    return "" if "MISSED" in bad else f"{change[0]} = {change[1]} misses no bar: {bad}"


def limit_of_the_vector():
    """What is wrong with the bar that the limits of the machine give."""
    figures = {"datatype": 249, "strided_kernel": 20}
    limits = [*rows("limits", 8, LIMITS)]
    for datatype, word in ((249, "met"), (251, "MISSED")):
        row = rows("vector_8_64", 4 * MB, {**figures, "datatype": datatype})
        lines = device_tables.bars("vector", [*row, *limits]).splitlines()
        found = [line for line in lines if "launch + switch" in line]
        if len(found) != 1 or word not in found[0]:
            return f"{datatype} us is not {word}: {lines}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    prefix = parser.parse_args().prefix.resolve()
    sources = sorted((ROOT / "benchmarks" / "device").glob("*.c"))
    include = [*headers(), "-I", prefix / "include"]
    results = {f"{path.name} compiles": compiles(include, path) for path in sources}
    results |= {f"bars of {bar[0]}, {bar[1]}": judged(*bar) for bar in BARS}
    results["the limit of the vector"] = limit_of_the_vector()
    failed = [name for name, problem in results.items() if problem]
    for name, problem in results.items():
        print(f"FAIL {name}: {problem.strip()}" if problem else f"ok   {name}", flush=True)
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
