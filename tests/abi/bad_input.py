#!/usr/bin/env python3
"""Bad input to every function that is built, written from api/functions.toml.

Every handle parameter gets a null handle, a number that is no handle, a freed handle and one of another kind; ranks, roots, tags and
counts get values out of range; out-parameters get NULL. All other parameters are valid. Each call must come back with an error: not
with success, not with a signal, not never (one process, MPI_COMM_SELF, MPI_ERRORS_RETURN). Counts whose product with the size of the
datatype exceeds 63 bits, in both forms of a function, must give MPI_ERR_COUNT. Then every function that needs MPI is called
before MPI_Init and after MPI_Finalize: the process must end with a sentence that names the function. Ends with "N passed, N failed".
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import environments  # noqa: E402

ROOT = environments.ROOT
TYPES = {"comm": "MPI_Comm", "group": "MPI_Group", "datatype": "MPI_Datatype", "op": "MPI_Op", "info": "MPI_Info",
         "errhandler": "MPI_Errhandler", "request": "MPI_Request", "message": "MPI_Message", "win": "MPI_Win", "file": "MPI_File",
         "session": "MPI_Session"}
VALID = {"comm": "MPI_COMM_SELF", "group": "self_group", "datatype": "MPI_INT", "op": "MPI_SUM", "info": "MPI_INFO_NULL",
         "errhandler": "MPI_ERRORS_RETURN", "request": "MPI_REQUEST_NULL", "message": "MPI_MESSAGE_NO_PROC", "win": "MPI_WIN_NULL",
         "file": "MPI_FILE_NULL", "session": "MPI_SESSION_NULL"}
# Bad values: name and C expression.
BAD = {
    "null": {kind: f"{c.upper()}_NULL" for kind, c in TYPES.items()},
    "no handle": {kind: f"(({c})(intptr_t)0x12345)" for kind, c in TYPES.items()},
    "another kind": {kind: f"(({c})(intptr_t)" + ("MPI_SUM)" if kind != "op" else "MPI_INT)") for kind, c in TYPES.items()},
    "freed": {"comm": "freed_comm", "group": "freed_group", "datatype": "freed_datatype", "op": "freed_op", "info": "freed_info",
              "errhandler": "freed_errhandler", "request": "freed_request"},
}
# Null handles that the standard allows, by kind.
NULL_ALLOWED_KINDS = {"info", "request", "win", "file", "session"}
# Values out of range for numbers: kind, and what is passed.
OUT_OF_RANGE = {"rank": ["1000000", "-77"], "root": ["1000000", "-77"], "tag": ["-77"], "count": ["-1"]}
# Numbers that may have any value here, or that no range is known of.
ANY_NUMBER = re.compile(r"MPI_Status_set_\w+$|MPI_Type_\w*vector: stride$")
# A count whose product with the size of its datatype exceeds 63 bits, and that datatype; by large form.
OVERFLOWING = {False: ("2147483647", "huge_type"), True: ("INT64_MAX", "MPI_DOUBLE")}
# Counts of bytes, of room, of array elements and of basic elements, and what is checked against other arguments first: no datatype is
# multiplied with them.
NOT_MULTIPLIED = re.compile(r"(max_\w+|outsize|insize|position|size|array_of_(gsizes|subsizes|starts))$|MPI_Status_set_elements: count$|"
                            r"MPI_Type_((create_)?h?indexed(_block)?|(create_)?struct): count$")
# Null objects have names (MPI 5.0, 7.8 and 5.1.14).
NULL_ALLOWED = {"MPI_Comm_get_name", "MPI_Type_get_name"}
# These start or end MPI, or never return.
LEFT_OUT = re.compile(r"MPI_(Abort|Init|Finalize|Pcontrol|T_|Comm_join|Comm_spawn|Session_)|_(toint|fromint|c2f|f2c)$")
# Out-parameters that the program must give.
NULL_REFUSED = {*TYPES, "count", "aint", "aint_or_count", "int_or_aint", "offset", "wide", "int", "rank", "tag", "logical", "comparison",
                "topology", "keyval", "error_code", "error_class", "combiner", "thread_level", "length", "pointer", "attribute"}
SETUP = r"""
    MPI_Comm freed_comm; MPI_Group self_group, freed_group; MPI_Datatype freed_datatype; MPI_Op freed_op; MPI_Info freed_info;
    MPI_Errhandler freed_errhandler; MPI_Request freed_request, started; int number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_SELF, &self_group);
    MPI_Comm copy; MPI_Comm_dup(MPI_COMM_SELF, &copy); freed_comm = copy; MPI_Comm_free(&copy);
    MPI_Group group; MPI_Comm_group(MPI_COMM_SELF, &group);
    MPI_Group other; MPI_Group_excl(group, 0, &number, &other); freed_group = group; MPI_Group_free(&group);
    MPI_Datatype type; MPI_Type_contiguous(3, MPI_INT, &type); MPI_Type_commit(&type); freed_datatype = type; MPI_Type_free(&type);
    MPI_Op op; MPI_Op_create(reduce, 1, &op); freed_op = op; MPI_Op_free(&op);
    MPI_Info info; MPI_Info_create(&info); freed_info = info; MPI_Info_free(&info);
    MPI_Errhandler handler; MPI_Comm_create_errhandler(handle, &handler); freed_errhandler = handler; MPI_Errhandler_free(&handler);
    MPI_Send_init(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &started); freed_request = started; MPI_Request_free(&started);
    MPI_Datatype part, huge_type; MPI_Op user_op; MPI_Comm grid; int dims[1] = {1}, periods[1] = {1};
    MPI_Type_contiguous(1 << 30, MPI_BYTE, &part); MPI_Type_contiguous(1 << 30, part, &huge_type); MPI_Type_commit(&huge_type);
    MPI_Op_create(reduce, 1, &user_op);
    MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &grid);
"""
HEAD = r"""
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static char room[8192], room2[8192];
static MPI_Status statuses[8];
static void reduce(void *a, void *b, int *n, MPI_Datatype *t) { (void)a; (void)b; (void)n; (void)t; }
static void handle(MPI_Comm *c, int *e, ...) { (void)c; (void)e; }
/* The code, if it is of this class; else the negative class, which is no error code. */
static int only(int class, int code) { int found = 0; MPI_Error_class(code, &found); return found == class ? code : -found; }
int main(int argc, char **argv) {
    int from = atoi(argv[1]);
    setvbuf(stdout, NULL, _IOLBF, 0);
"""


def value(parameter, large):
    """A valid C expression for a parameter that is not the one under test; declarations it needs."""
    name, rest = parameter.split(": ")
    kind, direction, *_ = rest.split(" ")
    width = "MPI_Count" if large else "int"
    single = {"count": width, "aint": "MPI_Aint", "aint_or_count": "MPI_Count" if large else "MPI_Aint",
              "int_or_aint": "MPI_Aint" if large else "int", "offset": "MPI_Offset", "wide": "MPI_Count"}
    if kind in TYPES:
        return VALID[kind] if direction == "in" else f"(({TYPES[kind]} *)room)"
    if kind.endswith("s") and kind[:-1] in TYPES:
        of = kind[:-1]
        return f"(({TYPES[of]}[4]){{{', '.join([VALID[of]] * 4)}}})"
    if kind in single:
        return "1" if direction == "in" else f"(({single[kind]} *)room2)"
    if kind in ("status", "statuses"):
        return "statuses"
    if kind in ("buffer", "address", "string", "strings", "argv", "argc", "pointer", "attribute") or kind.startswith("MPI"):
        if kind == "string" and direction == "in":
            return '"x"'
        return "0" if kind.startswith("MPI") or kind in ("pointer", "strings") and direction == "in" else "(void *)room"
    if direction == "in" and "array" not in name and kind in (
            "int", "rank", "root", "tag", "logical", "keyval", "error_code", "error_class", "split_type", "typeclass", "order", "lock_type",
            "access_mode", "whence", "assertion", "thread_level", "length", "fint", "view_displacement"):
        return {"int": "1", "order": "MPI_ORDER_C", "split_type": "MPI_COMM_TYPE_SHARED"}.get(kind, "0")
    return "(void *)room2"


def array_of(kind, large, number):
    """A C expression for an array of counts or displacements that are all the same number; None for any other kind."""
    width = {"counts": "MPI_Count" if large else "int", "displacements": "MPI_Aint" if large else "int",
             "aints_or_counts": "MPI_Count" if large else "MPI_Aint"}.get(kind)
    return width and f"(({width}[4]){{{', '.join([number] * 4)}}})"


def overflowing(f, abi):
    """Calls with a count, or an array of counts, that is too large for the datatype; all other numbers are 1."""
    for large in (False, True) if f.get("large") in (True, abi) else (False,):
        name = f["name"] + "_c" * large
        parameters = [p for p in f.get("parameters", []) if large or not p.endswith(" large")]
        number, datatype = OVERFLOWING[large]
        plain = []
        for parameter in parameters:
            kind, direction = parameter.split(": ")[1].split(" ")[:2]
            special = {"datatype in": datatype, "datatypes in": f"((MPI_Datatype[4]){{{', '.join([datatype] * 4)}}})", "op in": "user_op",
                       "string in": '"external32"', "comm in": "grid" if "eighbor" in name else "MPI_COMM_SELF"}.get(f"{kind} {direction}")
            plain.append(special or direction == "in" and array_of(kind, large, "1") or value(parameter, large))
        if datatype not in " ".join(plain):
            continue
        for index, parameter in enumerate(parameters):
            argument, kind = parameter.split(": ")[0], parameter.split(": ")[1].split(" ")[0]
            too_large = number if kind == "count" else array_of(kind, large, number) if kind == "counts" else None
            if too_large is None or " in" not in parameter or NOT_MULTIPLIED.search(f"{name}: {argument}"):
                continue
            arguments = ", ".join([*plain[:index], too_large, *plain[index + 1:]])
            yield f"{name}: {argument} is too large for the datatype", f"only(MPI_ERR_COUNT, {name}({arguments}))"


def calls(abi, built):
    """(label, C statement) of every bad call."""
    for f in tomllib.loads((ROOT / "api/functions.toml").read_text())["function"]:
        name = f["name"]
        if LEFT_OUT.search(name) or name not in built or name.startswith("MPIX") or abi not in f.get("abis", [abi]):
            continue
        if f.get("status") == "removed" and abi == "standard":
            continue
        parameters = [p for p in f.get("parameters", []) if not p.endswith(" large")]
        plain = [value(p, False) for p in parameters]
        yield from overflowing(f, abi)
        for index, parameter in enumerate(parameters):
            kind, direction, *rest = parameter.split(": ")[1].split(" ")
            if kind in OUT_OF_RANGE and direction == "in" and not ANY_NUMBER.match(f"{name}: {parameter.split(':')[0]}") and not ANY_NUMBER.match(name):
                for number in OUT_OF_RANGE[kind]:
                    others = [*plain[:index], number, *plain[index + 1:]]
                    yield f"{name}: {parameter.split(':')[0]} is {number}", f"{name}({', '.join(others)})"
            if direction == "out" and not rest and kind in NULL_REFUSED:
                others = [*plain[:index], "0", *plain[index + 1:]]
                yield f"{name}: {parameter.split(':')[0]} is NULL", f"{name}({', '.join(others)})"
            if kind not in TYPES or direction == "out" or rest:
                continue
            for what, expressions in BAD.items():
                if kind not in expressions or what == "null" and (kind in NULL_ALLOWED_KINDS or name in NULL_ALLOWED):
                    continue
                bad = expressions[kind]
                others = list(plain)
                others[index] = bad if direction == "in" else f"(bad_{kind} = {bad}, &bad_{kind})"
                yield f"{name}: {parameter.split(':')[0]} is {what}", f"{name}({', '.join(others)})"


def program(abi, built):
    rows = list(calls(abi, built))
    declarations = "".join(f"    {c} bad_{kind}; (void)bad_{kind};\n" for kind, c in TYPES.items())
    body = "".join(f'    if (from <= {i}) {{ alarm(10); printf("{i}\\n"); printf("%d\\n", {call}); }}\n' for i, (_, call) in enumerate(rows))
    return rows, HEAD + declarations + SETUP + body + '    puts("end"); fflush(stdout); _exit(0);\n}\n'


# Calls statement i in a process of its own and says what became of it: exit status or signal, and whether stderr names the function.
ORDER = r"""
#include <string.h>
#include <sys/wait.h>
static void before_or_after(int i);
static const char *names[];
static int count_of_names(void);
static void try_all(const char *when) {
    for (int i = 0; i < count_of_names(); i++) {
        char text[4096] = "";
        int status, pipes[2];
        pipe(pipes);
        pid_t child = fork();
        if (child == 0) { dup2(pipes[1], 2); close(pipes[0]); close(pipes[1]); alarm(10); before_or_after(i); _exit(0); }
        close(pipes[1]);
        for (size_t have = 0, got; (got = read(pipes[0], text + have, sizeof text - 1 - have)) > 0 && got < sizeof text;) have += got;
        close(pipes[0]);
        waitpid(child, &status, 0);
        printf("%s %s %d %d %d\n", names[i], when, WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
               strstr(text, names[i]) != NULL);
    }
}
int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    try_all("before");
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    try_all("after");
    puts("end");
    return 0;
}
"""


def order_program(abi, built):
    """Every function that needs MPI, called outside of it with valid values."""
    cases, names = [], []
    for f in tomllib.loads((ROOT / "api/functions.toml").read_text())["function"]:
        if f["name"] not in built or f.get("any_time") or f.get("special") or f["name"].startswith("MPIX") or f["name"] == "MPI_Finalize":
            continue
        if abi not in f.get("abis", [abi]) or f.get("status") == "removed" and abi == "standard":
            continue
        if f["name"].startswith("MPI_File_"):
            continue  # The handler of files returns the error.
        arguments = [value(p, False) for p in f.get("parameters", []) if not p.endswith(" large")]
        cases.append(f"    case {len(names)}: {f['name']}({', '.join(arguments)}); break;\n")
        names.append(f["name"])
    head = HEAD.split("int main")[0]
    text = head + ORDER + "static MPI_Group self_group;\nstatic void before_or_after(int i) {\n    self_group = MPI_GROUP_EMPTY;\n    switch (i) {\n"
    text += "".join(cases) + "    }\n}\nstatic const char *names[] = {" + ", ".join(f'"{name}"' for name in names) + "};\n"
    return names, text + f"static int count_of_names(void) {{ return {len(names)}; }}\n"


def run_order(abi, prefix, directory, built):
    names, text = order_program(abi, built)
    source, binary = directory / f"{abi}-order.c", directory / f"{abi}-order"
    source.write_text(text)
    subprocess.run([prefix / "bin" / "mpicc", "--abi", abi, "-w", source, "-o", binary], check=True)
    done = subprocess.run(["timeout", "200", binary], capture_output=True, text=True, errors="replace",
                          env=environments.clean_environment())
    passed = failed = 0
    lines = done.stdout.splitlines()
    for line in lines[:-1]:
        name, when, signal, code, named = line.split()
        if signal == "0" and code != "0" and named == "1":
            passed += 1
        else:
            failed += 1
            print(f"FAIL {abi} {name} {when} MPI: signal {signal}, exit code {code}, named in the message: {named}", flush=True)
    if not lines or lines[-1] != "end":
        failed += 1
        print(f"FAIL {abi}: the program of calls before and after MPI ended with {done.returncode}: {done.stderr[-300:]}", flush=True)
    return passed, failed


def run_abi(abi, prefix, directory, built):
    rows, text = program(abi, built)
    source, binary = directory / f"{abi}.c", directory / abi
    source.write_text(text)
    subprocess.run([prefix / "bin" / "mpicc", "--abi", abi, "-w", source, "-o", binary], check=True)
    codes, start = {}, 0
    while start < len(rows):
        done = subprocess.run(["timeout", "120", binary, str(start)], capture_output=True, text=True, errors="replace",
                              env=environments.clean_environment())
        lines = done.stdout.split()
        numbers = lines[:-1] if lines and lines[-1] == "end" else lines
        for call, code in zip(numbers[0::2], numbers[1::2]):
            codes[int(call)] = int(code)
        if lines and lines[-1] == "end":
            break
        broken = int(numbers[-1]) if len(numbers) % 2 else start
        codes[broken] = f"ended the process with {done.returncode}: {done.stderr.strip()[-200:]}"
        start = broken + 1
    failed = 0
    for i, (label, _) in enumerate(rows):
        code = codes.get(i)
        if not isinstance(code, int) or code <= 0:
            failed += 1
            said = "came back with success" if code == 0 else f"came back with class {-code}" if isinstance(code, int) else code
            print(f"FAIL {abi} {label}: {said}", flush=True)
    return len(rows) - failed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    options = parser.parse_args()
    page = (ROOT / "docs/standard.md").read_text()
    built = set(re.findall(r"^\| `(MPI_\w+)`[^|]*\| `", page, re.M))
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="towpath-bad-") as directory:
        for abi in ("mpich", "standard"):
            good, bad = run_abi(abi, options.prefix.resolve(), Path(directory), built)
            passed, failed = passed + good, failed + bad
            good, bad = run_order(abi, options.prefix.resolve(), Path(directory), built)
            passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
