//! See `towpath_ofi::fuzz::heads`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_ofi::fuzz::heads(bytes));
