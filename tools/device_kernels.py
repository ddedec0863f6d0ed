#!/usr/bin/env python3
"""Generates the PTX text of the kernels for CUDA devices, which is committed beside their source.

    device_kernels.py            writes crates/device/kernels/move_70.ptx and reduce_70.ptx
    device_kernels.py --check    compares it with what is committed

The compiler is NVRTC 11.8, installed under build/ if need be: drivers load PTX of their own version
and older ones, and that version is the last one that knows every architecture from Volta to Hopper.
It needs no GPU. Its texts for compute_70, 80 and 90 differ in the line `.target` only, which is
compared too. So the one for compute_70, which drivers compile for every later device, is enough.
NVIDIA's assembler of the same version must take it for all three, and keep everything in registers.
"""

import argparse
import ctypes
import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import environments  # noqa: E402

KERNELS = ROOT / "crates/device/kernels"
SOURCES = ("move", "reduce")
HEADER = "dialect.h"
OLDEST = 70
LATER = (80, 90)
# Drivers from CUDA 11.8 on load it.
VERSION = "7.8"
# No contraction of a product and a sum: results are those of the processor, bit by bit.
OPTIONS = ("--fmad=false",)


class Compiler:
    """NVRTC, by its C interface."""

    def __init__(self):
        directory = environments.venv("nvrtc")
        pattern = "lib/python*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.*"
        self.library = ctypes.CDLL(str(sorted(directory.glob(pattern))[0]))

    def call(self, function, *arguments):
        """Calls a function of the library that must succeed."""
        result = getattr(self.library, function)(*arguments)
        if result:
            raise SystemExit(f"{function} of NVRTC failed with {result}")

    def text(self, what, program):
        """The log or the PTX of a program."""
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.value.decode()

    def ptx(self, source, architecture):
        """The PTX of the kernels of a source for compute_ARCHITECTURE."""
        program = ctypes.c_void_p()
        text, header = ((KERNELS / name).read_bytes() for name in (f"{source}.cu", HEADER))
        one = ctypes.c_char_p * 1
        self.call("nvrtcCreateProgram", ctypes.byref(program), text, f"{source}.cu".encode(), 1,
                  one(header), one(HEADER.encode()))
        options = [f"--gpu-architecture=compute_{architecture}", *OPTIONS]
        words = (ctypes.c_char_p * len(options))(*(word.encode() for word in options))
        if self.library.nvrtcCompileProgram(program, len(options), words):
            raise SystemExit(f"NVRTC refuses {source}.cu:\n{self.text('ProgramLog', program)}")
        return self.text("PTX", program)


def targeted(text, architecture):
    """The same text for a later architecture."""
    return text.replace(f"\n.target sm_{OLDEST}\n", f"\n.target sm_{architecture}\n")


def differences(one, other):
    """The first lines in which two texts differ; empty if they are equal."""
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
    return "\n".join(list(lines)[:12])


def committed(source):
    """Where the text of a source is."""
    return KERNELS / f"{source}_{OLDEST}.ptx"


def assembled(source, architecture):
    """What the assembler says against a committed text for an architecture; empty if nothing."""
    program = next(environments.venv("nvrtc").glob(
        "lib/python*/site-packages/nvidia/cuda_nvcc/bin/ptxas"))
    program.chmod(0o755)
    with tempfile.TemporaryDirectory() as directory:
        words = [program, "-v", f"-arch=sm_{architecture}", committed(source), "-o",
                 f"{directory}/cubin"]
        result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode:
        return result.stderr
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill", result.stderr)
    if len(frames) != committed(source).read_text().count(".entry "):
        return f"it tells of {len(frames)} kernels only:\n{result.stderr}"
    large = [f"{frame} bytes of stack, {spill} spilled" for frame, spill in frames
             if int(frame) or int(spill)]
    return "\n".join(large)


def problems(compiler, source):
    """What is wrong with a committed text: sentence by check, empty where nothing is."""
    present, generated = committed(source).read_text(), compiler.ptx(source, OLDEST)
    version = re.search(r"^\.version (\S+)$", present, re.M)
    found = version[1] if version else "none"
    checks = {
        f"{source}: version": "" if found == VERSION else
        f".version is {found}, it must be {VERSION}",
        f"{source}: committed text": differences(present, generated),
    }
    for architecture in (OLDEST, *LATER):
        checks[f"{source}: assembled for sm_{architecture}"] = assembled(source, architecture)
    for later in LATER:
        text = compiler.ptx(source, later)
        checks[f"{source}: compute_{later}"] = differences(targeted(generated, later), text)
    return checks


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    compiler = Compiler()
    if not options.check:
        for source in SOURCES:
            committed(source).write_text(compiler.ptx(source, OLDEST))
        return 0
    found = {}
    for source in SOURCES:
        found.update(problems(compiler, source))
    for check, problem in found.items():
        print(f"{'FAIL' if problem else 'ok  '} {check}")
        if problem:
            print("     " + problem.replace("\n", "\n     "))
    failed = sum(1 for problem in found.values() if problem)
    if failed:
        print("run `python3 tools/device_kernels.py` and commit the result")
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
