//! Data movement on a board: barrier, broadcast, gather, scatter, allgather, alltoall.
//!
//! Where only the root knows all lengths, a block that is too long for its message is sent apart
//! ([`Records`]).

use towpath_engine::board::Posted;
use towpath_schedule::allgather::Allgather;
use towpath_schedule::alltoall::Alltoall;
use towpath_schedule::buffers::Piece;
use towpath_schedule::gather::Gather;
use towpath_schedule::scatter::Scatter;
use towpath_schedule::{Blocks, Buffer};

use super::super::records::Records;
use super::both_forms;
use super::call::{BoardCall, Cursors, Stopped, others};
use super::direct::LONG;
use crate::memory;

/// The number of rounds for `bytes` bytes, and the bytes of each. Zero bytes still make one round,
/// so that a rank that expects none stays in step with ranks that expect some.
fn rounds(bytes: i64, chunk: usize) -> (usize, impl Iterator<Item = usize>) {
    rounds_of_longest(bytes, bytes, chunk)
}

/// The number of rounds in which the longest message has `longest` bytes, and the bytes that each
/// takes of a message of `bytes` bytes.
fn rounds_of_longest(
    longest: i64,
    bytes: i64,
    chunk: usize,
) -> (usize, impl Iterator<Item = usize>) {
    let [longest, bytes] = [longest, bytes].map(|bytes| bytes.max(0) as usize);
    // Avoid the division in the frequent short calls.
    let number = if longest <= chunk { 1 } else { longest.div_ceil(chunk) };
    (number, (0..number).map(move |round| chunk.min(bytes.saturating_sub(round * chunk))))
}

#[both_forms]
impl BoardCall<'_> {
    /// A call without data. The empty message is for ranks that wrongly expect some.
    pub(super) async fn nothing(&mut self) -> Result<(), Stopped> {
        self.post(0, |_, _| {}).await?;
        self.board.finish();
        Ok(())
    }

    /// No rank leaves before every rank has entered.
    pub(super) async fn barrier(&mut self) -> Result<(), Stopped> {
        self.post(0, |_, _| {}).await?;
        self.expect_all().await?;
        for member in others(self.board) {
            self.expect(member).await?;
        }
        self.board.finish();
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn bcast(&mut self, root: usize, data: &Buffer) -> Result<(), Stopped> {
        let (_, lengths) = rounds(data.bytes(), self.chunk());
        let piece = data.piece();
        if self.board.own() == root {
            // SAFETY: the buffer is valid and unchanged until the call returns (contract
            // of `execute`).
            let mut source = unsafe { memory::source(&piece) };
            for length in lengths {
                // SAFETY: the memory behind `source` is valid until the call returns.
                self.post(length, |mut room, wait| unsafe {
                    room.fill(&mut source, 0, length, wait)
                })
                .await?;
                self.board.finish();
            }
        } else {
            // SAFETY: the buffer is valid until the call returns, and only this call accesses it
            // (contract of `execute`).
            let mut target = unsafe { memory::target(&piece) };
            for _ in lengths {
                let posted = self.expect(root).await?;
                // SAFETY: the memory behind `target` is valid until the call returns.
                unsafe { self.drain(&mut target, posted) };
                self.board.finish();
            }
        }
        Ok(())
    }

    /// Long blocks go straight into the root's buffer, where that is possible (`direct`).
    ///
    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn gather(&mut self, arguments: &Gather) -> Result<(), Stopped> {
        match (&arguments.send, &arguments.receive) {
            (_, Some(receive)) if self.board.own() == arguments.root => {
                // SAFETY: the contract of `TeamBoard::execute` applies (this function's contract).
                unsafe { self.gather_at_root(arguments, receive).await }
            }
            (Some(send), _) if self.board.own() != arguments.root => {
                // SAFETY: the buffer is valid and unchanged until the call returns (contract of
                // `execute`).
                unsafe { self.contribute(arguments.root, send).await }
            }
            _ => Ok(()),
        }
    }

    /// The part of a member that is not the root.
    ///
    /// # Safety
    /// The buffer must be valid and unchanged until this returns.
    async unsafe fn contribute(&mut self, root: usize, send: &Buffer) -> Result<(), Stopped> {
        let (_, lengths) = rounds(send.bytes(), self.chunk());
        // SAFETY: the buffer is valid and unchanged meanwhile (this function's contract).
        let mut source = unsafe { memory::source(&send.piece()) };
        // SAFETY: the memory behind `source` is valid until this returns.
        if send.bytes() >= LONG && unsafe { self.write_to(root, &mut source) } {
            lengths.for_each(|_| self.board.finish());
            return Ok(());
        }
        for length in lengths {
            // SAFETY: the memory behind `source` is valid until this returns.
            self.post(length, |mut room, wait| unsafe { room.fill(&mut source, 0, length, wait) })
                .await?;
            self.board.finish();
        }
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    async unsafe fn gather_at_root(
        &mut self,
        arguments: &Gather,
        receive: &Blocks,
    ) -> Result<(), Stopped> {
        let bytes = arguments.bytes();
        let (number, lengths) = rounds(bytes, self.chunk());
        let (own, size) = (self.board.own(), self.board.size());
        let exposed = if bytes >= LONG { self.expose(receive, bytes) } else { None };
        // The members that have written their block into the buffer.
        let mut written = vec![false; if exposed.is_some() { size } else { 0 }];
        // Done first, because the other ranks may still be writing.
        if let Some(send) = &arguments.send {
            // SAFETY: the buffers are valid until the call returns and do not overlap (contract
            // of `execute`).
            unsafe { self.copy(&send.piece(), &receive.piece(own)) };
        }
        // SAFETY: the buffer is valid until the call returns, and only this call accesses it
        // (contract of `execute`), but for the blocks that their owners write instead of posting.
        let target = |member| unsafe { memory::target(&receive.piece(member)) };
        let mut targets = Cursors::new(number, size, target);
        for (round, _) in lengths.enumerate() {
            for member in others(self.board) {
                if written.get(member) == Some(&true) {
                    continue;
                }
                let posted = self.expect(member).await.inspect_err(|_| {
                    // After the first round all have posted, so nobody writes any more.
                    if round == 0 && exposed.is_some() {
                        self.withdraw();
                    }
                })?;
                if round == 0 && exposed.is_some_and(|buffer| buffer.is_said_in(posted)) {
                    written[member] = true;
                } else {
                    // SAFETY: the memory behind `target` is valid until the call returns.
                    targets.with(member, target, |target| unsafe { self.drain(target, posted) });
                }
            }
            self.board.finish();
        }
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn gatherv(&mut self, arguments: &Gather) -> Result<(), Stopped> {
        let own = self.board.own();
        let records = Records::new(1, self.board.largest(), self.subscription);
        self.apart.clear();
        if own != arguments.root {
            let Some(send) = &arguments.send else { return Ok(()) };
            // SAFETY: the buffer is valid and unchanged until the call returns (contract of
            // `execute`).
            unsafe { self.post_blocks(records, |_| (own, send.piece())).await? };
            self.board.finish();
            return Ok(());
        }
        let Some(receive) = &arguments.receive else { return Ok(()) };
        // Done first, because the other ranks may still be writing.
        if let Some(send) = &arguments.send {
            // SAFETY: the buffers are valid until the call returns and do not overlap (contract
            // of `execute`).
            unsafe { self.copy(&send.piece(), &receive.piece(own)) };
        }
        for member in others(self.board) {
            let posted = self.expect(member).await?;
            match records.block(posted, 0) {
                None => self.apart.push(member),
                // SAFETY: the buffer is valid until the call returns, and only this call accesses
                // it (contract of `execute`).
                Some(block) => unsafe { self.store(&receive.piece(member), block) },
            }
        }
        self.board.finish();
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn scatterv(&mut self, arguments: &Scatter) -> Result<(), Stopped> {
        let (own, root, number) = (self.board.own(), arguments.root, self.board.size() - 1);
        let records = Records::new(number, self.board.largest(), self.subscription);
        self.apart.clear();
        if own != root {
            let Some(receive) = &arguments.receive else { return Ok(()) };
            let posted = self.expect(root).await?;
            match records.block(posted, own - usize::from(own > root)) {
                None => self.apart.push(own),
                // SAFETY: the buffer is valid until the call returns, and only this call accesses
                // it (contract of `execute`).
                Some(block) => unsafe { self.store(&receive.piece(), block) },
            }
            self.board.finish();
            return Ok(());
        }
        let Some(send) = &arguments.send else { return Ok(()) };
        let member = |index: usize| index + usize::from(index >= root);
        let block = |index: usize| (member(index), send.piece(member(index)));
        // SAFETY: the buffer is valid and unchanged until the call returns (contract of `execute`).
        unsafe { self.post_blocks(records, block).await? };
        self.board.finish();
        if let Some(receive) = &arguments.receive {
            // SAFETY: the buffers are valid until the call returns and do not overlap (contract
            // of `execute`).
            unsafe { self.copy(&send.piece(own), &receive.piece()) };
        }
        Ok(())
    }

    /// Posts blocks and their records. `block` returns the member and the data of a block.
    ///
    /// # Safety
    /// The blocks must be valid and unchanged during the call.
    async unsafe fn post_blocks(
        &mut self,
        records: Records,
        block: impl Fn(usize) -> (usize, Piece),
    ) -> Result<(), Stopped> {
        let mut all = 0;
        for (member, piece) in (0..records.number).map(&block) {
            match records.held(piece.bytes()) {
                Some(bytes) => all += bytes,
                None => self.apart.push(member),
            }
        }
        self.post(records.bytes(all), |mut room, wait| {
            let (mut end, mut at) = (0, all);
            for (_, piece) in (0..records.number).map(&block) {
                let held = records.held(piece.bytes());
                let begin = end;
                end += held.unwrap_or(0);
                let record = Records::record(end, held.is_none());
                // SAFETY: the block is valid and unchanged (this function's contract).
                unsafe {
                    if end > begin {
                        room.fill(&mut memory::source(&piece), begin, end - begin, wait);
                    }
                    room.copy(record.as_ptr(), at, record.len());
                }
                at += record.len();
            }
        })
        .await
    }

    /// Stores a block of a posted message at its destination.
    ///
    /// # Safety
    /// The destination must be valid, and nothing else may access it.
    unsafe fn store(&mut self, piece: &Piece, block: Posted) {
        if block.length > 0 {
            // SAFETY: the memory behind the target is valid, and only this call accesses it (this
            // function's contract).
            unsafe { self.drain(&mut memory::target(piece), block) };
        }
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn scatter(&mut self, arguments: &Scatter) -> Result<(), Stopped> {
        let bytes = arguments.bytes();
        let (own, size) = (self.board.own(), self.board.size());
        let (number, lengths) = rounds(bytes, self.largest_block(self.chunk()));
        if own != arguments.root {
            let Some(receive) = &arguments.receive else { return Ok(()) };
            // SAFETY: the buffer is valid until the call returns, and only this call accesses it
            // (contract of `execute`).
            let mut target = unsafe { memory::target(&receive.piece()) };
            for length in lengths {
                let posted = part(self.expect(arguments.root).await?, own * length, length);
                // SAFETY: the memory behind `target` is valid until the call returns.
                unsafe { self.drain(&mut target, posted) };
                self.board.finish();
            }
            return Ok(());
        }
        let Some(send) = &arguments.send else { return Ok(()) };
        // SAFETY: the buffer is valid and unchanged until the call returns (contract of `execute`).
        let source = |member| unsafe { memory::source(&send.piece(member)) };
        let mut sources = Cursors::new(number, size, source);
        for length in lengths {
            self.post(size * length, |mut room, wait| {
                for member in (0..size).filter(|&member| member != own) {
                    // SAFETY: the memory behind `source` is valid until the call returns.
                    sources.with(member, source, |source| unsafe {
                        room.fill(source, member * length, length, wait)
                    });
                }
            })
            .await?;
            self.board.finish();
        }
        if let Some(receive) = &arguments.receive {
            // SAFETY: the buffers are valid until the call returns and do not overlap (contract
            // of `execute`).
            unsafe { self.copy(&send.piece(own), &receive.piece()) };
        }
        Ok(())
    }

    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn allgather(&mut self, arguments: &Allgather) -> Result<(), Stopped> {
        let (own, size) = (self.board.own(), self.board.size());
        let receive = &arguments.receive;
        let longest = receive.longest_bytes(size);
        let (number, lengths) = rounds_of_longest(longest, receive.bytes(own), self.chunk_of_all());
        let mine = arguments.send.as_ref().map_or_else(|| receive.piece(own), Buffer::piece);
        // SAFETY: the buffer is valid and unchanged until the call returns (contract of `execute`).
        let mut source = unsafe { memory::source(&mine) };
        // SAFETY: the buffer is valid until the call returns, and only this call accesses it
        // (contract of `execute`).
        let target = |member| unsafe { memory::target(&receive.piece(member)) };
        let mut targets = Cursors::new(number, size, target);
        for (round, length) in lengths.enumerate() {
            // SAFETY: the memory behind `source` is valid until the call returns.
            self.post(length, |mut room, wait| unsafe { room.fill(&mut source, 0, length, wait) })
                .await?;
            if round == 0 && arguments.send.is_some() {
                // SAFETY: the buffers are valid until the call returns and do not overlap (contract
                // of `execute`).
                unsafe { self.copy(&mine, &receive.piece(own)) };
            }
            self.expect_all().await?;
            for member in others(self.board) {
                let posted = self.expect(member).await?;
                // SAFETY: the memory behind `target` is valid until the call returns.
                targets.with(member, target, |target| unsafe { self.drain(target, posted) });
            }
            self.board.finish();
        }
        Ok(())
    }

    /// In place, all bytes of a round are posted before any of them is overwritten.
    ///
    /// # Safety
    /// The contract of `TeamBoard::execute` applies.
    pub(super) async unsafe fn alltoall(&mut self, arguments: &Alltoall) -> Result<(), Stopped> {
        let (own, size) = (self.board.own(), self.board.size());
        let receive = &arguments.receive;
        let send = arguments.send.as_ref().unwrap_or(receive);
        let (number, lengths) = rounds(receive.bytes(0), self.largest_block(self.chunk_of_all()));
        // SAFETY: the buffer is valid until the call returns (contract of `execute`); in place, a
        // round's bytes are posted before they are overwritten.
        let source = |member| unsafe { memory::source(&send.piece(member)) };
        // SAFETY: the buffer is valid until the call returns, and only this call accesses it
        // (contract of `execute`).
        let target = |member| unsafe { memory::target(&receive.piece(member)) };
        let mut sources = Cursors::new(number, size, source);
        let mut targets = Cursors::new(number, size, target);
        for (round, length) in lengths.enumerate() {
            self.post(size * length, |mut room, wait| {
                for member in (0..size).filter(|&member| member != own) {
                    // SAFETY: the memory behind `source` is valid until the call returns.
                    sources.with(member, source, |source| unsafe {
                        room.fill(source, member * length, length, wait)
                    });
                }
            })
            .await?;
            if round == 0 && arguments.send.is_some() {
                // SAFETY: the buffers are valid until the call returns and do not overlap (contract
                // of `execute`).
                unsafe { self.copy(&send.piece(own), &receive.piece(own)) };
            }
            self.expect_all().await?;
            for member in others(self.board) {
                let posted = part(self.expect(member).await?, own * length, length);
                // SAFETY: the memory behind `target` is valid until the call returns.
                targets.with(member, target, |target| unsafe { self.drain(target, posted) });
            }
            self.board.finish();
        }
        Ok(())
    }

    /// Largest block if a message of at most `chunk` bytes has one block per rank.
    fn largest_block(&self, chunk: usize) -> usize {
        (chunk / self.board.size()).max(1)
    }
}

/// At most `length` bytes of a message from offset `first` on. The message may be shorter, since
/// the ranks may disagree about sizes.
fn part(posted: Posted, first: usize, length: usize) -> Posted {
    let first = first.min(posted.length);
    // SAFETY: `first` is at most the length of the message.
    let pointer = unsafe { posted.pointer.add(first) };
    Posted { pointer, length: length.min(posted.length - first), ..posted }
}
