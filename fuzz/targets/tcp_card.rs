//! See `towpath_tcp::fuzz::card`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_tcp::fuzz::card(bytes));
