//! Selection of the algorithm for each collective: a table, and the choice that the user may force.
//!
//! A call within one host can use a board (shared memory); everything else is a plan of messages.
//! The table is read from top to bottom: the first row that fits wins, and the last row
//! of each collective always fits. The setting `TOWPATH_COLLECTIVE`
//! (`allreduce:stripes,bcast:chain`), or a communicator's hint `towpath_collective`, forces an
//! algorithm wherever its hard conditions hold, regardless of size (a broadcast still passes no
//! data on over the slow link of a host). Every rank must make the same choice, so it may depend
//! only on what all ranks know.

use crate::operand::Operand;
use crate::{Team, segments};

/// The collectives with more than one algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// MPI_Barrier; no bytes.
    Barrier,
    /// MPI_Bcast; bytes of the buffer.
    Bcast,
    /// MPI_Gather; bytes of one block.
    Gather,
    /// MPI_Scatter; bytes of one block.
    Scatter,
    /// MPI_Gatherv; only the root knows the bytes.
    Gatherv,
    /// MPI_Scatterv; only the root knows the bytes.
    Scatterv,
    /// MPI_Allgather; bytes of all blocks.
    Allgather,
    /// MPI_Allgatherv; bytes of all blocks.
    Allgatherv,
    /// MPI_Alltoall; bytes of one block.
    Alltoall,
    /// MPI_Alltoallv and MPI_Alltoallw; the bytes are not known.
    Alltoallv,
    /// MPI_Reduce; bytes of the vector.
    Reduce,
    /// MPI_Allreduce; bytes of the vector.
    Allreduce,
    /// MPI_Reduce_scatter and MPI_Reduce_scatter_block; bytes of all blocks.
    ReduceScatter,
    /// MPI_Scan and MPI_Exscan; bytes of the vector.
    Scan,
}

/// Whether the ranks of a host share its cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// Each rank has a core to itself.
    Full,
    /// Oversubscribed: there are more ranks than cores.
    Over,
}

/// The algorithms; each is described in the module of its collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Algorithm {
    AllgatherFold,
    Binomial,
    Board,
    Bruck,
    Chain,
    Dissemination,
    GatherBcast,
    GatherScatter,
    Hierarchical,
    Linear,
    Multicast,
    Pairwise,
    RecursiveDoubling,
    ReduceBcast,
    ReduceThenScatter,
    Ring,
    ScatterAllgather,
    Stripes,
}

/// The facts on which a choice depends.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    ranks: usize,
    bytes: i64,
    board: Option<Subscription>,
    group: Option<Pays>,
    hosts: usize,
    levels: bool,
    cores: Subscription,
    hosts_share_cores: bool,
    slow_links: bool,
}

/// The lengths for which multicast pays, in bytes: more than the first, up to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pays(pub i64, pub i64);

impl Size {
    /// This many ranks and bytes, on one host, without a board or multicast.
    pub fn of(ranks: usize, bytes: i64) -> Size {
        Size {
            ranks,
            bytes,
            board: None,
            group: None,
            hosts: 1,
            levels: false,
            cores: Subscription::Full,
            hosts_share_cores: false,
            slow_links: false,
        }
    }

    /// The ranks and hosts of a team, and this many bytes, without a board or multicast.
    pub fn of_team(team: &Team, bytes: i64) -> Size {
        let placement = &team.placement;
        let size = Size::of(team.size(), bytes).on_hosts(placement.hosts());
        let cores = match placement.ranks_per_core() {
            1 => Subscription::Full,
            _ => Subscription::Over,
        };
        let hosts_share_cores = placement.hosts_share_cores() && !placement.has_groups();
        let (levels, slow_links) = (placement.has_levels(), placement.has_slow_links());
        Size { levels, cores, hosts_share_cores, slow_links, ..size }
    }

    /// A reduction of a team.
    pub fn of_reduction(team: &Team, operand: &Operand) -> Size {
        let size = Size::of_team(team, operand.bytes());
        if operand.reducer.is_commutative() { size } else { size.in_order(team) }
    }

    /// Hosts do not matter.
    pub fn flat(self) -> Size {
        Size { levels: false, ..self }
    }

    /// Operands are combined in rank order, which a host can do only if no rank of another host is
    /// between its own.
    pub fn in_order(self, team: &Team) -> Size {
        Size { levels: self.levels && team.placement.is_consecutive(), ..self }
    }

    /// The ranks are on this many hosts.
    pub fn on_hosts(self, hosts: usize) -> Size {
        Size { hosts, ..self }
    }

    /// The call can use multicast, which pays for these lengths.
    pub fn in_group(self, pays: Pays) -> Size {
        Size { group: Some(pays), ..self }
    }

    fn pays(self) -> bool {
        self.group.is_some_and(|Pays(more, most)| more < self.bytes && self.bytes <= most)
    }

    /// True if ranks exchange so little data through one of them.
    pub(crate) fn goes_through_one(self) -> bool {
        self.hosts_share_cores
            && self.hosts > 2
            && self.ranks <= MOST_THROUGH_ONE
            && self.bytes <= LONGEST_THROUGH_ONE
    }

    /// The call can use a board.
    pub fn on_board(self, subscription: Subscription) -> Size {
        Size { board: Some(subscription), ..self }
    }
}

/// One algorithm of one collective.
#[derive(Clone, Copy, Debug)]
pub struct SelectionRow {
    /// The collective.
    pub collective: Collective,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Hard condition: the number of ranks is a power of two.
    pub power_of_two: bool,
    /// Hard condition: the call can use a board, with this subscription.
    pub board: Option<Subscription>,
    /// Hard condition: multicast reaches the hosts, of which there are at least four.
    pub group: bool,
    /// Hard condition: the ranks are on at least this many hosts.
    pub hosts: usize,
    /// Hard condition: there are several hosts, and several ranks on one of them.
    pub levels: bool,
    /// Chosen only with this subscription of the cores of all hosts.
    pub cores: Option<Subscription>,
    /// Chosen only where the hosts share the cores of one machine evenly, and form no groups.
    pub hosts_share_cores: bool,
    /// Chosen only where some hosts have slow links.
    pub slow_links: bool,
    /// Chosen up to this many ranks; 0 if it is chosen only where the user forces it.
    pub ranks: usize,
    /// Chosen up to this many bytes.
    pub bytes: i64,
}

/// Most ranks that exchange data through one of them, and most bytes.
const MOST_THROUGH_ONE: usize = 16;
const LONGEST_THROUGH_ONE: i64 = 8 << 10;
const ANY: i64 = i64::MAX;
const ALL: usize = usize::MAX;

const fn row(
    collective: Collective,
    algorithm: Algorithm,
    ranks: usize,
    bytes: i64,
) -> SelectionRow {
    SelectionRow {
        collective,
        algorithm,
        power_of_two: false,
        board: None,
        group: false,
        hosts: 1,
        levels: false,
        cores: None,
        hosts_share_cores: false,
        slow_links: false,
        ranks,
        bytes,
    }
}

const fn board(
    collective: Collective,
    subscription: Subscription,
    ranks: usize,
    bytes: i64,
) -> SelectionRow {
    SelectionRow { board: Some(subscription), ..row(collective, Algorithm::Board, ranks, bytes) }
}

const fn multicast(collective: Collective, ranks: usize, bytes: i64) -> SelectionRow {
    SelectionRow { group: true, ..row(collective, Algorithm::Multicast, ranks, bytes) }
}

const fn hierarchical(collective: Collective, bytes: i64) -> SelectionRow {
    SelectionRow { levels: true, ..row(collective, Algorithm::Hierarchical, ALL, bytes) }
}

/// From each rank of hosts that share cores straight to the root.
const fn straight_on_shared_cores(collective: Collective) -> SelectionRow {
    let row = row(collective, Algorithm::Linear, ALL, ANY);
    SelectionRow { levels: true, hosts_share_cores: true, ..row }
}

const fn on_cores(subscription: Subscription, row: SelectionRow) -> SelectionRow {
    SelectionRow { cores: Some(subscription), ..row }
}

const fn on_hosts(hosts: usize, row: SelectionRow) -> SelectionRow {
    SelectionRow { hosts, ..row }
}

const fn power_of_two(row: SelectionRow) -> SelectionRow {
    SelectionRow { power_of_two: true, ..row }
}

/// Where hosts share the cores of one machine, the number of all messages counts, and not the
/// length of a path: few exchange short data through one of them. Microseconds of processor time
/// of a call among 8 hosts of one rank on two cores, otherwise / so (benchmarks/collective.c
/// processors, four rounds, 2026-11-27):
///
/// | | 8 B | 1 KiB |
/// |---|---|---|
/// | barrier | 389/341 | |
/// | allreduce | 399/332 | 463/398 |
/// | allgather | 387/360 | 447/434 |
/// | alltoall | 408/376 | 717/455 |
/// | reduce_scatter | 444/392 | 649/439 |
/// | scan (a chain) | | 481/79 |
const fn through_one(collective: Collective, algorithm: Algorithm, bytes: i64) -> SelectionRow {
    let row = on_hosts(3, row(collective, algorithm, MOST_THROUGH_ONE, bytes));
    SelectionRow { hosts_share_cores: true, ..row }
}

/// The selection table.
pub const TABLE: &[SelectionRow] = &[
    board(Collective::Barrier, Subscription::Full, ALL, ANY),
    board(Collective::Barrier, Subscription::Over, ALL, ANY),
    // `ranks` is 0: chosen only if forced.
    multicast(Collective::Barrier, 0, ANY),
    hierarchical(Collective::Barrier, ANY),
    through_one(Collective::Barrier, Algorithm::Linear, ANY),
    row(Collective::Barrier, Algorithm::Dissemination, ALL, ANY),
    board(Collective::Bcast, Subscription::Full, ALL, 128 << 10),
    board(Collective::Bcast, Subscription::Over, ALL, 4 << 20),
    multicast(Collective::Bcast, ALL, 256 << 10),
    hierarchical(Collective::Bcast, ANY),
    // Chosen where all ranks wait for the data ([`Size::goes_through_one`]).
    row(Collective::Bcast, Algorithm::Linear, 0, ANY),
    // Longer data goes as costs say (`segments`).
    on_hosts(2, row(Collective::Bcast, Algorithm::Binomial, ALL, segments::LEAST)),
    row(Collective::Bcast, Algorithm::Binomial, ALL, 32 << 10),
    row(Collective::Bcast, Algorithm::Binomial, 2, ANY),
    row(Collective::Bcast, Algorithm::ScatterAllgather, ALL, 512 << 10),
    row(Collective::Bcast, Algorithm::Chain, 16, ANY),
    row(Collective::Bcast, Algorithm::ScatterAllgather, ALL, ANY),
    board(Collective::Gather, Subscription::Full, ALL, 128 << 10),
    board(Collective::Gather, Subscription::Over, ALL, 512 << 10),
    // A leader that must wait for a core delays the blocks of its host. Milliseconds of processor
    // time of all ranks for a call among 8 hosts of 8 ranks on two cores, hierarchical / linear
    // (benchmarks/collective.c processors, three rounds, 2026-11-26, gather 2026-11-27):
    //
    // | | 4 KiB | 8 KiB | 16 KiB | 32 KiB | 64 KiB |
    // |---|---|---|---|---|---|
    // | gather | | 0.68/1.10 | 1.37/1.53 | 2.25/2.31 | 4.9/4.6 |
    // | gather with changing roots, time | | 0.74/1.03 | 1.08/0.95 | 1.65/1.05 | |
    // | gather to a host with a fifth of a core, time | | | | | 6.9/12.8 |
    // | scatter | | 1.7/2.2 | 2.5/2.4 | 3.2/2.9 | 9.3/4.9 |
    // | alltoall | 29/103 | 70/104 | 130/119 | 231/170 | |
    hierarchical(Collective::Gather, 8 << 10),
    straight_on_shared_cores(Collective::Gather),
    hierarchical(Collective::Gather, 64 << 10),
    through_one(Collective::Gather, Algorithm::Linear, ANY),
    row(Collective::Gather, Algorithm::Binomial, ALL, 1 << 10),
    row(Collective::Gather, Algorithm::Linear, ALL, ANY),
    board(Collective::Scatter, Subscription::Full, ALL, 128 << 10),
    board(Collective::Scatter, Subscription::Over, ALL, 64 << 10),
    hierarchical(Collective::Scatter, 16 << 10),
    on_cores(Subscription::Full, hierarchical(Collective::Scatter, 64 << 10)),
    row(Collective::Scatter, Algorithm::Binomial, ALL, 1 << 10),
    row(Collective::Scatter, Algorithm::Linear, ALL, ANY),
    // How a block comes its owner says on the board.
    board(Collective::Gatherv, Subscription::Full, ALL, ANY),
    board(Collective::Gatherv, Subscription::Over, ALL, ANY),
    hierarchical(Collective::Gatherv, ANY),
    row(Collective::Gatherv, Algorithm::Linear, ALL, ANY),
    board(Collective::Scatterv, Subscription::Full, ALL, ANY),
    board(Collective::Scatterv, Subscription::Over, ALL, ANY),
    hierarchical(Collective::Scatterv, ANY),
    row(Collective::Scatterv, Algorithm::Linear, ALL, ANY),
    board(Collective::Allgather, Subscription::Full, ALL, 256 << 10),
    board(Collective::Allgather, Subscription::Over, ALL, 8 << 20),
    hierarchical(Collective::Allgather, ANY),
    through_one(Collective::Allgather, Algorithm::GatherBcast, LONGEST_THROUGH_ONE),
    power_of_two(row(Collective::Allgather, Algorithm::RecursiveDoubling, ALL, 512 << 10)),
    row(Collective::Allgather, Algorithm::Bruck, ALL, 64 << 10),
    row(Collective::Allgather, Algorithm::Ring, ALL, ANY),
    board(Collective::Allgatherv, Subscription::Full, ALL, 256 << 10),
    board(Collective::Allgatherv, Subscription::Over, ALL, 8 << 20),
    hierarchical(Collective::Allgatherv, ANY),
    row(Collective::Allgatherv, Algorithm::Bruck, ALL, 64 << 10),
    row(Collective::Allgatherv, Algorithm::Ring, ALL, ANY),
    board(Collective::Alltoall, Subscription::Full, ALL, 64 << 10),
    board(Collective::Alltoall, Subscription::Over, ALL, 128 << 10),
    hierarchical(Collective::Alltoall, 4 << 10),
    on_cores(Subscription::Over, hierarchical(Collective::Alltoall, 8 << 10)),
    // A message for each pair of hosts needs fewer acknowledgements than one for each pair of
    // ranks, and no data is sent twice because those wait in a long queue. Of blocks of 16 KiB
    // among 8 hosts of 8 ranks 1.005 times the payload come over a link of 1 Gbit/s, pairwise or
    // all at once 1.047; of 64 KiB 1.024 (benchmarks/collective.c traffic, 2026-11-27).
    SelectionRow { slow_links: true, ..hierarchical(Collective::Alltoall, 16 << 10) },
    through_one(Collective::Alltoall, Algorithm::GatherScatter, LONGEST_THROUGH_ONE / 8),
    row(Collective::Alltoall, Algorithm::Linear, 4, 32 << 10),
    row(Collective::Alltoall, Algorithm::Bruck, ALL, 256),
    row(Collective::Alltoall, Algorithm::Linear, ALL, 16 << 10),
    // All ranks of a host send through one link. All messages at once overflow its queue: 32 KiB
    // among 8 hosts of 8 ranks and links of 10 Gbit/s take 190 ms and 3200 retransmitted segments,
    // pairwise 90 ms and 700; by links without a limit 84 and 91 ms (benchmarks/collective.c sync,
    // three rounds, 2026-11-27).
    SelectionRow { levels: true, ..row(Collective::Alltoall, Algorithm::Pairwise, ALL, ANY) },
    row(Collective::Alltoall, Algorithm::Linear, ALL, 32 << 10),
    row(Collective::Alltoall, Algorithm::Pairwise, ALL, ANY),
    // Most programs send to few ranks, and a rank sends nothing there where a length is 0: the
    // exchange of all lengths costs as much as blocks for four neighbours where ranks share cores
    // (8 hosts of 8 ranks on two cores: 2.9 ms both, and with a block for each rank 3.6 against 43
    // ms; 2026-11-27), and much more elsewhere.
    row(Collective::Alltoallv, Algorithm::Linear, 8, ANY),
    on_cores(Subscription::Over, hierarchical(Collective::Alltoallv, ANY)),
    row(Collective::Alltoallv, Algorithm::Linear, 64, ANY),
    row(Collective::Alltoallv, Algorithm::Pairwise, ALL, ANY),
    // On a board, ranks fold what others have written there; messages copy it first. Milliseconds
    // by messages / by a board (benchmarks/collective.c, two cores, 2026-11-26):
    //
    // | ranks | reduce | allreduce | reduce_scatter | scan |
    // |---|---|---|---|---|
    // | 2 | 8 MiB: 2.4/1.1 | 4 MiB: 0.90/0.44 | 1 MiB: 1.4/0.16 | 4 MiB: 0.84/0.38 |
    // | 8 | 8 MiB: 17/5.0 | 4 MiB: 11/5.0 | 256 KiB: 6.0/0.95 | 4 MiB: 16/7.3 |
    board(Collective::Reduce, Subscription::Full, ALL, ANY),
    board(Collective::Reduce, Subscription::Over, ALL, ANY),
    hierarchical(Collective::Reduce, ANY),
    row(Collective::Reduce, Algorithm::Linear, 2, ANY),
    row(Collective::Reduce, Algorithm::Linear, ALL, 32 << 10),
    row(Collective::Reduce, Algorithm::Stripes, ALL, ANY),
    board(Collective::Allreduce, Subscription::Full, ALL, ANY),
    board(Collective::Allreduce, Subscription::Over, ALL, ANY),
    multicast(Collective::Allreduce, 0, ANY),
    hierarchical(Collective::Allreduce, ANY),
    through_one(Collective::Allreduce, Algorithm::ReduceBcast, LONGEST_THROUGH_ONE),
    row(Collective::Allreduce, Algorithm::ReduceBcast, 1, ANY),
    row(Collective::Allreduce, Algorithm::AllgatherFold, 2, 32 << 10),
    row(Collective::Allreduce, Algorithm::Stripes, 2, ANY),
    row(Collective::Allreduce, Algorithm::AllgatherFold, 8, 256),
    on_hosts(2, row(Collective::Allreduce, Algorithm::AllgatherFold, 8, 8 << 10)),
    on_hosts(2, row(Collective::Allreduce, Algorithm::AllgatherFold, 64, 1 << 10)),
    on_hosts(2, row(Collective::Allreduce, Algorithm::AllgatherFold, ALL, 64)),
    row(Collective::Allreduce, Algorithm::ReduceBcast, ALL, 32 << 10),
    row(Collective::Allreduce, Algorithm::Stripes, ALL, ANY),
    board(Collective::ReduceScatter, Subscription::Full, ALL, ANY),
    board(Collective::ReduceScatter, Subscription::Over, ALL, ANY),
    hierarchical(Collective::ReduceScatter, ANY),
    through_one(Collective::ReduceScatter, Algorithm::ReduceThenScatter, LONGEST_THROUGH_ONE),
    row(Collective::ReduceScatter, Algorithm::Stripes, 2, ANY),
    on_hosts(2, row(Collective::ReduceScatter, Algorithm::AllgatherFold, 8, 8 << 10)),
    on_hosts(2, row(Collective::ReduceScatter, Algorithm::AllgatherFold, 64, 1 << 10)),
    row(Collective::ReduceScatter, Algorithm::Stripes, ALL, ANY),
    board(Collective::Scan, Subscription::Full, ALL, ANY),
    board(Collective::Scan, Subscription::Over, ALL, ANY),
    hierarchical(Collective::Scan, 256 << 10),
    row(Collective::Scan, Algorithm::Chain, 2, ANY),
    through_one(Collective::Scan, Algorithm::AllgatherFold, 256),
    through_one(Collective::Scan, Algorithm::Chain, ANY),
    row(Collective::Scan, Algorithm::AllgatherFold, 16, 4 << 10),
    row(Collective::Scan, Algorithm::AllgatherFold, ALL, 256),
    row(Collective::Scan, Algorithm::Chain, ALL, ANY),
];

/// Index of the first row of each collective; the rows of a collective are consecutive.
const FIRST_ROW: [usize; COLLECTIVES.len()] = {
    let mut first = [usize::MAX; COLLECTIVES.len()];
    let mut index = TABLE.len();
    while index > 0 {
        index -= 1;
        first[TABLE[index].collective as usize] = index;
    }
    first
};

/// The collectives and their names in settings.
pub const COLLECTIVES: &[(&str, Collective)] = &[
    ("barrier", Collective::Barrier),
    ("bcast", Collective::Bcast),
    ("gather", Collective::Gather),
    ("scatter", Collective::Scatter),
    ("gatherv", Collective::Gatherv),
    ("scatterv", Collective::Scatterv),
    ("allgather", Collective::Allgather),
    ("allgatherv", Collective::Allgatherv),
    ("alltoall", Collective::Alltoall),
    ("alltoallv", Collective::Alltoallv),
    ("reduce", Collective::Reduce),
    ("allreduce", Collective::Allreduce),
    ("reduce_scatter", Collective::ReduceScatter),
    ("scan", Collective::Scan),
];

const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("allgather_fold", Algorithm::AllgatherFold),
    ("binomial", Algorithm::Binomial),
    ("board", Algorithm::Board),
    ("bruck", Algorithm::Bruck),
    ("chain", Algorithm::Chain),
    ("dissemination", Algorithm::Dissemination),
    ("gather_bcast", Algorithm::GatherBcast),
    ("gather_scatter", Algorithm::GatherScatter),
    ("hierarchical", Algorithm::Hierarchical),
    ("linear", Algorithm::Linear),
    ("multicast", Algorithm::Multicast),
    ("pairwise", Algorithm::Pairwise),
    ("recursive_doubling", Algorithm::RecursiveDoubling),
    ("reduce_bcast", Algorithm::ReduceBcast),
    ("reduce_then_scatter", Algorithm::ReduceThenScatter),
    ("ring", Algorithm::Ring),
    ("scatter_allgather", Algorithm::ScatterAllgather),
    ("stripes", Algorithm::Stripes),
];

/// The table, and the algorithms that the user forced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    forced: Vec<(Collective, Algorithm)>,
}

impl Selection {
    /// Parses `collective:algorithm` pairs separated by commas. An error is a full sentence about
    /// `name`, whose value they are.
    pub fn parse(name: &str, text: &str) -> Result<Selection, String> {
        let mut forced = Vec::new();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (left, right) = pair.split_once(':').unwrap_or((pair, ""));
            let collective = find(COLLECTIVES, left).ok_or_else(|| {
                format!("{name} names the collective \"{left}\"; known are {}", names(COLLECTIVES))
            })?;
            let algorithm = find(ALGORITHMS, right)
                .filter(|&algorithm| has(collective, algorithm))
                .ok_or_else(|| {
                    let known: Vec<_> =
                        ALGORITHMS.iter().filter(|row| has(collective, row.1)).copied().collect();
                    format!(
                        "{name} names the algorithm \"{right}\" for {left}; known are {}",
                        names(&known)
                    )
                })?;
            forced.push((collective, algorithm));
        }
        Ok(Selection { forced })
    }

    /// This selection, and behind it another one, which counts where this one forces nothing.
    pub fn before(mut self, other: &Selection) -> Selection {
        self.forced.extend(&other.forced);
        self
    }

    /// The table with one algorithm forced.
    pub fn forcing(collective: Collective, algorithm: Algorithm) -> Selection {
        Selection { forced: vec![(collective, algorithm)] }
    }

    /// The algorithm for a collective: the forced one if its hard conditions hold, otherwise the
    /// first row that fits.
    pub fn choose(&self, collective: Collective, size: Size) -> Algorithm {
        self.forced(collective, size).unwrap_or_else(|| {
            allowed_rows(collective, size)
                .find(|row| {
                    size.ranks <= row.ranks
                        && size.bytes <= row.bytes
                        && (!row.group || size.pays())
                        && row.cores.is_none_or(|cores| cores == size.cores)
                        && (!row.hosts_share_cores || size.hosts_share_cores)
                        && (!row.slow_links || size.slow_links)
                })
                .expect("the last row of each collective fits everything")
                .algorithm
        })
    }

    /// The maximum bytes for which [`Selection::choose`] picks the board, regardless of the bytes
    /// of `size`; `None` if it never does.
    pub fn limit_of_board(&self, collective: Collective, size: Size) -> Option<i64> {
        if let Some(forced) = self.forced(collective, size) {
            return (forced == Algorithm::Board).then_some(ANY);
        }
        // The board's row is the first one, so no other row is chosen for fewer bytes.
        let first = allowed_rows(collective, size).next()?;
        (first.algorithm == Algorithm::Board && size.ranks <= first.ranks).then_some(first.bytes)
    }

    /// The algorithm of a reduction: as chosen, or `on_one_device` if all vectors are on one and no
    /// algorithm is forced. One rank computes everything there, since a device that works for
    /// several processes in turn loses more time than that takes.
    pub(crate) fn choose_reduction(
        &self,
        operand: &Operand,
        (collective, size): (Collective, Size),
        on_one_device: Algorithm,
    ) -> Algorithm {
        match operand.is_on_one_device() {
            true => self.forced(collective, size).unwrap_or(on_one_device),
            false => self.choose(collective, size),
        }
    }

    /// The algorithm that the user forced, if its hard conditions hold.
    pub(crate) fn forced(&self, collective: Collective, size: Size) -> Option<Algorithm> {
        let mut wanted = self.forced.iter().filter(|pair| pair.0 == collective).map(|pair| pair.1);
        wanted
            .find(|&algorithm| allowed_rows(collective, size).any(|row| row.algorithm == algorithm))
    }
}

/// The rows of a collective whose hard conditions hold.
fn allowed_rows(collective: Collective, size: Size) -> impl Iterator<Item = &'static SelectionRow> {
    let rows = TABLE[FIRST_ROW[collective as usize]..].iter();
    rows.take_while(move |row| row.collective == collective).filter(move |row| allowed(row, size))
}

fn allowed(row: &SelectionRow, size: Size) -> bool {
    (!row.power_of_two || size.ranks.is_power_of_two())
        && (row.board.is_none() || row.board == size.board)
        && (!row.group || size.group.is_some())
        && row.hosts <= size.hosts
        && (!row.levels || size.levels)
}

fn has(collective: Collective, algorithm: Algorithm) -> bool {
    TABLE.iter().any(|row| row.collective == collective && row.algorithm == algorithm)
}

fn find<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    list.iter().find(|row| row.0 == name.trim()).map(|row| row.1)
}

fn names<T>(list: &[(&str, T)]) -> String {
    list.iter().map(|row| row.0).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use towpath_base::ids::{ContextId, PeerIndex};
    use towpath_topology::{HostNetwork, NetworkHost};

    use super::*;
    use crate::Placement;

    #[test]
    fn the_table_answers_everything() {
        let selection = Selection::default();
        for (name, collective) in COLLECTIVES {
            for ranks in [1, 2, 3, 8, 1000, usize::MAX] {
                for bytes in [0, 1, 1 << 20, i64::MAX] {
                    let size = Size::of(ranks, bytes);
                    assert!(has(*collective, selection.choose(*collective, size)), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_board_is_chosen_up_to_its_limit() {
        let sizes = || {
            [2, 3, 64, 1000].into_iter().flat_map(|ranks| {
                [Subscription::Full, Subscription::Over].map(|subscription| (ranks, subscription))
            })
        };
        for text in ["", "bcast:board", "bcast:chain", "allgather:recursive_doubling"] {
            let selection = Selection::parse("TOWPATH_COLLECTIVE", text).unwrap();
            for (&(name, collective), (ranks, subscription)) in
                COLLECTIVES.iter().flat_map(|row| sizes().map(move |size| (row, size)))
            {
                let size = |bytes| Size::of(ranks, bytes).on_board(subscription);
                let limit = selection.limit_of_board(collective, size(0));
                for bytes in (0..34).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1]) {
                    let on_board = selection.choose(collective, size(bytes)) == Algorithm::Board;
                    assert_eq!(
                        on_board,
                        limit.is_some_and(|limit| bytes <= limit),
                        "{text} {name} {ranks} {bytes}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_rows_of_a_collective_follow_each_other() {
        let mut collectives: Vec<usize> = TABLE.iter().map(|row| row.collective as usize).collect();
        collectives.dedup();
        let mut sorted = collectives.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(collectives.len(), sorted.len());
        assert_eq!(sorted.len(), COLLECTIVES.len());
    }

    #[test]
    fn forcing_respects_hard_conditions_only() {
        let selection = Selection::parse(
            "TOWPATH_COLLECTIVE",
            "allgather:recursive_doubling, allreduce:hierarchical",
        )
        .unwrap();
        assert_eq!(
            selection.choose(Collective::Allgather, Size::of(8, i64::MAX)),
            Algorithm::RecursiveDoubling
        );
        assert_eq!(selection.choose(Collective::Allgather, Size::of(7, 1 << 30)), Algorithm::Ring);
        assert_eq!(
            selection.choose(Collective::Allreduce, Size::of(3, 1)),
            Algorithm::AllgatherFold
        );
    }

    #[test]
    fn multicast_is_chosen_where_it_pays_and_forced_where_it_can_be() {
        let (selection, forced) =
            (Selection::default(), Selection::forcing(Collective::Bcast, Algorithm::Multicast));
        let group = |bytes| Size::of(8, bytes).in_group(Pays(7_340, 40_000));
        for (bytes, pays) in
            [(0, false), (7_340, false), (7_341, true), (40_000, true), (40_001, false)]
        {
            assert_eq!(
                selection.choose(Collective::Bcast, group(bytes)) == Algorithm::Multicast,
                pays,
                "{bytes}"
            );
            assert_eq!(forced.choose(Collective::Bcast, group(bytes)), Algorithm::Multicast);
            assert_ne!(forced.choose(Collective::Bcast, Size::of(8, bytes)), Algorithm::Multicast);
        }
        assert_eq!(selection.choose(Collective::Barrier, group(10_000)), Algorithm::Dissemination);
        assert_ne!(selection.choose(Collective::Allreduce, group(10_000)), Algorithm::Multicast);
    }

    #[test]
    fn leaders_collect_blocks_as_long_as_that_pays_where_ranks_share_cores() {
        let selection = Selection::default();
        let longest = |collective, cores, hosts_share_cores| {
            let size = Size { levels: true, cores, hosts_share_cores, ..Size::of(64, 0) };
            let size = |bytes| Size { bytes, ..size.on_hosts(8) };
            let is_hierarchical =
                |bytes: &i64| selection.choose(collective, size(*bytes)) == Algorithm::Hierarchical;
            (0..20).map(|log| 1 << log).take_while(is_hierarchical).last()
        };
        for (collective, own, shared, across_hosts) in [
            (Collective::Gather, 64 << 10, 64 << 10, 8 << 10),
            (Collective::Scatter, 64 << 10, 16 << 10, 16 << 10),
            (Collective::Alltoall, 4 << 10, 8 << 10, 8 << 10),
        ] {
            assert_eq!(longest(collective, Subscription::Full, false), Some(own));
            assert_eq!(longest(collective, Subscription::Over, false), Some(shared));
            assert_eq!(longest(collective, Subscription::Over, true), Some(across_hosts));
        }
    }

    #[test]
    fn leaders_exchange_longer_blocks_where_a_host_is_a_leaf() {
        let chosen = |slow_links, bytes| {
            let size = Size { levels: true, slow_links, ..Size::of(64, bytes).on_hosts(8) };
            Selection::default().choose(Collective::Alltoall, size)
        };
        assert_eq!(chosen(true, 16 << 10), Algorithm::Hierarchical);
        assert_eq!(chosen(false, 16 << 10), Algorithm::Linear);
        assert_eq!(chosen(true, 17 << 10), Algorithm::Pairwise);
    }

    #[test]
    fn ranks_of_a_host_send_few_long_blocks_at_a_time() {
        let chosen = |levels, bytes| {
            let size = Size { levels, ..Size::of(64, bytes).on_hosts(8) };
            Selection::default().choose(Collective::Alltoall, size)
        };
        assert_eq!(chosen(true, 16 << 10), Algorithm::Linear);
        assert_eq!(chosen(true, 17 << 10), Algorithm::Pairwise);
        assert_eq!(chosen(false, 32 << 10), Algorithm::Linear);
    }

    #[test]
    fn few_hosts_that_share_cores_exchange_short_data_through_one() {
        let selection = Selection::default();
        let chosen = |collective, hosts_share_cores, ranks, hosts, bytes| {
            let size = Size { hosts_share_cores, ..Size::of(ranks, bytes).on_hosts(hosts) };
            selection.choose(collective, size)
        };
        for (collective, through_one, longest) in [
            (Collective::Barrier, Algorithm::Linear, ANY),
            (Collective::Allgather, Algorithm::GatherBcast, 8 << 10),
            (Collective::Alltoall, Algorithm::GatherScatter, 1 << 10),
            (Collective::ReduceScatter, Algorithm::ReduceThenScatter, 8 << 10),
        ] {
            let is_through_one = |shared, ranks, hosts, bytes| {
                chosen(collective, shared, ranks, hosts, bytes) == through_one
            };
            assert!(is_through_one(true, 16, 16, longest));
            assert!(longest == ANY || !is_through_one(true, 16, 16, longest + 1));
            assert!(!is_through_one(false, 16, 16, 0));
            assert!(!is_through_one(true, 17, 17, 0));
            assert!(!is_through_one(true, 4, 2, 0));
        }
        assert_eq!(chosen(Collective::Scan, true, 8, 8, 1 << 10), Algorithm::Chain);
        let rack = |host: usize| NetworkHost { groups: vec![host / 4], ..NetworkHost::default() };
        let uplinks = vec![NetworkHost::default().link; 2];
        let racks = HostNetwork { hosts: (0..8).map(rack).collect(), uplinks };
        for (placement, shared) in
            [(Placement::new(0..8), true), (Placement::new(0..8).on_network(&racks), false)]
        {
            let placement = Arc::new(placement.with_ranks_per_core(4).sharing_evenly(true));
            let peers = (0..8).map(PeerIndex).collect();
            let context = ContextId::new(1, 1);
            let size = Size::of_team(&Team { context, rank: 0, peers, placement }, 0);
            assert_eq!(size.hosts_share_cores, shared);
        }
    }

    #[test]
    fn wrong_names_are_sentences() {
        assert!(
            Selection::parse("TOWPATH_COLLECTIVE", "bcasts:ring")
                .unwrap_err()
                .contains("known are barrier, bcast")
        );
        assert!(Selection::parse("TOWPATH_COLLECTIVE", "bcast:ring").unwrap_err().contains(
            "known are binomial, board, chain, hierarchical, linear, multicast, scatter_allgather"
        ));
        assert!(Selection::parse("TOWPATH_COLLECTIVE", "").unwrap().forced.is_empty());
    }
}
