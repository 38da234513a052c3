//! Every function that Python calls enters the gate to the interpreter.

use std::fs;

use super::imports::{sources, src};

#[test]
fn every_function_that_python_calls_is_gated() {
    let mut count = 0;
    for path in sources(&src().join("py")) {
        let code = fs::read_to_string(&path).expect("a source");
        let lines: Vec<&str> = code.lines().map(str::trim).collect();
        for (index, line) in lines.iter().enumerate() {
            if !line.starts_with("#[pymethods") && !line.starts_with("#[pyfunction") {
                continue;
            }
            assert!(
                lines[index - 1] == "#[gated]",
                "{}:{}: put #[gated] before it",
                path.display(),
                index + 1
            );
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}
