//! Interface files that are translated: the first lines of each of `corpus/accepted` say what
//! stands in its headers, or does not.

use std::fs;
use std::path::Path;

use towpath_charmc::{SourceFile, translate};

#[test]
fn headers_have_what_the_files_say() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/accepted");
    let (mut tested, mut wrong) = (0, Vec::new());
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let headers = match translate(SourceFile { name: &name, text: &text }) {
            Ok(headers) => headers,
            Err(diagnostic) => {
                wrong.push(diagnostic.to_string());
                continue;
            }
        };
        for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
            let (wanted, rest) =
                line.strip_prefix("not ").map_or((true, line), |rest| (false, rest));
            let (which, part) = rest.split_once(": ").expect("'decl: ' or 'def: '");
            let written = match which {
                "decl" => &headers[0].declarations,
                _ => &headers[0].definitions,
            };
            if written.contains(part) != wanted {
                wrong.push(format!("{name}: {line}"));
            }
            tested += 1;
        }
    }
    assert!(tested > 60, "only {tested} expectations were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
