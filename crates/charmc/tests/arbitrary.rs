//! Whatever is in a file, the translator ends, and says where what is wrong is.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use towpath_charmc::{SourceFile, translate};

/// Pieces that interface files consist of.
const PIECES: &[&str] = &[
    "module",
    "mainmodule",
    "m",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "::",
    "<",
    ">",
    "*",
    "&",
    "=",
    "chare",
    "mainchare",
    "group",
    "array",
    "[1D]",
    "[2D]",
    "A",
    "entry",
    "void",
    "int",
    "double",
    "n",
    "serial",
    "when",
    "for",
    "while",
    "if",
    "else",
    "forall",
    "overlap",
    "case",
    "readonly",
    "message",
    "nocopy",
    "nocopypost",
    "template",
    "typename",
    "T",
    "namespace",
    "PUPable",
    "initnode",
    "#if X\n",
    "#endif\n",
    "\"text\"",
    "'",
    "\"",
    "//",
    "/*",
    "*/",
    "R\"(",
    "\n",
    "[reductiontarget]",
    "[threaded]",
    "0",
    "1'000",
    "const",
    "unsigned",
    "\u{e9}",
    "...",
    "entry A();",
    "entry void f(int n, double a[n]);",
    "array [1D] A {",
    "module m {",
    "when f(int n, double a[n])",
    "entry void g() {",
];

fn translated(text: &str) {
    if let Err(error) = translate(SourceFile { name: "x.ci", text }) {
        assert!(error.line <= text.matches('\n').count() + 1);
        assert!(error.message.ends_with('.'), "{}", error.message);
        assert!(error.to_string().contains('^'));
    }
}

/// The files that are accepted.
fn accepted() -> &'static [String] {
    static FILES: OnceLock<Vec<String>> = OnceLock::new();
    FILES.get_or_init(|| {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/accepted");
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        translated(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn pieces(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..120)) {
        translated(&pieces.join(" "));
    }

    #[test]
    fn pieces_in_a_module(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        translated(&format!("module m {{ array [1D] A {{ entry A(); {} }}; }}", pieces.join(" ")));
    }

    #[test]
    fn pieces_in_steps(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        let steps = pieces.join(" ");
        let members = format!("entry A(); entry void f(int n); entry void g() {{ {steps} }};");
        translated(&format!("module m {{ chare A {{ {members} }}; }}"));
    }

    #[test]
    fn files_with_a_part_replaced(
        file in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        length in 0_usize..40,
        piece in prop::sample::select(PIECES),
    ) {
        let text = file.get(accepted());
        let start = from.index(text.len());
        let end = (start + length).min(text.len());
        translated(&format!("{}{piece}{}", &text[..start], &text[end..]));
    }
}
