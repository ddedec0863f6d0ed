//! The numbers of collective calls on a communicator, and what messages carry of them.
//!
//! Each form of call has its own range of the lower 16 bits, which are in the tag of a message. The
//! upper bits count how often the range has been used up. A rank may be that far ahead of another
//! one: a root that broadcasts waits for nobody. So the immediate data of a message has some of
//! them too, besides the signature of the call. Messages of a pair are matched in order, so the tag
//! alone finds the right one; the immediate data tells of messages that nothing has matched.

use towpath_schedule::CallSignature;

/// Numbers of blocking calls by messages before they repeat in the tags of messages, and of
/// blocking calls on the board that send blocks apart. Those of nonblocking and persistent calls
/// are above.
const BLOCKING: u64 = 1 << 13;
const APART: u64 = 1 << 13;
/// Numbers of nonblocking and of persistent calls.
const NONBLOCKING: u64 = 1 << 14;
const PERSISTENT: u64 = 1 << 15;
/// Bits of the number in a tag, and of the turn.
const TAG_BITS: u32 = 16;
const TURN_BITS: u32 = 15;

/// The forms of collective calls, each with numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// Blocking calls.
    Blocking,
    /// Nonblocking calls.
    Nonblocking,
    /// The initialization of persistent calls.
    Persistent,
}

/// The number of a communicator's `count`th call of a form.
pub fn sequence(form: CallForm, count: u64) -> u64 {
    let (first, numbers) = match form {
        CallForm::Blocking => (0, BLOCKING),
        CallForm::Nonblocking => (BLOCKING + APART, NONBLOCKING),
        CallForm::Persistent => (BLOCKING + APART + NONBLOCKING, PERSISTENT),
    };
    in_range(first, numbers, count)
}

/// The number of the messages that a communicator's `count`th blocking call on its board sends
/// apart. Only the ranks that exchange them know that there are any, so they take no number of the
/// calls by messages.
pub(crate) fn sequence_apart(count: u64) -> u64 {
    in_range(BLOCKING, APART, count)
}

fn in_range(first: u64, numbers: u64, count: u64) -> u64 {
    (count / numbers) << TAG_BITS | (first + count % numbers)
}

/// The tag of a message of call `sequence`; the turn distinguishes messages of one pair.
#[inline]
pub(crate) fn tag(sequence: u64, turn: u16) -> i32 {
    (((sequence & 0xFFFF) as u32) << TURN_BITS | u32::from(turn) & 0x7FFF) as i32
}

/// The immediate data of its messages.
#[inline]
pub(crate) fn immediate(signature: CallSignature, sequence: u64) -> u32 {
    ((sequence >> TAG_BITS) as u32) << CallSignature::BITS | signature.0
}

/// The signature in immediate data.
#[inline]
pub(crate) fn signature_of(immediate: u32) -> CallSignature {
    CallSignature(immediate & ((1 << CallSignature::BITS) - 1))
}

/// True if a message belongs to call `sequence`.
pub(crate) fn is_of_call(tag: i32, immediate: u32, sequence: u64) -> bool {
    let round = |immediate: u32| immediate >> CallSignature::BITS;
    number_of(tag) == sequence & 0xFFFF
        && round(immediate) == round(self::immediate(CallSignature::default(), sequence))
}

fn number_of(tag: i32) -> u64 {
    u64::from(tag.cast_unsigned() >> TURN_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: CallSignature = CallSignature(77);

    fn message(count: u64) -> (i32, u32) {
        let sequence = sequence(CallForm::Blocking, count);
        (tag(sequence, 3), immediate(SIGNATURE, sequence))
    }

    #[test]
    fn forms_have_different_numbers_in_tags() {
        let forms = [CallForm::Blocking, CallForm::Nonblocking, CallForm::Persistent];
        let mut seen = std::collections::BTreeSet::new();
        for (form, numbers) in forms.into_iter().zip([BLOCKING, NONBLOCKING, PERSISTENT]) {
            (0..numbers).for_each(|count| assert!(seen.insert(tag(sequence(form, count), 0))));
            assert_eq!(tag(sequence(form, numbers), 5), tag(sequence(form, 0), 5));
        }
        (0..APART).for_each(|count| assert!(seen.insert(tag(sequence_apart(count), 0))));
        assert_eq!(tag(sequence_apart(APART), 5), tag(sequence_apart(0), 5));
    }

    #[test]
    fn a_message_tells_its_call_from_those_of_other_rounds() {
        for count in
            [0, 1, BLOCKING - 1, BLOCKING, 5 * BLOCKING + 7, 1 << 30, (1 << 30) - 1, 1 << 32]
        {
            let own = sequence(CallForm::Blocking, count);
            let (tag, immediate) = message(count);
            assert_eq!(signature_of(immediate), SIGNATURE);
            assert!(is_of_call(tag, immediate, own), "{count}");
            for ahead in [1, 2, BLOCKING - 1, BLOCKING, 3 * BLOCKING, 127 * BLOCKING] {
                for other in [count.wrapping_add(ahead), count.wrapping_sub(ahead)] {
                    let (tag, immediate) = message(other);
                    assert!(!is_of_call(tag, immediate, own), "{count} {other}");
                }
            }
        }
    }
}
