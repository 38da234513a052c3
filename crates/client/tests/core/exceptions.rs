//! `boardlot.errors` defines the exception classes of the core's table, and no others.

use boardlot_client::error::ExceptionClass;

#[test]
fn the_python_classes_are_those_of_the_table() {
    let source = include_str!("../../../../python/boardlot/errors.py");
    // That of an archive's update is raised by Python alone.
    let of_core = |line: &&str| line.starts_with("class ") && !line.contains("ArchiveUpdateError");
    let defined: Vec<String> = source.lines().filter(of_core).map(str::to_owned).collect();
    let expected: Vec<String> = ExceptionClass::ALL
        .iter()
        .map(|class| format!("class {}({}):", class.name(), class.bases().join(", ")))
        .collect();
    assert_eq!(defined, expected);
}
