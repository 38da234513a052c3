#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| boardlot_client::fuzzing::callback(data));
