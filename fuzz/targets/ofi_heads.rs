//! See `towpath_transport::ofi::fuzz::heads`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_transport::ofi::fuzz::heads(bytes));
