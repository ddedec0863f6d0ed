//! What the macro refuses, each with its sentence, and what it accepts.

use quote::quote;

use crate::{block, output};

const CONSTRUCTOR: &str = "#[constructor] fn new(_: &ChareContext<Cell>) -> Cell { Cell }";

/// What the macro says of a block of `Cell` with these functions.
fn refusal(options: &str, functions: &str) -> String {
    let item = format!("impl Cell {{ {CONSTRUCTOR} {functions} }}");
    refusal_of(options, &item)
}

fn refusal_of(options: &str, item: &str) -> String {
    let read = block::read(options.parse().unwrap(), item.parse().unwrap());
    read.err().map_or_else(String::new, |error| error.to_string())
}

fn entry(signature: &str) -> String {
    refusal("", &format!("#[entry] {signature} {{}}"))
}

#[test]
fn parameters_are_owned_or_slices() {
    assert_eq!(
        entry("fn go(&mut self, c: &ChareContext<Cell>, a: i32, b: &[f64], d: Vec<u8>)"),
        ""
    );
    for wrong in ["&str", "&mut [f64]", "&Vec<u8>"] {
        let said = entry(&format!("fn go(&mut self, c: &ChareContext<Cell>, a: {wrong})"));
        assert!(said.contains("a parameter is owned"), "{wrong}: {said}");
    }
    let said = entry("fn go(&mut self, c: &ChareContext<Cell>, (a, b): (i32, i32))");
    assert!(said.contains("has a name"), "{said}");
}

#[test]
fn entry_methods_take_self_and_the_context() {
    for wrong in ["fn go(c: &ChareContext<Cell>)", "fn go(self, c: &ChareContext<Cell>)", "fn go()"]
    {
        assert!(entry(wrong).contains("takes `&mut self`"), "{wrong}");
    }
    for wrong in
        ["fn go(&mut self)", "fn go(&mut self, a: i32)", "fn go(&self, c: ChareContext<Cell>)"]
    {
        assert!(entry(wrong).contains("takes the context"), "{wrong}");
    }
    assert!(entry("async fn go(&mut self, c: &ChareContext<Cell>)").contains("not async"));
    assert!(
        entry("fn go<T>(&mut self, c: &ChareContext<Cell>, a: T)").contains("no type parameters")
    );
}

#[test]
fn one_constructor() {
    assert!(refusal("", CONSTRUCTOR).contains("one #[constructor]"));
    assert!(refusal_of("", "impl Cell {}").contains("attribute #[constructor]"));
    let twice = "#[entry] #[entry] fn go(&mut self, c: &ChareContext<Cell>) {}";
    assert!(refusal("", twice).contains("once"));
    let array =
        "impl Cell { #[constructor] fn new(c: &ChareContext<Cell>, a: &[u8]) -> Cell { Cell } }";
    assert!(refusal_of("", array).contains("a constructor has no arrays"));
}

#[test]
fn entry_methods_are_the_same_on_all_ranks() {
    let said = entry("#[cfg(unix)] fn go(&mut self, c: &ChareContext<Cell>)");
    assert!(said.contains("no #[cfg]"), "{said}");
}

#[test]
fn the_block_is_of_a_type_of_its_own() {
    assert!(refusal_of("", "impl<T> Cell<T> {}").contains("no parameters"));
    assert!(refusal_of("", "impl Clone for Cell {}").contains("without a trait"));
    assert!(refusal_of("", "impl other::Cell {}").contains("of this module"));
    assert!(refusal("moves", "").contains("`migrate`"));
    assert!(
        refusal("", "#[entry(fast)] fn go(&self, c: &ChareContext<Cell>) {}")
            .contains("no options")
    );
    assert_eq!(refusal("migrate", ""), "");
}

#[test]
fn proxies_have_the_entry_methods() {
    let item = quote! {
        impl Cell {
            #[constructor]
            pub(crate) fn new(_: &ChareContext<Cell>, length: u32) -> Cell { Cell }
            #[entry]
            fn receive(&mut self, _: &ChareContext<Cell>, forces: &[f64]) {}
            #[entry]
            fn add(&mut self, _: &ChareContext<Cell>, step: u32) {}
            #[entry]
            fn pass(&self, _: &ChareContext<Self>, to: Vec<ElementProxy<Self>>) {}
            fn other(&self) {}
        }
    };
    let block = block::read(quote!(), item).unwrap();
    let written = output::write(&block).to_string();
    assert!(written.contains("pub (crate) trait CellProxy"));
    assert!(written.contains("fn receive_callback") && !written.contains("fn add_callback"));
    assert!(written.contains(r#"& ["receive" , "add" , "pass"]"#), "{written}");
    assert!(written.contains("(& self , to : Vec < ElementProxy < Cell > >)"), "{written}");
    assert!(!written.contains("# [entry]") && written.contains("fn other"));
}
