//! The decoder of CLIC's frames: it never panics, and what it accepts is identical to what the
//! encoder writes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use towpath_clic::frame::{BlockRequest, HEADER_BYTES, FrameHeader, Pair};
use towpath_clic::key::FrameKey;

fuzz_target!(|bytes: &[u8]| {
    let key = FrameKey([1, 2]);
    // A fuzzer does not find a valid check by chance, so compute it.
    let mut frame = bytes.to_vec();
    if let Some(check) = towpath_clic::frame::right_check(&key, &frame) {
        frame[4..8].copy_from_slice(&check.to_le_bytes());
    }
    if let Ok((header, body)) = FrameHeader::decode(&key, &frame) {
        let own = if header.kind.body_bytes().is_some() { body } else { &[] };
        assert_eq!(header.encode(&key, own)[..], frame[..HEADER_BYTES], "{header:?}");
        let ask = BlockRequest::decode(body);
        assert!(ask.chunks().is_none_or(|chunks| (1..=64).contains(&chunks)));
        let _ = Pair::decode(body);
    }
});
