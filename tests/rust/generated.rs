//! The generated files match the table.

#[path = "../../tools/generate.rs"]
mod generate;

#[test]
fn no_generated_file_is_stale() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in generate::files() {
        let there = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(there == text, "{path} is stale: run `make generate`");
    }
}
