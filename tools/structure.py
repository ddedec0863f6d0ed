#!/usr/bin/env python3
"""Prints how the code base is structured: sizes, import cycles, repeated names, comments, copies.

    structure.py             the table
    structure.py --list      also the places behind each figure

Only product code counts: no tests, examples, fuzz targets, generated files or model checks, and of
a source file only what is outside `#[cfg(test)]`. `make lint` fails if a figure exceeds its limit.
"""

import argparse
import re
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = re.compile(r"/generated|/generated\.rs$|^crates/base/src/calls\.rs$")
LEFT_OUT = re.compile(r"/(tests|examples|benches)/|/(tests|model|fuzz)\.rs$|^fuzz/")
TEST_MODULE = re.compile(
    r"^#\[cfg\((all\()?test\b[^\n]*\n(?:#\[[^\n]*\n)*(pub(\([a-z]+\))? )?mod \w+ \{", re.M
)
FUNCTION = re.compile(
    r"^\s*(?:pub(?:\([a-z ]+\))? )?(?:const |async |unsafe |extern \"C\" )*fn (\w+)", re.M
)
TYPE = re.compile(r"^\s*(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|union|trait) (\w+)", re.M)
# Names that mean the same in every module that has one.
COMMON = {"Error", "State", "Kind", "Settings", "Event", "Entry", "Slot"}
# SAFETY comments that only refer to somebody else's promise.
FORWARDS = re.compile(
    r"SAFETY:\s*(as (above|there|before|said)|handed (through|on)|promised|the caller|see above|"
    r"(whoever|the)\s\w+ (promises|vouches|promised))",
    re.I,
)
LONGEST_COMMENT = 100
SHARED_LINES = 6


@dataclass
class Source:
    """A product file: its text without tests, and that without comments and literals."""

    path: str
    text: str
    code: str = field(init=False)

    def __post_init__(self):
        self.text = without_tests(self.text)
        self.code = without_comments(self.text)

    @property
    def crate(self):
        return (
            self.path.split("/")[1] if self.path.startswith("crates/") else self.path.split("/")[0]
        )

    @property
    def lines(self):
        return self.text.count("\n")

    @property
    def module(self):
        """The path of its module within the crate, as a tuple; () is the crate's root."""
        parts = list(Path(self.path).parts)
        # The sources that both ABIs include lie directly in their directory.
        parts = parts[parts.index("src") + 1 if "src" in parts else 2 :]
        parts[-1] = parts[-1].removesuffix(".rs")
        return tuple(parts[:-1]) if parts[-1] in ("lib", "main", "mod") else tuple(parts)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


# Comments and literals.
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|b?r(#*)\".*?\"\1|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\[^\n]{1,8}?|[^\\'\n])'",
    re.S,
)


def without_comments(text):
    """Comments and literals as blanks; lines and columns stay."""
    return TOKEN.sub(blank, text)


def without_tests(text):
    """The text up to and around its test modules."""
    plain = without_comments(text)
    for match in reversed(list(TEST_MODULE.finditer(plain))):
        end = closing(plain, match.end() - 1)
        text = text[: match.start()] + text[end:].lstrip("\n")
    return text


def closing(code, opening):
    """The place behind the brace that closes the one at `opening`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return len(code)


def sources():
    patterns = ("crates/*/src/**/*.rs", "crates/abi/*.rs", "xtask/src/**/*.rs")
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    names = [str(path.relative_to(ROOT)) for path in paths]
    kept = [name for name in names if not LEFT_OUT.search(name) and not GENERATED.search(name)]
    return [Source(name, (ROOT / name).read_text()) for name in kept]


def functions(source):
    """Name, line and length of each function with a body."""
    for match in FUNCTION.finditer(source.code):
        body = re.compile(r"[{;]").search(source.code, source.code.find("(", match.end()))
        if body and body[0] == "{":
            line = source.code.count("\n", 0, match.end()) + 1
            yield match[1], line, source.code.count(
                "\n", match.end(), closing(source.code, body.start())
            ) + 1


def imports(source, modules):
    """Files of the same crate that this one names by a path, except ancestors and descendants,
    which are parts of each other."""
    text = re.sub(r"^\s*(?:pub(?:\([a-z]+\))? )?mod \w+;", "", source.code, flags=re.M)
    for path in paths(text, source.module, modules):
        target = tuple(path)
        while target and target not in modules:
            target = target[:-1]
        own = source.module
        if target in modules and target[: len(own)] != own and own[: len(target)] != target:
            yield modules[target]


def paths(text, own, modules):
    """Module paths that the text names, from the crate's root."""
    for match in re.finditer(
        r"\b((?:crate|self|super)(?:::super)*)::((?:\w+::)*)(\{[^;]*?\}|\w+|\*)", text
    ):
        start = {"crate": (), "self": own}.get(match[1])
        if start is None:
            start = own[: len(own) - match[1].count("super")]
        middle = tuple(part for part in match[2].split("::") if part)
        leaves = re.findall(r"\w+(?:::\w+)*", match[3]) if match[3].startswith("{") else [match[3]]
        for leaf in leaves:
            yield start + middle + tuple(leaf.split("::"))


def cycles(all_sources):
    """Groups of files of one crate that import each other, the largest first."""
    found = []
    for crate in sorted({source.crate for source in all_sources}):
        inside = [source for source in all_sources if source.crate == crate]
        modules = {source.module: source.path for source in inside}
        edges = {source.path: set(imports(source, modules)) for source in inside}
        found += [group for group in components(edges) if len(group) > 1]
    return sorted(found, key=len, reverse=True)


def components(edges):
    """Strongly connected components (Tarjan, 1972), without recursion."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    found.append(sorted(group))
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(sorted(edges[following]))))
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return found


def type_names(all_sources):
    """How many product types have a name, for names of more than one."""
    places = defaultdict(list)
    for source in all_sources:
        for match in TYPE.finditer(source.code):
            places[match[1]].append(
                f"{source.path}:{source.code.count(chr(10), 0, match.end()) + 1}"
            )
    return {name: where for name, where in places.items() if len(where) > 1 and name not in COMMON}


def safety(all_sources):
    """All SAFETY comments, and those that only forward."""
    every, forwarding = [], []
    for source in all_sources:
        for match in re.finditer(r"// (SAFETY:[^\n]*(?:\n\s*//[^/\n][^\n]*)*)", source.text):
            place = f"{source.path}:{source.text.count(chr(10), 0, match.start()) + 1}"
            every.append(place)
            if FORWARDS.search(match[1]):
                forwarding.append(place)
    return every, forwarding


def long_comments():
    """Comment lines of any Rust file, tests too, that are wider than allowed."""
    found = []
    for path in sorted(ROOT.glob("**/*.rs")):
        name = str(path.relative_to(ROOT))
        if name.startswith(("target/", "build/")) or "/target/" in name or GENERATED.search(name):
            continue
        text = path.read_text()
        for match in TOKEN.finditer(text):
            start = text.rfind("\n", 0, match.start()) + 1
            alone = not text[start : match.start()].strip()
            if match[0].startswith("//") and alone and match.end() - start > LONGEST_COMMENT:
                found.append(f"{name}:{text.count(chr(10), 0, start) + 1}")
    return found


def duplicated(all_sources):
    """Lines in runs of six or more equal lines. Blank ones, imports, comments and lone brackets do
    not count."""
    lines, runs = [], defaultdict(list)
    for source in all_sources:
        kept = []
        for number, line in enumerate(source.code.splitlines(), 1):
            line = line.strip()
            if line and not re.match(r"(pub(\(\w+\))? )?use |mod |[\]\[(){};,]*$", line):
                kept.append((line, source.path, number))
        lines.append(kept)
    for which, kept in enumerate(lines):
        for at in range(len(kept) - SHARED_LINES + 1):
            runs[tuple(line for line, _, _ in kept[at : at + SHARED_LINES])].append((which, at))
    marked = set()
    for places in runs.values():
        # The first of them is the original.
        for which, at in places[1:]:
            marked.update((which, at + step) for step in range(SHARED_LINES))
    return [f"{lines[which][at][1]}:{lines[which][at][2]}" for which, at in sorted(marked)]


def percentile(values, percent):
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def measures(all_sources):
    """Rows of the table: what, figure, limit (None: only shown), and the places behind it."""
    sizes = {source.path: source.lines for source in all_sources}
    crates, directories = Counter(), Counter()
    for source in all_sources:
        crates[source.crate] += source.lines
        if source.crate == "mpi":
            directories["/".join(("mpi", *source.module[:-1]))] += source.lines
    lengths = [
        (length, f"{source.path}:{line} {name}")
        for source in all_sources
        for name, line, length in functions(source)
    ]
    names, (comments, forwarding) = type_names(all_sources), safety(all_sources)
    groups, wide, shared = cycles(all_sources), long_comments(), duplicated(all_sources)
    unsafe = Counter()
    for source in all_sources:
        unsafe[source.crate] += len(re.findall(r"\bunsafe \{", source.code))
    most = max(names.values(), key=len, default=[])
    rows = [
        ("product lines", sum(sizes.values()), None, []),
        (
            "largest crate, lines",
            max(crates.values()),
            12_500,
            [f"{n} {crate}" for crate, n in crates.most_common()],
        ),
        (
            "largest directory of mpi, lines",
            max(directories.values()),
            5_000,
            [f"{n} {name}" for name, n in directories.most_common()],
        ),
        ("files, lines p50", percentile(sizes.values(), 50), None, []),
        ("files, lines p90", percentile(sizes.values(), 90), 350, []),
        (
            "files, lines at most",
            max(sizes.values()),
            None,
            [f"{n} {p}" for p, n in Counter(sizes).most_common(5)],
        ),
        ("functions, lines p99", percentile([length for length, _ in lengths], 99), None, []),
        (
            "functions, lines at most",
            max(lengths)[0],
            80,
            [f"{n} {where}" for n, where in sorted(lengths)[-5:]],
        ),
        (
            "files in the largest import cycle",
            max(map(len, groups), default=1),
            2,
            [" ".join(group) for group in groups],
        ),
        ("types with the most common name", len(most), 3, most),
        (
            "type names in use more than once",
            len(names),
            40,
            [f"{len(w)} {n}: {' '.join(w)}" for n, w in sorted(names.items())],
        ),
        (
            "unsafe blocks",
            sum(unsafe.values()),
            None,
            [f"{n} {crate}" for crate, n in unsafe.most_common()],
        ),
        ("unsafe blocks in mpi", unsafe["mpi"], 126, []),
        ("SAFETY comments", len(comments), None, []),
        (
            "of these only forward, %",
            round(100 * len(forwarding) / max(1, len(comments)), 1),
            10,
            forwarding,
        ),
        (f"comment lines above {LONGEST_COMMENT} columns", len(wide), 0, wide),
        ("duplicated lines", len(shared), 500, shared),
    ]
    return rows


def exceeded():
    """What is above its limit and must not be, as sentences."""
    return [
        f"{what}: {figure:g}, {limit} at most: {' '.join(places[:5])}"
        for what, figure, limit, places in measures(sources())
        if limit is not None and figure > limit
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the places behind each figure")
    options = parser.parse_args()
    print("| what | now | limit |\n|---|---|---|")
    rows = measures(sources())
    for what, figure, limit, _ in rows:
        print(f"| {what} | {figure:g} | {'' if limit is None else f'{limit:g}'} |")
    if options.list:
        for what, _, _, places in rows:
            if places:
                print(f"\n{what}:", *places, sep="\n  ")


if __name__ == "__main__":
    main()
