"""Tables of the device benchmarks, and the bars that their figures are held against."""

import statistics
from collections import defaultdict

MB = 1 << 20
OWN, INTEL = "towpath", "intel"
# Which rows the end of a part shows, where all of them are too many: those of these sizes.
SHORT = {"vector": (8, 4096, 4 * MB, 64 * MB)}
# Host memory that is recognized without a question to the driver.
KNOWN_MEMORY = ("stack", "heap", "library")
# From this size on, a message is held against a bare copy.
LARGE = MB


def size(count):
    """Bytes in the largest unit that divides them."""
    for unit, name in ((MB, "MB"), (1024, "KB")):
        if count and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B" if count else ""


def medians(rows):
    """{(name, bytes): {column: value}}; a column is a method, of another library with its name in
    front. None where a result was wrong."""
    found = defaultdict(lambda: defaultdict(list))
    for row in rows:
        column = row["method"] if row["library"] == OWN else f"{row['library']}_{row['method']}"
        found[row["name"], row["bytes"]][column].append(row["value"])
    return {
        key: {
            column: None if None in values else statistics.median(values)
            for column, values in columns.items()
        }
        for key, columns in found.items()
    }


def shown(value):
    if value is None:
        return "WRONG"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def table(rows, sizes=None):
    """The figures, one line for each name and size; only some sizes if these are given."""
    lines = []
    found = medians(rows)
    units = {row["method"]: row["unit"] for row in rows if row["value"] is not None}
    for names in groups_with_the_same_columns(found):
        columns = list(dict.fromkeys(column for key in names for column in found[key]))
        heads = [
            f"{column} [{units.get(column.removeprefix(INTEL + '_'), '?')}]" for column in columns
        ]
        lines.append(line("name", "bytes", heads, heads))
        for key in names:
            if sizes is None or key[1] in sizes:
                cells = [
                    shown(found[key][column]) if column in found[key] else "-" for column in columns
                ]
                lines.append(line(key[0], size(key[1]), cells, heads))
    return "\n".join(lines) if lines else "no figures"


def groups_with_the_same_columns(found):
    """Keys of the limits, which have columns of their own, and all others."""
    limits = [key for key in found if key[0] == "limits"]
    others = [key for key in found if key[0] != "limits"]
    return [keys for keys in (limits, others) if keys]


def line(name, count, cells, heads):
    return " ".join(
        [
            f"{name:30}",
            f"{count:>8}",
            *(f"{cell:>{max(len(head), 9)}}" for cell, head in zip(cells, heads)),
        ]
    ).rstrip()


def bars(part, rows):
    """One line for each bar of the part."""
    found = medians(rows)
    check = CHECKS.get(part)
    lines = check(found) if check else []
    return "\n".join(lines) if lines else "no bar can be checked"


def ratios(found, above, below, wanted=lambda name, count: True):
    """[(ratio, name, bytes)] of the keys that have both columns."""
    return [
        (columns[above] / columns[below], name, count)
        for (name, count), columns in found.items()
        if columns.get(above) and columns.get(below) and wanted(name, count)
    ]


def at_most(text, values, limit):
    """The line of a bar that every ratio must stay below."""
    return verdict(text, values, limit, "<=", max, lambda value: value <= limit)


def at_least(text, values, limit):
    """The line of a bar that every ratio must reach."""
    return verdict(text, values, limit, ">=", min, lambda value: value >= limit)


def verdict(text, values, limit, sign, worst_of, holds):
    if not values:
        return f"bar: {text}: not measured"
    rows = [(value, f"{name} {size(count)}".strip()) for value, name, count in values]
    worst, where = worst_of(rows)
    missed = [f"{name} {value:.2f}" for value, name in rows if not holds(value)]
    state = f"met in all {len(rows)} rows"
    if missed:
        state = f"MISSED in {len(missed)} of {len(rows)} rows ({', '.join(missed[:8])})"
    return f"bar: {text} {sign} {limit:g}: {state}, worst {worst:.2f} at {where}"


def latency(found):
    large = ratios(found, "bare_copy", "device", lambda name, count: count >= LARGE)
    return [
        at_least("bare IPC copy / device, from 1 MB", large, 0.9),
        at_most("device / Intel MPI", ratios(found, "device", "intel_device"), 1.0),
        at_most("device / staged", ratios(found, "device", "staged"), 1.0),
    ]


def block_of(name):
    return int(name.split("_")[1])


def vector(found):
    def anchor(name, count):
        return name == "vector_8_64" and count == 4 * MB

    def small(name, count):
        return block_of(name) <= 64

    limits = found.get(("limits", 8), {})
    lines = [
        at_least(
            "manual / datatype, 8-byte blocks, stride 64 B, 4 MB",
            ratios(found, "manual", "datatype", anchor),
            8,
        )
    ]
    row = found.get(("vector_8_64", 4 * MB), {})
    if row.get("datatype") and row.get("strided_kernel") and limits.get("launch") is not None:
        limit = row["strided_kernel"] + limits["launch"] + max(limits.get("switch") or 0, 0)
        lines.append(
            at_most(
                "datatype / (kernel + launch + switch), the same row",
                [(row["datatype"] / limit, "vector_8_64", 4 * MB)],
                2,
            )
        )
    lines.append(at_most("datatype / user's kernel", ratios(found, "datatype", "kernel"), 1.0))
    lines.append(
        at_least(
            "Intel MPI / datatype, blocks up to 64 B",
            ratios(found, "intel_datatype", "datatype", small),
            2,
        )
    )
    return lines


def faces(found):
    return [
        at_most("datatype / user's kernel", ratios(found, "datatype", "kernel"), 1.0),
        at_most("datatype / manual", ratios(found, "datatype", "manual"), 1.0),
    ]


def pack(found):
    def blocks(wanted):
        return lambda name, count: block_of(name) == wanted

    lines = []
    for method in ("pack", "unpack"):
        lines.append(
            at_least(
                f"{method} / sector limit, 8-byte blocks",
                ratios(found, method, "limit", blocks(8)),
                0.6,
            )
        )
        lines.append(
            at_least(
                f"{method} / copy, 512-byte blocks",
                ratios(found, method, "copy", blocks(512)),
                0.85,
            )
        )
        lines.append(
            at_least(f"{method} / user's kernel", ratios(found, method, f"kernel_{method}"), 1.0)
        )
    return lines


def stencil(found):
    def long_column(name, count):
        return name.startswith("65536x1024_grid_1x2")

    return [
        at_least(
            "before / after, 65536 x 1024, grid 1 x 2",
            ratios(found, "before", "after", long_column),
            1.4,
        ),
        at_least(
            "before / after",
            ratios(found, "before", "after", lambda name, count: not long_column(name, count)),
            1.0,
        ),
    ]


def allreduce(found):
    # The two are rows of one name and size.
    wanted = ratios(found, "allreduce", "two_kernels", lambda name, count: count == 64 * MB)
    return [at_most("allreduce / two kernels, 64 MB", wanted, 1.25)]


def host(found):
    lines = []
    for (name, count), columns in found.items():
        for method in ("isend", "irecv", "ping_pong"):
            without, with_cuda = columns.get(f"{method}_none"), columns.get(f"{method}_cuda")
            if without and with_cuda and name in KNOWN_MEMORY:
                more = with_cuda - without
                state = "met" if more <= 20 else "MISSED"
                lines.append(f"bar: {name} {method}: {more:+.1f} ns with CUDA, at most 20: {state}")
    return lines


CHECKS = {
    "latency": latency,
    "vector": vector,
    "faces": faces,
    "pack": pack,
    "stencil": stencil,
    "allreduce": allreduce,
    "host": host,
}
