//! `boardlot.errors` defines an exception for each class of errors, and no others.

use boardlot_client::extension::error::ErrorClass;

#[test]
fn the_python_classes_are_those_of_the_table() {
    let source = include_str!("../../../../python/boardlot/errors.py");
    // That of an archive's update is raised by Python alone.
    let classes = source.lines().filter_map(|line| line.strip_prefix("class ")?.split('(').next());
    let mut defined: Vec<&str> = classes.filter(|name| *name != "ArchiveUpdateError").collect();
    assert_eq!(defined.remove(0), "BoardlotError");
    let expected: Vec<&str> = ErrorClass::ALL.iter().map(|class| class.name()).collect();
    assert_eq!(defined, expected);
}
