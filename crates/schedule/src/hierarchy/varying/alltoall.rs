//! MPI_ALLTOALLV and MPI_ALLTOALLW between hosts. Ranks send their records for all ranks to their
//! leader, host by host. The leaders send each other what is for the other host, and give each of
//! their ranks the records from all ranks, again host by host.

use std::rc::Rc;

use super::{LEAST, LONGEST, MOST};
use crate::Team;
use crate::alltoall::{Alltoall, PAIRS, Swap, swap};
use crate::buffers::{Blocks, Piece};
use crate::builder::Builder;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::records::{self, APART, PostedReceives, Record, Records};

/// Up to this many ranks send all that they send apart at once, and more only so many blocks.
const AT_ONCE: usize = 64;

/// The records of a team, all of which a leader holds twice: as they come, and as they go.
fn records_of(team: &Team) -> Records {
    let number = team.placement.most_members() * team.size();
    Records::up_to(LONGEST).within(MOST / 2, number)
}

/// True if a leader can hold records that are worth it. The same on all ranks.
pub(crate) fn is_worth_it(team: &Team) -> bool {
    records_of(team).hold(LEAST)
}

/// Builds the plan of a rank, see the module.
pub(crate) fn alltoall(builder: &mut Builder, arguments: &Alltoall) {
    let hierarchy = Rc::new(Hierarchy::new(&builder.team, None));
    let records = records_of(&builder.team);
    let rank = builder.rank();
    let Alltoall { send, receive } = arguments;
    let outgoing = send.as_ref().unwrap_or(receive);
    let order = hierarchy.by_host();
    let blocks = order.iter().map(|&to| match to == rank {
        true => outgoing.piece(to).none(),
        false => outgoing.piece(to),
    });
    let row: Vec<Record> = records.row(blocks.clone().map(|block| block.bytes()));
    let (message, _) = records.pack(builder, blocks);
    builder.phase();
    let posted = match send {
        Some(_) => {
            let from = |&from: &usize| match from == rank {
                true => (from, receive.piece(from).none()),
                false => (from, receive.piece(from)),
            };
            PostedReceives::new(builder, records, order.iter().map(from))
        }
        // A block arrives where another one is that must leave first.
        None => PostedReceives::default(),
    };
    if let Some(send) = send {
        builder.copy(send.piece(rank), receive.piece(rank));
        send_apart(builder, records, send);
    }
    let (in_place, blocks) = (send.is_none(), receive.clone());
    let end = Destination { records, in_place, row, order, blocks, posted };
    if hierarchy.leads() {
        return lead(builder, &hierarchy, message, end);
    }
    records::send(builder, hierarchy.leader(), message, &[]);
    let (memory, arrived) = records.receive(builder, hierarchy.leader(), builder.size());
    let receives = end.posted.receives.clone();
    builder.expand(&[arrived], &receives, move |builder, received| {
        let row = records.read(received[0], end.order.len());
        end.store(builder, row.into_iter().map(|record| (memory, record)));
    });
}

/// Sends the blocks that are too long for a record.
fn send_apart(builder: &mut Builder, records: Records, send: &Blocks) {
    let (rank, size) = (builder.rank(), builder.size());
    let window = if size <= AT_ONCE { size } else { PAIRS };
    let mut sent = Vec::new();
    for to in (1..size).map(|step| (rank + step) % size) {
        if !records.hold(send.bytes(to)) {
            let mark = builder.send(to, APART, send.piece(to));
            if let Some(earlier) = sent.len().checked_sub(window) {
                builder.after(mark, sent[earlier]);
            }
            sent.push(mark);
        }
    }
}

/// Where the blocks of a rank go.
struct Destination {
    records: Records,
    in_place: bool,
    /// The records that this rank has sent, by their destination: host by host.
    row: Vec<Record>,
    /// All ranks, host by host.
    order: Vec<usize>,
    blocks: Blocks,
    /// The receives of long blocks, in the order of the ranks.
    posted: PostedReceives,
}

impl Destination {
    /// Stores the blocks of the records from all ranks, host by host, each in the message at this
    /// address, and exchanges those that are sent apart.
    fn store(&self, builder: &mut Builder, row: impl Iterator<Item = (*mut u8, Record)>) {
        let rank = builder.rank();
        let mut swaps = vec![Swap::default(); self.order.len()];
        for ((index, &from), (message, record)) in self.order.iter().enumerate().zip(row) {
            if from == rank {
                continue;
            }
            if self.in_place && (record.is_apart || self.row[index].is_apart) {
                swaps[from] = Swap { sends: self.row[index].is_apart, receives: record.is_apart };
                if record.is_apart {
                    continue;
                }
            }
            let block = self.blocks.piece(from);
            self.posted.store(builder, index, (message, record), (from, block));
        }
        if self.in_place {
            swap(builder, &self.blocks, APART, &swaps);
        }
    }
}

/// What a leader has in memory.
struct Staging {
    memory: *mut u8,
    /// The messages from the ranks of its host, and from the leaders of all hosts: their first
    /// bytes.
    members: Vec<i64>,
    hosts: Vec<i64>,
}

/// The plan of a leader, whose own records are `message`.
fn lead(builder: &mut Builder, hierarchy: &Rc<Hierarchy>, message: Piece, end: Destination) {
    let (records, size, own) = (end.records, builder.size(), hierarchy.leader_on_host());
    let number = hierarchy.own_members().len();
    let mut next = 0;
    let mut place = |count: usize| {
        let first = next;
        next += records.room(count);
        first
    };
    let members: Vec<i64> = (0..number).map(|_| place(size)).collect();
    let hosts = (0..hierarchy.hosts()).map(|host| match host == hierarchy.host {
        true => 0,
        false => place(hierarchy.members(host).len() * number),
    });
    let hosts: Vec<i64> = hosts.collect();
    let staging = Rc::new(Staging { memory: builder.bytes(next), members, hosts });
    let slot = |first: i64, count: usize| Piece::range(staging.memory, first, records.room(count));

    let length = message.bytes();
    let copied = builder.copy(message, Piece::range(staging.memory, staging.members[own], length));
    let mut arrived = Vec::new();
    for (index, &peer) in hierarchy.own_members().iter().enumerate() {
        if index != own {
            arrived.push(records::receive_in(builder, peer, slot(staging.members[index], size)));
        }
    }
    let mut from_hosts = Vec::new();
    for host in (0..hierarchy.hosts()).filter(|&host| host != hierarchy.host) {
        let room = slot(staging.hosts[host], hierarchy.members(host).len() * number);
        from_hosts.push(records::receive_in(builder, hierarchy.leaders[host], room));
    }
    let end = Rc::new(end);
    let (on_host, sender, reader) = (hierarchy.clone(), staging.clone(), end.clone());
    let sent = builder.expand(&arrived, &[], move |builder, received| {
        let rows = rows_of(&reader, own, received);
        send_to_hosts(builder, &on_host, &sender, &rows);
    });
    builder.after(sent, copied);
    arrived.extend(from_hosts);
    let (hierarchy, staging) = (hierarchy.clone(), staging.clone());
    let receives = end.posted.receives.clone();
    let passed = builder.expand(&arrived, &receives, move |builder, received| {
        let (members, hosts) = received.split_at(number - 1);
        let rows = rows_of(&end, own, members);
        pass_on(builder, &hierarchy, &staging, (&rows, hosts), &end);
    });
    builder.after(passed, copied);
}

/// The records of the ranks of a host, of which `own` is the leader.
fn rows_of(end: &Destination, own: usize, received: &[&[u8]]) -> Vec<Vec<Record>> {
    let mut rows: Vec<Vec<Record>> =
        received.iter().map(|message| end.records.read(message, end.order.len())).collect();
    rows.insert(own, end.row.clone());
    rows
}

/// Sends the leader of each other host the records for its ranks.
fn send_to_hosts(
    builder: &mut Builder,
    hierarchy: &Hierarchy,
    staging: &Staging,
    rows: &[Vec<Record>],
) {
    let mut first = 0;
    for host in 0..hierarchy.hosts() {
        let end = first + hierarchy.members(host).len();
        if host != hierarchy.host {
            let range = |(row, message): (&Vec<Record>, &i64)| {
                let begin = row[first].first;
                (message + begin, row[end - 1].first + row[end - 1].length() - begin)
            };
            let ranges: Vec<(i64, i64)> = rows.iter().zip(&staging.members).map(range).collect();
            let piece = records::joined(builder, staging.memory, &ranges);
            records::send(builder, hierarchy.leaders[host], piece, &[]);
        }
        first = end;
    }
}

/// Gives each rank of the host the records for it.
fn pass_on(
    builder: &mut Builder,
    hierarchy: &Hierarchy,
    staging: &Staging,
    (rows, messages): (&[Vec<Record>], &[&[u8]]),
    end: &Destination,
) {
    let members = hierarchy.own_members();
    // For each rank of this host, the records from all ranks, and where in memory their messages
    // begin.
    let mut columns = vec![Vec::with_capacity(end.order.len()); members.len()];
    let (mut messages, mut first) = (messages.iter(), 0);
    for host in 0..hierarchy.hosts() {
        let others = hierarchy.members(host).len();
        if host == hierarchy.host {
            for (row, &message) in rows.iter().zip(&staging.members) {
                let records = row[first..].iter().map(|&record| (message, record));
                columns.iter_mut().zip(records).for_each(|(column, record)| column.push(record));
            }
        } else if let Some(message) = messages.next() {
            let records = end.records.read(message, others * members.len());
            for row in records.chunks(members.len()) {
                let records = row.iter().map(|&record| (staging.hosts[host], record));
                columns.iter_mut().zip(records).for_each(|(column, record)| column.push(record));
            }
        }
        first += others;
    }
    for (column, &rank) in columns.into_iter().zip(members) {
        if rank == builder.rank() {
            let at = |(message, record): (i64, Record)| {
                (staging.memory.wrapping_offset(message as isize), record)
            };
            end.store(builder, column.into_iter().map(at));
        } else {
            let range =
                |(message, record): (i64, Record)| (message + record.first, record.length());
            let ranges: Vec<(i64, i64)> = column.into_iter().map(range).collect();
            let piece = records::joined(builder, staging.memory, &ranges);
            records::send(builder, rank, piece, &[]);
        }
    }
}
