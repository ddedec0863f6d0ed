//! The decoder of CLIC's frames: no bytes make it panic, and what it accepts is what an encoder
//! would write.

#![no_main]

use libfuzzer_sys::fuzz_target;
use towpath_clic::frame::{Ask, HEADER_BYTES, Header, Pair};
use towpath_clic::key::JobKey;

fuzz_target!(|bytes: &[u8]| {
    let key = JobKey([1, 2]);
    // Nobody finds a valid check by chance: without it the decoder says what it should be.
    let mut frame = bytes.to_vec();
    if let Some(check) = towpath_clic::frame::right_check(&key, &frame) {
        frame[4..8].copy_from_slice(&check.to_le_bytes());
    }
    if let Ok((header, body)) = Header::decode(&key, &frame) {
        let own = if header.kind.body_bytes().is_some() { body } else { &[] };
        assert_eq!(header.encode(&key, own)[..], frame[..HEADER_BYTES], "{header:?}");
        let ask = Ask::decode(body);
        assert!(ask.chunks().is_none_or(|chunks| (1..=64).contains(&chunks)));
        let _ = Pair::decode(body);
    }
});
