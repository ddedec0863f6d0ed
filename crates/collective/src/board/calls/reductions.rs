//! Reductions on a board: reduce, allreduce, reduce-scatter, scan.
//!
//! Every rank posts its vector. Each rank that needs a result folds the vectors from the lowest
//! rank up, so a call always associates as `((v0 op v1) op v2) ...`, whichever rank computes it and
//! whatever the chunk size; a plan of messages gives the same bits (`towpath_schedule::fold`).

use std::mem::MaybeUninit;
use std::ops::Range;

use towpath_base::copy;
use towpath_engine::board::Posted;
use towpath_schedule::operand::{Operand, even_parts};
use towpath_schedule::select::Subscription;

use super::both_forms;
use super::call::{BoardCall, Stopped, others};
use crate::memory::reduce_elements;

/// Limit on the total size of all vectors in bytes, up to which every rank of an allreduce computes
/// the whole result itself.
const EVERYBODY: usize = 16 << 10;
/// Bytes of each vector that are folded at a time: many enough to stream from another core's cache,
/// and few enough that the result is still in a near cache when the next vector is folded in.
const PIECE: usize = 32 << 10;
/// Like [`PIECE`], when this rank's vector has to be saved on the stack first.
const SAVED: usize = 2 << 10;

/// How many of `count` elements fit into `bytes` bytes. Avoids the division if all fit, as in the
/// frequent short calls.
fn most_elements(operand: &Operand, count: i64, bytes: usize) -> i64 {
    let size = operand.element.size.max(1);
    if count.saturating_mul(size) <= bytes as i64 { count } else { bytes as i64 / size }
}

/// The elements of each round of at most `chunk` bytes; at least one round, even if empty.
fn rounds_of(operand: &Operand, chunk: usize) -> impl Iterator<Item = Range<i64>> + use<> {
    let count = operand.count.max(0);
    let most = most_elements(operand, count, chunk).max(1);
    (0..count.max(1)).step_by(most as usize).map(move |first| first..count.min(first + most))
}

#[both_forms]
impl BoardCall<'_> {
    /// Posts elements `range` of `vector`.
    ///
    /// # Safety
    /// `vector` must be readable for these elements.
    async unsafe fn post_elements(
        &mut self,
        operand: &Operand,
        vector: *const u8,
        range: &Range<i64>,
    ) -> Result<(), Stopped> {
        let size = operand.element.size;
        let (first, length) =
            ((range.start * size) as usize, ((range.end - range.start) * size) as usize);
        // SAFETY: `vector` is readable for these elements (this function's contract).
        self.post(length, |mut room, _| unsafe { room.copy(vector.add(first), 0, length) }).await
    }

    /// Folds `count` elements of the vectors of `members` into `into`, piece by piece, so that the
    /// partial result stays in a near cache. The vectors of other members are read from what they
    /// posted in this round, starting at element `first`; this rank's elements are at `own`.
    ///
    /// # Safety
    /// `own` must be readable and `into` writable for `count` elements.
    async unsafe fn fold(
        &mut self,
        operand: &Operand,
        members: Range<usize>,
        (first, count): (i64, i64),
        own: *const u8,
        into: *mut u8,
    ) -> Result<(), Stopped> {
        let size = operand.element.size;
        let bytes = (count * size) as usize;
        let overlaps = own.addr() < into.addr() + bytes && into.addr() < own.addr() + bytes;
        // In place, `into` overlaps this rank's vector, and the fold starts by writing the first
        // member's vector there. If this rank is the first member, that is only a move of its own
        // vector; otherwise the vector must be saved.
        let rank = self.board.own();
        let saves = overlaps && members.contains(&rank) && rank != members.start;
        let most = most_elements(operand, count, if saves { SAVED } else { PIECE });
        assert!(most > 0 || count == 0, "elements of predefined operations are short");
        let mut done = 0;
        if saves {
            // So that the saved vector, which is large, need not outlive a suspension.
            for member in members.clone().filter(|&member| member != rank) {
                self.expect(member).await?;
            }
        }
        // An empty round has one piece too: reading the posted lines keeps all ranks in step.
        loop {
            let step = most.min(count - done);
            let at = (done * size) as usize;
            let piece = (first + done, step);
            // SAFETY: the piece is part of the `count` elements for which `own` is readable and
            // `into` writable (this function's contract).
            unsafe {
                let (own, into) = (own.add(at), into.add(at));
                match saves {
                    true => self.fold_saved(operand, members.clone(), piece, own, into),
                    false => self.fold_piece(operand, members.clone(), piece, own, into).await?,
                }
            }
            done += step;
            if done >= count {
                break;
            }
        }
        Ok(())
    }

    /// Like [`BoardCall::fold_piece`], when the result would overwrite this rank's vector. All
    /// members have posted theirs.
    ///
    /// # Safety
    /// Same as for [`BoardCall::fold`], for the elements of `piece`, which must fit [`SAVED`]
    /// bytes.
    #[inline(never)]
    unsafe fn fold_saved(
        &mut self,
        operand: &Operand,
        members: Range<usize>,
        piece: (i64, i64),
        own: *const u8,
        into: *mut u8,
    ) {
        let bytes = (piece.1 * operand.element.size) as usize;
        let mut saved = MaybeUninit::<[u8; SAVED]>::uninit();
        let lowest = members.start;
        // SAFETY: `own` is readable for `bytes` bytes, which fit `saved`, and `into` is writable
        // for as many (this function's contract); the saved elements do not overlap it.
        unsafe {
            saved.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(own, bytes);
            for member in members {
                let posted = match member == self.board.own() {
                    true => None,
                    false => Some(self.board.look(member).expect("all members have posted")),
                };
                self.fold_in(operand, (member, lowest), posted, piece, saved.as_ptr().cast(), into);
            }
        }
    }

    /// Folds one piece of the vectors of `members` into `into`.
    ///
    /// # Safety
    /// `own` must be readable and `into` writable for the elements of the piece. They may overlap
    /// only if this rank is the first of `members`.
    async unsafe fn fold_piece(
        &mut self,
        operand: &Operand,
        members: Range<usize>,
        piece: (i64, i64),
        own: *const u8,
        into: *mut u8,
    ) -> Result<(), Stopped> {
        let lowest = members.start;
        for member in members {
            let posted = match member == self.board.own() {
                true => None,
                false => Some(self.expect(member).await?),
            };
            // SAFETY: as this function's contract says.
            unsafe { self.fold_in(operand, (member, lowest), posted, piece, own, into) };
        }
        Ok(())
    }

    /// Folds one piece of the vector of a member into `into`: of what it has posted, or, for this
    /// rank, of the elements at `own`. `lowest` is the first member of the fold.
    ///
    /// # Safety
    /// Same as for [`BoardCall::fold_piece`].
    #[inline]
    unsafe fn fold_in(
        &mut self,
        operand: &Operand,
        (member, lowest): (usize, usize),
        posted: Option<Posted>,
        (first, count): (i64, i64),
        own: *const u8,
        into: *mut u8,
    ) {
        let size = operand.element.size;
        let (first, bytes) = ((first * size) as usize, (count * size) as usize);
        let vector = match posted {
            None => own,
            Some(posted) if posted.length < first + bytes => {
                self.truncated = true;
                return;
            }
            // SAFETY: `first` is within the message, as just checked.
            Some(posted) => unsafe { posted.pointer.as_ptr().add(first) },
        };
        // SAFETY: `vector` is readable and `into` writable for `count` elements. `into` never
        // overlaps a posted message, and overlaps `own` only if this rank is the first member,
        // whose vector is moved by `ptr::copy`.
        unsafe {
            if member != lowest {
                // The operation commutes, as all predefined ones do.
                reduce_elements(&operand.reducer, vector, into, count);
            } else if posted.is_none() {
                std::ptr::copy(vector, into, bytes);
            } else {
                copy::contiguous(vector, into, bytes);
            }
        }
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn reduce(
        &mut self,
        root: usize,
        operand: &Operand,
        receive: *mut u8,
    ) -> Result<(), Stopped> {
        let size = self.board.size();
        let vector = operand.send.unwrap_or(receive);
        for range in rounds_of(operand, self.chunk()) {
            // SAFETY: the vector, and at the root the result, have the elements of all rounds.
            unsafe {
                if self.board.own() == root {
                    let (own, into) = (
                        operand.element.at(vector, range.start),
                        operand.element.at(receive, range.start),
                    );
                    self.fold(operand, 0..size, (0, range.end - range.start), own, into).await?;
                } else {
                    self.post_elements(operand, vector, &range).await?;
                }
            }
            self.board.finish();
        }
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn allreduce(
        &mut self,
        operand: &Operand,
        receive: *mut u8,
    ) -> Result<(), Stopped> {
        let size = self.board.size();
        let vector = operand.send.unwrap_or(receive);
        // With two ranks, each reads the same number of bytes either way.
        let everybody =
            size == 2 || operand.bytes().saturating_mul(size as i64) <= EVERYBODY as i64;
        for range in rounds_of(operand, self.chunk_of_all()) {
            let count = range.end - range.start;
            // SAFETY: vector and result have the elements of all rounds.
            unsafe {
                let (own, into) = (
                    operand.element.at(vector, range.start),
                    operand.element.at(receive, range.start),
                );
                if everybody {
                    self.post_elements(operand, vector, &range).await?;
                    self.expect_all().await?;
                    self.fold(operand, 0..size, (0, count), own, into).await?;
                    self.board.finish();
                } else if self.subscription == Subscription::Over {
                    self.post_elements(operand, vector, &range).await?;
                    self.let_one_fold(operand, count, own, into).await?;
                } else {
                    self.fold_in_stripes(operand, count, own, into).await?;
                }
            }
        }
        Ok(())
    }

    /// The first rank to see that all vectors have been posted computes the result, which avoids a
    /// further context switch.
    ///
    /// # Safety
    /// `own` must be readable and `into` writable for `count` elements.
    async unsafe fn let_one_fold(
        &mut self,
        operand: &Operand,
        count: i64,
        own: *const u8,
        into: *mut u8,
    ) -> Result<(), Stopped> {
        self.expect_all().await?;
        for member in others(self.board) {
            self.expect(member).await?;
        }
        if self.board.claim() {
            // SAFETY: `own` and `into` have `count` elements.
            unsafe {
                self.fold(operand, 0..self.board.size(), (0, count), own, into).await?;
                self.board.finish();
                self.post_elements(operand, into, &(0..count)).await?;
            }
        } else {
            let claimant =
                self.board.claimant().expect("a claim is refused when another member has it");
            self.board.finish();
            let posted = self.expect(claimant).await?;
            let bytes = (count * operand.element.size) as usize;
            // SAFETY: the length is limited to that of the message, and `into` has room for all
            // elements.
            unsafe { copy::contiguous(posted.pointer.as_ptr(), into, bytes.min(posted.length)) };
        }
        self.board.finish();
        Ok(())
    }

    /// Every rank computes its part of the result and reads the parts of the others.
    ///
    /// # Safety
    /// `vector` must be readable and `into` writable for `count` elements.
    async unsafe fn fold_in_stripes(
        &mut self,
        operand: &Operand,
        count: i64,
        vector: *const u8,
        into: *mut u8,
    ) -> Result<(), Stopped> {
        let (own, size) = (self.board.own(), self.board.size());
        let starts = even_parts(count, size);
        let part = |member: usize| starts[member]..starts[member + 1];
        let place = |member: usize| operand.element.at(into, starts[member]);
        // SAFETY: `vector` and `into` have `count` elements, which the parts divide.
        unsafe {
            self.post_elements(operand, vector, &(0..count)).await?;
            if !part(own).is_empty() {
                let mine = operand.element.at(vector.cast_mut(), starts[own]);
                self.fold(
                    operand,
                    0..size,
                    (starts[own], starts[own + 1] - starts[own]),
                    mine,
                    place(own),
                )
                .await?;
            }
            // The vectors of this round can be read until every rank has finished it. Writing
            // `into` does not disturb that, since nothing on the board refers to it.
            self.board.finish();
            self.post_elements(operand, into, &part(own)).await?;
        }
        for member in others(self.board) {
            let posted = self.expect(member).await?;
            let range = part(member);
            let bytes = ((range.end - range.start) * operand.element.size) as usize;
            // SAFETY: the length is limited to that of the message, and `into` has room for the
            // part.
            unsafe {
                copy::contiguous(posted.pointer.as_ptr(), place(member), bytes.min(posted.length))
            };
        }
        self.board.finish();
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn reduce_scatter(
        &mut self,
        operand: &Operand,
        counts: &[i64],
        receive: *mut u8,
    ) -> Result<(), Stopped> {
        let (own, size) = (self.board.own(), self.board.size());
        let vector = operand.send.unwrap_or(receive);
        let first = counts[..own].iter().fold(0i64, |sum, &count| sum.saturating_add(count));
        let mine = first..first.saturating_add(counts[own]);
        for range in rounds_of(operand, self.chunk_of_all()) {
            let (begin, end) = (mine.start.max(range.start), mine.end.min(range.end));
            // SAFETY: the vector has the elements of all blocks, the result those of this rank's
            // block. In place, the result goes to a lower address than this rank's block (by
            // `first` elements), where elements have been posted or folded already.
            unsafe {
                self.post_elements(operand, vector, &range).await?;
                if begin < end {
                    self.expect_all().await?;
                    let part = (begin - range.start, end - begin);
                    let (mine, into) = (
                        operand.element.at(vector, begin),
                        operand.element.at(receive, begin - first),
                    );
                    self.fold(operand, 0..size, part, mine, into).await?;
                }
            }
            self.board.finish();
        }
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn scan(
        &mut self,
        operand: &Operand,
        receive: *mut u8,
        exclusive: bool,
    ) -> Result<(), Stopped> {
        let end = self.board.own() + usize::from(!exclusive);
        let vector = operand.send.unwrap_or(receive);
        for range in rounds_of(operand, self.chunk()) {
            // SAFETY: vector and result have the elements of all rounds.
            unsafe {
                self.post_elements(operand, vector, &range).await?;
                if end > 0 {
                    let all = (0, range.end - range.start);
                    let (mine, into) = (
                        operand.element.at(vector, range.start),
                        operand.element.at(receive, range.start),
                    );
                    self.fold(operand, 0..end, all, mine, into).await?;
                }
            }
            self.board.finish();
        }
        Ok(())
    }
}
