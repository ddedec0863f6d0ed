//! See `towpath_ofi::fuzz::card`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_ofi::fuzz::card(bytes));
