//! See `towpath_launch::fuzz::host_texts`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_launch::fuzz::host_texts(bytes));
