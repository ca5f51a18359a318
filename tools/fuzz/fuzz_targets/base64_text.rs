#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| imagekiln_fuzz_properties::base64_text(data));
