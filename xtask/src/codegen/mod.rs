//! Writes all files that are generated from `api/`: bindings, headers, constants, names of calls,
//! `docs/standard.md`.
//!
//! Generated files are checked in, and `codegen --check` fails if one is out of date. Rust files
//! are formatted as by `cargo fmt`.

mod bindings;
mod bodies;
mod docs;
mod header_text;
mod headers;
mod neutral;
mod tables;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::api::{Abi, Api};
use crate::constants::Constants;

/// Directory of the bindings that both ABIs share.
const SHARED: &str = "crates/abi/generated";

/// A file to write: its path in the repository and its contents.
struct GeneratedFile {
    path: String,
    text: String,
}

/// Runs the generator. With `check`, writes nothing and reports the checked-in files that are out
/// of date.
pub fn run(root: &Path, check: bool) -> Result<(), String> {
    let api = Api::load(root)?;
    let constants = Constants::load(root)?;
    let mut outputs = vec![
        GeneratedFile {
            path: "crates/neutral/src/constants/generated.rs".into(),
            text: neutral::constants(&constants),
        },
        GeneratedFile { path: "crates/base/src/calls.rs".into(), text: neutral::calls(&api) },
    ];
    for abi in [Abi::Standard, Abi::Mpich] {
        abi_files(&api, &constants, abi, &mut outputs);
        let path = format!("include/{}/mpi.h", abi.word());
        outputs.push(GeneratedFile { path, text: headers::header(&api, &constants, abi) });
    }
    outputs.push(GeneratedFile { path: "docs/standard.md".into(), text: docs::page(&api) });
    let listing = root.join("target/bodies.txt");
    let _ = std::fs::create_dir_all(root.join("target"));
    std::fs::write(&listing, bodies::listing(&api))
        .map_err(|e| format!("cannot write {}: {e}", listing.display()))?;
    finish(root, outputs, check)?;
    let total = api.functions.len();
    let done = api.functions.iter().filter(|f| f.special || f.built).count();
    println!("{done} of {total} functions are built");
    Ok(())
}

/// The files of one ABI. A chapter that is the same in both ABIs is written once, to `crates/abi`.
fn abi_files(api: &Api, constants: &Constants, abi: Abi, outputs: &mut Vec<GeneratedFile>) {
    let directory = format!("crates/abi-{}/src/generated", abi.word());
    let mut modules = String::from(
        "//! The functions of this ABI by chapter.\n//!\n//! Written by `cargo run -p xtask -- codegen`; do not edit.\n\n",
    );
    for chapter in api.chapters.keys() {
        let text = bindings::chapter(api, abi, chapter);
        let shared = text == bindings::chapter(api, abi.other(), chapter);
        let Some(text) = text else { continue };
        let home = if shared { SHARED } else { &directory };
        if shared {
            modules.push_str(&format!("#[path = \"../../../abi/generated/{chapter}.rs\"]\n"));
        }
        modules.push_str(&format!("mod {chapter};\n"));
        let path = format!("{home}/{chapter}.rs");
        if outputs.iter().all(|output| output.path != path) {
            outputs.push(GeneratedFile { path, text });
        }
    }
    modules.push_str("pub mod tables;\n");
    outputs.push(GeneratedFile { path: format!("{directory}/mod.rs"), text: modules });
    let text = match abi {
        Abi::Standard => tables::standard(constants),
        Abi::Mpich => tables::mpich(constants),
    };
    outputs.push(GeneratedFile { path: format!("{directory}/tables.rs"), text });
}

/// Files in the directories of generated bindings that the generator no longer writes, because
/// their chapter was moved or removed.
fn left_over(root: &Path, outputs: &[GeneratedFile]) -> Vec<String> {
    let directories =
        [SHARED, "crates/abi-standard/src/generated", "crates/abi-mpich/src/generated"];
    let files = directories.iter().flat_map(|directory| {
        let entries = std::fs::read_dir(root.join(directory)).into_iter().flatten().flatten();
        entries.map(move |entry| format!("{directory}/{}", entry.file_name().to_string_lossy()))
    });
    files.filter(|file| outputs.iter().all(|output| output.path != *file)).collect()
}

fn finish(root: &Path, outputs: Vec<GeneratedFile>, check: bool) -> Result<(), String> {
    let mut stale = left_over(root, &outputs);
    if !check {
        for file in stale.drain(..) {
            std::fs::remove_file(root.join(&file))
                .map_err(|e| format!("cannot remove {file}: {e}"))?;
        }
    }
    for output in outputs {
        let text =
            if output.path.ends_with(".rs") { format_rust(root, &output)? } else { output.text };
        let path = root.join(&output.path);
        if std::fs::read_to_string(&path).is_ok_and(|present| present == text) {
            continue;
        }
        if check {
            stale.push(output.path);
            continue;
        }
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|e| format!("cannot make {}: {e}", directory.display()))?;
        }
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "not current: {}; run `cargo run -p xtask -- codegen` and check in what it writes",
        stale.join(", ")
    ))
}

fn format_rust(root: &Path, output: &GeneratedFile) -> Result<String, String> {
    let failed = |what: String| format!("rustfmt of {}: {what}", output.path);
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    let mut input = child.stdin.take().ok_or_else(|| failed("no input".into()))?;
    let text = output.text.clone();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let done = child.wait_with_output().map_err(|e| failed(e.to_string()))?;
    let _ = writer.join();
    if !done.status.success() {
        return Err(failed("the text is not Rust".into()));
    }
    let formatted = String::from_utf8(done.stdout).map_err(|e| failed(e.to_string()))?;
    Ok(bindings::exported(&formatted))
}
