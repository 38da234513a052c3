//! Every function that Python calls enters the gate to the interpreter.

use std::fs;

use super::imports::{sources, src};

#[test]
fn every_function_that_python_calls_is_gated() {
    let mut count = 0;
    for path in sources(&src().join("py")) {
        let code = fs::read_to_string(&path).expect("a source");
        for line in code.lines().map(str::trim) {
            let is_open = line.starts_with("#[pymethods") || line.starts_with("#[pyfunction");
            assert!(!is_open, "{}: write #[gated] for {line}", path.display());
            count += usize::from(line == "#[gated]");
        }
    }
    assert!(count > 50, "{count}");
}
