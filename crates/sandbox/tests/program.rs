//! The program as a user starts it; `tests/cli/test_sandbox_program.py` tries all of it.

use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_boardlot-sandbox");

#[test]
fn an_unknown_option_is_refused_and_named() {
    let done = Command::new(PROGRAM).arg("--sed=7").output().expect("the program starts");
    let said = String::from_utf8(done.stderr).expect("text");
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("--sed") && said.contains("--seed"), "{said}");
}
