//! See `towpath_launch::fuzz::pmix_sheets`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| towpath_launch::fuzz::pmix_sheets(bytes));
