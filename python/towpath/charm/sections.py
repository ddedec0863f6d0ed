"""Sections: some of the chares of collections, which get broadcasts and contribute to reductions of
their own. The ranks of a section form a tree, whose root is the least of them."""

from .futures import CollectiveFuture, create_future, run_for
from .job import job
from .library import CharmError
from .proxies import GROUP, section_proxy, shown

WIDTH = 4


def section_locations(contributions):
    """The ranks of each of some sections."""
    result = [set() for _ in contributions[0]]
    for contribution in contributions:
        for ranks, more in zip(result, contribution):
            ranks.update(more)
    return result


class Reduction:
    """Of a section on one rank."""

    def __init__(self):
        self.values, self.count = [], 0
        self.reducer = self.target = None


class Section:
    """The part of a section that this rank has."""

    def __init__(self):
        self.is_made = False
        self.parent, self.children = None, []
        self.members = []
        self.early = []
        self.reductions = {}


class SectionResult:
    """The chares of a section, each of which waits for the result of a reduction."""

    def __init__(self, proxy, number):
        self.proxy, self.number = proxy, number

    def __call__(self, result=None):
        self.proxy._coll_future_deposit_result(self.number, result)


class Sections:
    """All sections that this rank takes part in."""

    def __init__(self):
        self.by_name, self.made_here = {}, 0

    def of(self, name):
        if name not in self.by_name:
            self.by_name[name] = Section()
        return self.by_name[name]

    # Creation.

    def split(self, proxy, count, member_of=None, members=None, slicing=None):
        """Proxies of so many sections of a collection or section."""
        if proxy.address:
            raise CharmError("a single chare has no sections")
        if members is not None and count == 1 and not isinstance(members[0], (list, set)):
            members = [members]
        if members is not None and len(members) != count:
            raise CharmError(f"{len(members)} lists of chares do not make {count} sections")
        first = self.made_here
        self.made_here += count
        future = create_future()
        section = proxy if proxy.issec else None
        proxy._getSectionLocations_((job.rank, first), count, member_of, slicing,
                                    comparable(proxy, members), future, section)
        ranks = future.get()
        return [self.begun(proxy, (job.rank, first + one), ranks[one]) for one in range(count)]

    def combine(self, *proxies):
        """The proxy of one section with the chares of several collections or sections."""
        name = (job.rank, self.made_here)
        self.made_here += 1
        futures = []
        for proxy in proxies:
            futures.append(create_future())
            section = proxy if proxy.issec else None
            proxy._getSectionLocations_(name, 1, everyone, None, None, futures[-1], section)
        ranks = set().union(*(future.get()[0] for future in futures))
        return self.begun(proxies[0], name, ranks)

    def begun(self, proxy, name, ranks):
        if not ranks:
            raise CharmError("a section needs at least one chare")
        root = min(ranks)
        job.remote[root]._make_section(name, sorted(ranks), None)
        return section_proxy(proxy, (root, name))

    def sliced(self, proxy, slices):
        if proxy.kind == GROUP:
            chosen = range(*slices[0].indices(job.ranks))
            return self.split(proxy, 1, members=[list(chosen)])[0]
        if any(not isinstance(one, slice) or one.start is None or one.stop is None
               for one in slices):
            raise CharmError("a slice of an array has a start and a stop in each dimension")
        return self.split(proxy, 1, slicing=[range(one.start, one.stop, one.step or 1)
                                             for one in slices])[0]

    def joined(self, chare, first, count, member_of, slicing, members, future,
               section):
        """A chare learns to which of some sections it belongs, and says where it is."""
        rank, number = first
        ranks = [set() for _ in range(count)]
        for one in chosen(chare, member_of, slicing, members):
            name = (rank, number + one)
            if "_sections" not in chare.__dict__:
                chare._sections = {}
            chare._sections.setdefault(name, 0)
            mine = self.of(name).members
            if chare not in mine:
                mine.append(chare)
            ranks[one].add(job.rank)
        chare.contribute(ranks, job.reducers.section_locations, future, section)

    def made(self, name, ranks, parent):
        section = self.of(name)
        others = [rank for rank in ranks if rank != job.rank]
        section.parent, section.is_made = parent, True
        for place in range(min(WIDTH, len(others))):
            below = others[place::WIDTH]
            section.children.append(below[0])
            job.remote[below[0]]._make_section(name, below, job.rank)
        early, section.early = section.early, []
        for number, arguments, reply in early:
            self.passed_on(name, number, arguments, reply)
        for number in list(section.reductions):
            self.advance(name, number)

    # Broadcasts.

    def send(self, proxy, entry, arguments, reply):
        root, name = proxy.section
        job.remote[root]._send_to_section(name, entry.epIdx, arguments, reply)

    def passed_on(self, name, number, arguments, reply):
        section = self.of(name)
        if not section.is_made:
            section.early.append((number, arguments, reply))
            return
        for child in section.children:
            job.remote[child]._send_to_section(name, number, arguments, reply)
        entry = job.entries[number]
        for chare in list(section.members):
            own = type(chare) is entry.chare_class
            method = entry if own else job.classes[type(chare)].named(entry.name)
            run_for(chare, method.accept, chare, arguments, reply)

    # Reductions.

    def contribute(self, chare, data, reducer, target, section):
        name = section[1] if isinstance(section, tuple) else section.section[1]
        if name not in chare.__dict__.get("_sections", ()):
            raise CharmError(f"{shown(chare)} does not belong to this section")
        number = chare._sections[name]
        chare._sections[name] = number + 1
        if isinstance(target, CollectiveFuture):
            target = SectionResult(target.proxy, target.fid)
        reducer = None if reducer is None else reducer.name
        self.contributed(name, number, [] if reducer is None else [data], reducer, target)

    def collective_future(self, chare, proxy):
        name = proxy.section[1]
        number = (chare._sections.get(name, 0), *name)
        future = chare._collective[number] = CollectiveFuture(number, chare)
        future.proxy = proxy
        return future

    def contributed(self, name, number, values, reducer, target):
        reduction = self.of(name).reductions.setdefault(number, Reduction())
        reduction.values += values
        reduction.count += 1
        reduction.reducer = reducer or reduction.reducer
        reduction.target = target or reduction.target
        self.advance(name, number)

    def advance(self, name, number):
        """Passes a reduction on once all below have contributed."""
        section = self.of(name)
        reduction = section.reductions[number]
        expected = len(section.children) + len(section.members)
        if not section.is_made or reduction.count < expected:
            return
        del section.reductions[number]
        reducer = reduction.reducer and job.reducers.named(reduction.reducer)
        values = reduction.values
        if len(values) > 1:
            values = [reducer(values)]
        if section.parent is not None:
            job.remote[section.parent]._section_contribution(
                name, number, values, reduction.reducer, reduction.target)
        elif values:
            reduction.target(reducer.after(values[0]))
        else:
            reduction.target()


def everyone(chare):
    del chare
    return 0


def comparable(proxy, members):
    """Indices as chares have them."""
    if members is None:
        return None
    if proxy.kind == GROUP:
        return [set(some) for some in members]
    return [{(one,) if isinstance(one, int) else tuple(one) for one in some} for some in members]


def chosen(chare, member_of, slicing, members):
    """The numbers of the sections to which a chare belongs."""
    if member_of is not None:
        numbers = member_of(chare)
        numbers = [numbers] if isinstance(numbers, int) else numbers
        return [number for number in numbers if number >= 0]
    if slicing is not None:
        return [0] if all(word in some for word, some in zip(chare.thisIndex, slicing)) else []
    return [number for number, some in enumerate(members) if chare.thisIndex in some]
