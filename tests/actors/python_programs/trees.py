"""Trees of ranks: every rank but the root is the child of one, and subtrees are disjoint."""
from towpath.charm import charm, charm4py_version


def check(root, pes, width):
    everybody = list(range(charm.numPes())) if pes is None else pes
    edges = {pe: charm.getTopoTreeEdges(pe, root, pes, width) for pe in everybody}
    assert edges[root][0] is None
    children = sorted(child for _, below in edges.values() for child in below)
    assert children == sorted(set(everybody) - {root})
    for pe, (_, below) in edges.items():
        assert len(below) <= width and all(edges[child][0] == pe for child in below)
    parts = charm.getTopoSubtrees(root, everybody, width)
    assert sorted(pe for part in parts for pe in part) == children
    assert sorted(part[0] for part in parts) == sorted(edges[root][1])


def main(args):
    last = charm.numPes() - 1
    for width in (1, 2, 4):
        check(0, None, width)
        check(last, [last, *range(last)], width)
    assert charm4py_version.startswith("1.1")
    print("ok")
    exit()


charm.start(main)
