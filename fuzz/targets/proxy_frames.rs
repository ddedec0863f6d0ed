//! See `towpath_launch::fuzz::proxy_frames`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_launch::fuzz::proxy_frames(bytes));
