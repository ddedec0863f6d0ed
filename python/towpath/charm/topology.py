"""Trees of ranks. The ranks below one are divided into contiguous parts, which are the nearer to each
other because launchers number the ranks of a host one after the other."""

from .job import job
from .library import CharmError


def subtrees(root, ranks, width):
    """The ranks below the root of a tree over some ranks, as a list for each child, which stands
    first in it."""
    if width < 1:
        raise CharmError(f"a tree has one child at least at each rank, not {width}")
    others = [rank for rank in ranks if rank != root]
    parts = min(width, len(others))
    ends = [len(others) * part // parts for part in range(parts + 1)] if parts else []
    return [others[begin:end] for begin, end in zip(ends, ends[1:])]


def edges(rank, root, ranks, width):
    """The parent of a rank in such a tree, None for the root, and its children."""
    ranks = range(job.ranks) if ranks is None else list(ranks)
    if rank not in ranks or root not in ranks:
        raise CharmError(f"rank {rank if root in ranks else root} does not belong to the tree")
    parent, below = None, subtrees(root, ranks, width)
    while root != rank:
        parent, part = root, next(part for part in below if rank in part)
        root = part[0]
        below = subtrees(root, part, width)
    return parent, [part[0] for part in below]
