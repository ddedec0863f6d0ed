//! Fuzz targets for the decoders of the libfabric wire: for `make fuzz`, and in short runs as tests
//! of this crate. The properties that each decoder must have are asserted here.

use towpath_base::transfer::Target;

use super::frame::{FabricFrame, HEAD_BYTES, MessageWay, Sender};
use super::transfers::OfiPull;
use super::{COPIED_LIMIT, FabricCard, FabricKey};

/// Bytes that the pull of [`heads`] wants.
const WANTED: usize = 1000;

/// The text of a card: one that decodes must be encoded to the same text, except for the case of
/// its digits.
pub fn card(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some(card) = FabricCard::parse(&text) else { return };
    assert_eq!(FabricCard::parse(&card.to_text()).as_ref(), Some(&card));
    assert!(
        card.to_text().eq_ignore_ascii_case(&text)
            && !card.provider.is_empty()
            && !card.address.is_empty()
    );
}

/// A sequence of headers from a peer that knows the key: each must be refused or be a possible
/// output of the encoder, and together they must not grant more to a pull than it wants.
pub fn heads(bytes: &[u8]) {
    let key = FabricKey::of_secret(b"fuzz");
    let mut room = [0u8; WANTED];
    let mut pull =
        OfiPull::new(1, 2, 3, Target::Bytes { pointer: room.as_mut_ptr(), length: WANTED });
    let mut expected = 0;
    for head in bytes.as_chunks::<HEAD_BYTES>().0 {
        let sender = Sender::of(head);
        let number = sender.number(expected);
        assert!(
            number as u32 == sender.low
                && number.wrapping_sub(expected).wrapping_add(1 << 31) < 1 << 32
        );
        let way = MessageWay { from: sender.from, to: 2, number };
        expected = number;
        let Ok(frame) = FabricFrame::decode(head) else { continue };
        let again = frame.encode(&key, way);
        assert!(again[8..] == head[8..] && FabricFrame::is_genuine(&key, way, &again), "{frame:?}");
        match frame {
            FabricFrame::Message { length, .. } => assert!(length as usize <= COPIED_LIMIT),
            FabricFrame::Grant { last, address, key, length, .. } => {
                let before = pull.grants.len();
                let taken = pull.grant(address, key, length, last);
                assert!(pull.grants.len() == before + usize::from(taken && length > 0));
                let granted =
                    pull.grants.iter().fold(0u64, |all, grant| all.saturating_add(grant.length));
                assert!(
                    granted + pull.room == WANTED as u64
                        && pull.is_complete() == (pull.last && granted == 0)
                );
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_texts_are_cards_or_refused(text in "[a-fA-F0-9/;x+é-]{0,40}") {
            card(text.as_bytes());
        }

        #[test]
        fn any_heads_are_frames_or_refused(
            mut bytes in proptest::collection::vec(any::<u8>(), 4 * HEAD_BYTES),
            kinds in any::<[u8; 4]>(),
            lengths in any::<[u16; 4]>(),
        ) {
            // Most random headers would be refused at once.
            for ((head, kind), length) in bytes.as_chunks_mut::<HEAD_BYTES>().0.iter_mut().zip(kinds).zip(lengths) {
                (head[16], head[17], head[18], head[19]) = (kind % 11, 0, 0, 0);
                head[40..].fill(0);
                head[40..42].copy_from_slice(&(length % 600).to_le_bytes());
            }
            heads(&bytes);
        }
    }
}
