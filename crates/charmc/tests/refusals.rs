//! Interface files that are refused: each of `corpus/refused` with the sentence in the text file
//! beside it, and where.

use std::fs;
use std::path::Path;

use towpath_charmc::{SourceFile, translate};

#[test]
fn files_are_refused_with_a_place_and_a_sentence() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/refused");
    let (mut tested, mut wrong) = (0, Vec::new());
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ci") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let expected = fs::read_to_string(path.with_extension("txt")).unwrap();
        let file = format!("{name}.ci");
        let result = translate(SourceFile { name: &file, text: &text });
        let said = result.map_or_else(|diagnostic| diagnostic.to_string(), |_| "nothing".into());
        let is_placed = said.starts_with(&format!("{file}:"));
        if !is_placed || !said.contains(expected.trim_end()) {
            wrong.push(format!("{said}\n  expected {expected}"));
        }
        tested += 1;
    }
    assert!(tested >= 30, "only {tested} files were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_caret_stands_under_the_word() {
    let text = "module m {\n\tchare C { entry C(); entry [\u{e9}\u{e9}] void f(); };\n}\n";
    let error = translate(SourceFile { name: "a/b.ci", text }).unwrap_err();
    let shown = error.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("a/b.ci:2:30: An attribute"), "{shown}");
    assert_eq!(lines[1], format!("  {}", text.lines().nth(1).unwrap()));
    assert_eq!(lines[2], format!("  \t{}^", " ".repeat(28)));
}
