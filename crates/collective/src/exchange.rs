//! Neighbourhood collectives without a plan: turns the messages of a call into the parts of an
//! exchange.

use std::mem::MaybeUninit;

use towpath_base::ids::PeerIndex;
use towpath_engine::ExchangeMessage;
use towpath_schedule::buffers::Piece;
use towpath_schedule::neighborhood::{Edge, Neighborly, Neighbors};

use crate::numbers;

/// Writes the messages of `call` to `sends` and `receives`, as the parts of an exchange among
/// `peers` with this sequence number, and returns their numbers. `None` if there are too many or
/// the data has gaps; a plan is needed then.
#[inline]
pub fn exchange_parts(
    call: &Neighborly,
    peers: &[PeerIndex],
    sequence: u64,
    sends: &mut [MaybeUninit<ExchangeMessage>],
    receives: &mut [MaybeUninit<ExchangeMessage>],
) -> Option<(usize, usize)> {
    let part = |into: &mut [MaybeUninit<ExchangeMessage>],
                filled: &mut usize,
                edge: &Edge,
                piece: Piece| {
        let (pointer, length) = piece.contiguous()?;
        // Messages without bytes are left out on both sides, as in plans.
        if let Some(rank) = edge.rank
            && length > 0
        {
            into[*filled].write(ExchangeMessage::new(
                peers[rank],
                numbers::tag(sequence, edge.turn as u16),
                pointer,
                length,
            ));
            *filled += 1;
        }
        Some(())
    };
    let Neighbors { sources, destinations } = call.neighbors;
    if sources.len() > receives.len() || destinations.len() > sends.len() {
        return None;
    }
    let (mut sent, mut received) = (0, 0);
    for (index, edge) in destinations.iter().enumerate() {
        part(sends, &mut sent, edge, call.send.piece(index))?;
    }
    for (index, edge) in sources.iter().enumerate() {
        part(receives, &mut received, edge, call.receive.piece(index))?;
    }
    Some((sent, received))
}
