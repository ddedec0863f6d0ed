//! See `towpath_transport::tcp::fuzz::card`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_transport::tcp::fuzz::card(bytes));
