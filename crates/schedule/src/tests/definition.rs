//! What a collective is, by MPI 5.0, chapter 6: what memory contains before the call, and what it
//! must contain after it. Nothing here knows how a schedule gets there.

use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_datatype::{Basic, Datatype, Form};

use super::content::{Origin, Run, append};
use super::steps::Place;
use crate::allgather::Allgather;
use crate::alltoall::Alltoall;
use crate::gather::Gather;
use crate::hierarchy::phases;
use crate::operand::Operand;
use crate::plan::Plan;
use crate::scatter::Scatter;
use crate::{Blocks, Buffer, Call, Element, Operation, Placement, Reducer, Selection, Team};

/// The operations, in all forms with a schedule of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatterBlock,
    ReduceScatter,
    Scan,
    Exscan,
}

/// The elements of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One byte.
    Bytes,
    /// Eight bytes.
    Words,
    /// Two words with a gap before each.
    Gaps,
}

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Predefined,
    User,
    NonCommutative,
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) what: What,
    pub(super) root: usize,
    /// Elements of a vector or block; a varying block has up to twice as many.
    pub(super) count: i64,
    pub(super) shape: Shape,
    pub(super) op: Op,
    pub(super) in_place: bool,
    /// The call goes in phases, if its schedule can.
    pub(super) in_phases: bool,
    pub(super) selection: Selection,
    pub(super) placement: Arc<Placement>,
    pub(super) peers: Arc<[PeerIndex]>,
    /// Accesses are compared on every so many ranks.
    pub(super) order_of_every: usize,
}

/// What bytes are.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Bytes of the ranks' own data.
    Data(Vec<Run>),
    /// The fold of the vectors of the first `ranks` ranks, from the byte `offset` on.
    Fold { ranks: usize, offset: i64 },
}

/// What some memory contains in the end.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) place: Place,
    pub(super) content: Content,
    /// The call does not write there.
    pub(super) is_kept: bool,
}

/// The part of one rank.
#[derive(Debug)]
pub(super) struct Duty {
    pub(super) operation: Operation,
    pub(super) inputs: Vec<(Place, Content)>,
    pub(super) outputs: Vec<Output>,
}

const SEND: usize = 1 << 40;
const RECEIVE: usize = 2 << 40;

/// An address that nothing reads: only symbols move.
fn address(address: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(address)
}

/// Bytes of the data of `rank`, from `offset` on.
fn data(rank: usize, offset: i64, length: i64) -> Content {
    let run = Run::of(Origin { fold: rank as i64, offset }, length);
    Content::Data(if length > 0 { vec![run] } else { Vec::new() })
}

/// The first element of each block, if blocks of these lengths lie in a row, and the end.
fn starts_of(lengths: &[i64]) -> Vec<i64> {
    let mut starts = vec![0];
    lengths.iter().for_each(|length| starts.push(starts[starts.len() - 1] + length));
    starts
}

impl Case {
    pub(super) fn size(&self) -> usize {
        self.peers.len()
    }

    pub(super) fn is_barrier(&self) -> bool {
        self.what == What::Barrier
    }

    pub(super) fn commutes(&self) -> bool {
        self.op != Op::NonCommutative
    }

    pub(super) fn checks_order(&self, rank: usize) -> bool {
        rank.is_multiple_of(self.order_of_every) || rank == self.root
    }

    /// True if all ranks must get the same bits.
    pub(super) fn is_same_everywhere(&self) -> bool {
        let what = self.what;
        matches!(
            what,
            What::Reduce | What::Allreduce | What::ReduceScatterBlock | What::ReduceScatter
        )
    }

    /// The ranks that are folded first, each time, and whose results are folded then, if that is
    /// documented: those of a host, as far as the order of the ranks allows it.
    pub(super) fn association(&self) -> Option<Vec<Vec<usize>>> {
        let placement = &self.placement;
        if self.selection != Selection::default() {
            return None;
        }
        if !self.commutes() && !placement.is_consecutive() {
            return Some(vec![(0..self.size()).collect()]);
        }
        Some((0..placement.hosts()).map(|host| placement.members(host).to_vec()).collect())
    }

    pub(super) fn element(&self) -> Element {
        match self.shape {
            Shape::Bytes => Element::dense(1),
            Shape::Words => Element::dense(8),
            Shape::Gaps => {
                let word = Datatype::named(Basic::Int64);
                let words = Datatype::hindexed_block(1, &[8, 24], &word, Form::Large);
                let words = words.expect("the places are small");
                let words = Datatype::resized(0, 40, &words, Form::Large);
                Element::of(&words.expect("the extent is small"))
            }
        }
    }

    fn team(&self, rank: usize) -> Team {
        let context = ContextId::new(1, 1).on(Plane::Collective);
        Team { context, rank, peers: self.peers.clone(), placement: self.placement.clone() }
    }

    /// The schedule of a rank.
    pub(super) fn plan(&self, rank: usize, operation: &Operation) -> Plan {
        let call = Call { team: &self.team(rank), selection: &self.selection };
        let plan = match self.in_phases {
            true => phases::plan_of(&call, operation),
            false => operation.plan(&call),
        };
        plan.expect("the arguments are small")
    }

    /// Elements that `from` has for `to`, where lengths vary. The same both ways.
    fn length(&self, from: usize, to: usize) -> i64 {
        let count = self.count;
        [count, 0, 2 * count, 1, count / 2][(from + to + from * to) % 5]
    }

    /// The elements of the blocks of a buffer, of which `rank` is one partner.
    fn lengths(&self, rank: usize) -> Vec<i64> {
        let varies = matches!(
            self.what,
            What::Gatherv
                | What::Scatterv
                | What::Allgatherv
                | What::Alltoallv
                | What::Alltoallw
                | What::ReduceScatter
        );
        let length = |other| if varies { self.length(rank, other) } else { self.count };
        (0..self.size()).map(length).collect()
    }

    /// Blocks at an address. Where lengths vary, the last one comes first, with an element between
    /// each two.
    fn blocks(&self, at: usize, lengths: &[i64]) -> Blocks {
        let (pointer, element) = (address(at), self.element());
        let (size, extent) = (lengths.len(), element.extent());
        let mut displacements: Box<[i64]> = vec![0; size].into();
        let mut next = 0;
        for rank in (0..size).rev() {
            displacements[rank] = next;
            next += lengths[rank] + 1;
        }
        match self.what {
            What::Alltoallw => Blocks::Mixed {
                pointer,
                counts: lengths.into(),
                displacements: displacements.iter().map(|place| place * extent).collect(),
                elements: vec![element; size].into(),
            },
            What::Gatherv | What::Scatterv | What::Allgatherv | What::Alltoallv => {
                Blocks::Varying { pointer, counts: lengths.into(), displacements, element }
            }
            _ => Blocks::Equal { pointer, count: self.count, element },
        }
    }

    fn buffer(&self, at: usize, count: i64) -> Buffer {
        Buffer { pointer: address(at), count, element: self.element() }
    }

    pub(super) fn duty(&self, rank: usize) -> Duty {
        match self.what {
            What::Barrier => {
                Duty { operation: Operation::Barrier, inputs: Vec::new(), outputs: Vec::new() }
            }
            What::Bcast => self.bcast(rank),
            What::Gather | What::Gatherv => self.gather(rank),
            What::Scatter | What::Scatterv => self.scatter(rank),
            What::Allgather | What::Allgatherv => self.allgather(rank),
            What::Alltoall | What::Alltoallv | What::Alltoallw => self.alltoall(rank),
            _ => self.reduction(rank),
        }
    }

    fn bcast(&self, rank: usize) -> Duty {
        let buffer = self.buffer(SEND, self.count);
        let (place, content) = (Place::of(&buffer.piece()), data(self.root, 0, buffer.bytes()));
        let is_kept = rank == self.root;
        let inputs = if is_kept { vec![(place.clone(), content.clone())] } else { Vec::new() };
        Duty {
            operation: Operation::Bcast { root: self.root, data: buffer },
            inputs,
            outputs: vec![Output { place, content, is_kept }],
        }
    }

    fn gather(&self, rank: usize) -> Duty {
        let lengths = self.lengths(self.root);
        let own = self.buffer(SEND, lengths[rank]);
        let is_root = rank == self.root;
        let in_place = is_root && self.in_place;
        let receive = is_root.then(|| self.blocks(RECEIVE, &lengths));
        let content = data(rank, 0, own.bytes());
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        if let Some(blocks) = &receive {
            outputs = (0..self.size())
                .map(|from| {
                    let piece = blocks.piece(from);
                    let (place, content) = (Place::of(&piece), data(from, 0, piece.bytes()));
                    Output { place, content, is_kept: false }
                })
                .collect();
        }
        match &receive {
            Some(blocks) if in_place => inputs.push((Place::of(&blocks.piece(rank)), content)),
            _ => inputs.push((Place::of(&own.piece()), content)),
        }
        let send = (!in_place).then_some(own);
        let arguments = Gather { root: self.root, send, receive };
        let operation = match self.what {
            What::Gather => Operation::Gather(arguments),
            _ => Operation::Gatherv(arguments),
        };
        Duty { operation, inputs, outputs }
    }

    fn scatter(&self, rank: usize) -> Duty {
        let lengths = self.lengths(self.root);
        let starts = starts_of(&lengths);
        let (is_root, size) = (rank == self.root, self.element().size);
        let in_place = is_root && self.in_place;
        let own = self.buffer(RECEIVE, lengths[rank]);
        let send = is_root.then(|| self.blocks(SEND, &lengths));
        let block = |index: usize| data(self.root, starts[index] * size, lengths[index] * size);
        let inputs = match &send {
            Some(blocks) => {
                (0..self.size()).map(|to| (Place::of(&blocks.piece(to)), block(to))).collect()
            }
            None => Vec::new(),
        };
        let place = match &send {
            Some(blocks) if in_place => Place::of(&blocks.piece(rank)),
            _ => Place::of(&own.piece()),
        };
        let outputs = vec![Output { place, content: block(rank), is_kept: in_place }];
        let arguments = Scatter { root: self.root, send, receive: (!in_place).then_some(own) };
        let operation = match self.what {
            What::Scatter => Operation::Scatter(arguments),
            _ => Operation::Scatterv(arguments),
        };
        Duty { operation, inputs, outputs }
    }

    fn allgather(&self, rank: usize) -> Duty {
        let lengths = self.lengths(0);
        let receive = self.blocks(RECEIVE, &lengths);
        let own = self.buffer(SEND, lengths[rank]);
        let content = data(rank, 0, own.bytes());
        let place = match self.in_place {
            true => Place::of(&receive.piece(rank)),
            false => Place::of(&own.piece()),
        };
        let send = (!self.in_place).then_some(own);
        let outputs = match &receive {
            // One output in the place of ten thousand.
            Blocks::Equal { .. } => {
                let mut all = Vec::new();
                for from in 0..self.size() {
                    let Content::Data(runs) = data(from, 0, receive.bytes(from)) else { continue };
                    runs.into_iter().for_each(|run| append(&mut all, run));
                }
                let place = Place::of(&receive.pieces(0, self.size()));
                vec![Output { place, content: Content::Data(all), is_kept: false }]
            }
            _ => (0..self.size())
                .map(|from| {
                    let piece = receive.piece(from);
                    let content = data(from, 0, piece.bytes());
                    Output { place: Place::of(&piece), content, is_kept: false }
                })
                .collect(),
        };
        let operation = Operation::Allgather(Allgather { send, receive });
        Duty { operation, inputs: vec![(place, content)], outputs }
    }

    fn alltoall(&self, rank: usize) -> Duty {
        let lengths = self.lengths(rank);
        let receive = self.blocks(RECEIVE, &lengths);
        let send = (!self.in_place).then(|| self.blocks(SEND, &lengths));
        let given = send.as_ref().unwrap_or(&receive);
        let size = self.element().size;
        let starts = starts_of(&lengths);
        let input = |to: usize| {
            let content = data(rank, starts[to] * size, lengths[to] * size);
            (Place::of(&given.piece(to)), content)
        };
        let inputs = (0..self.size()).map(input).collect();
        let output = |from: usize| {
            // Where the block for this rank begins in the data of the sender.
            let before: i64 = match self.what {
                What::Alltoall => self.count * rank as i64,
                _ => (0..rank).map(|other| self.length(from, other)).sum(),
            };
            let piece = receive.piece(from);
            let content = data(from, before * size, piece.bytes());
            Output { place: Place::of(&piece), content, is_kept: false }
        };
        let outputs = (0..self.size()).map(output).collect();
        Duty { operation: Operation::Alltoall(Alltoall { send, receive }), inputs, outputs }
    }

    fn reducer(&self) -> Reducer {
        match self.op {
            Op::Predefined => Reducer::predefined(|_: *const u8, _: *mut u8, _: usize| ()),
            op => {
                let nothing = |_: *const u8, _: *mut u8, _: i64| ();
                Reducer::user(Arc::new(nothing), op == Op::User)
            }
        }
    }

    fn reduction(&self, rank: usize) -> Duty {
        let (root, element) = (self.root, self.element());
        let counts = self.lengths(0);
        let (starts, size) = (starts_of(&counts), self.size());
        let is_scattered = matches!(self.what, What::ReduceScatter | What::ReduceScatterBlock);
        let count = if is_scattered { starts[size] } else { self.count };
        let in_place = self.in_place && (self.what != What::Reduce || rank == root);
        let send = (!in_place).then(|| address(SEND));
        let receive = address(RECEIVE);
        let vector = Place::of_elements(&element, send.unwrap_or(receive), count);
        let content = data(rank, 0, vector.bytes());
        let operand = Operand { send, count, element: element.clone(), reducer: self.reducer() };
        // The elements of the result, and the ranks of which it is the fold.
        let (first, number, ranks) = match self.what {
            What::Reduce if rank != root => (0, 0, size),
            What::Scan => (0, count, rank + 1),
            What::Exscan => (0, if rank > 0 { count } else { 0 }, rank),
            _ if is_scattered => (starts[rank], counts[rank], size),
            _ => (0, count, size),
        };
        let place = Place::of_elements(&element, receive, number);
        let content_of_result = Content::Fold { ranks, offset: first * element.size };
        let outputs = vec![Output { place, content: content_of_result, is_kept: false }];
        let operation = match self.what {
            What::Reduce => Operation::Reduce { root, operand, receive },
            What::Allreduce => Operation::Allreduce { operand, receive },
            What::Scan | What::Exscan => {
                Operation::Scan { operand, receive, exclusive: self.what == What::Exscan }
            }
            _ => Operation::ReduceScatter { operand, counts, receive },
        };
        Duty { operation, inputs: vec![(vector, content)], outputs }
    }
}
