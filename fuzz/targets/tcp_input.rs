//! See `towpath_tcp::fuzz::input`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_tcp::fuzz::input(bytes));
