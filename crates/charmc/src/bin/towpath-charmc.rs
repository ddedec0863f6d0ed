use towpath_charmc::{Source,translate};
fn main() {
    for name in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&name).unwrap();
        match translate(Source { name: &name, text: &text }) {
            Ok(all) => for h in all {
                std::fs::write(format!("{}.decl.h", h.module), h.declarations).unwrap();
                std::fs::write(format!("{}.def.h", h.module), h.definitions).unwrap();
            },
            Err(e) => { eprintln!("{e}"); std::process::exit(1) }
        }
    }
}
