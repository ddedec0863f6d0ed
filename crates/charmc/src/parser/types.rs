//! Types and names, as C++ writes them.

use super::{Parser, Result};
use crate::ast::Template;
use crate::lexer::TokenKind;

pub(super) const BUILT_IN: &[&str] =
    &["unsigned", "signed", "long", "short", "int", "char", "double", "float", "bool", "void"];

impl Parser<'_> {
    /// `a::b`
    pub(super) fn qualified_name(&mut self) -> Result<String> {
        let mut name = String::new();
        if self.accept("::")? {
            name.push_str("::");
        }
        name.push_str(self.identifier("A name")?.text);
        while self.accept("::")? {
            name.push_str("::");
            name.push_str(self.identifier("A name")?.text);
        }
        Ok(name)
    }

    /// `a::b<int, 3>::c`
    pub(super) fn type_of_template(&mut self) -> Result<String> {
        let mut name = String::new();
        if self.accept("::")? {
            name.push_str("::");
        }
        loop {
            name.push_str(self.identifier("A type")?.text);
            if self.accept("<")? {
                name.push_str(&self.nested(Self::template_arguments)?);
            }
            if !self.accept("::")? {
                return Ok(name);
            }
            name.push_str("::");
        }
    }

    /// What stands after the `<`, and the `<`.
    fn template_arguments(&mut self) -> Result<String> {
        let mut arguments = Vec::new();
        while !self.accept(">")? {
            let token = self.peek()?;
            arguments.push(if token.kind == TokenKind::Number {
                self.next()?.text.to_owned()
            } else {
                let (type_name, reference) = self.type_name()?;
                type_name + if reference { "&" } else { "" }
            });
            if !self.accept(",")? {
                self.expect(">", "after the arguments of the template")?;
                break;
            }
        }
        Ok(format!("<{}>", arguments.join(", ")))
    }

    /// A type, without the `const` of what it refers to, and whether it is a reference.
    pub(super) fn type_name(&mut self) -> Result<(String, bool)> {
        let mut is_const = self.accept("const")?;
        for word in ["struct", "class", "enum", "typename"] {
            self.accept(word)?;
        }
        let mut words = Vec::new();
        while BUILT_IN.contains(&self.peek()?.text) {
            words.push(self.next()?.text.to_owned());
            is_const |= self.accept("const")?;
        }
        if words.is_empty() {
            words.push(self.type_of_template()?);
        }
        is_const |= self.accept("const")?;
        let mut name = words.join(" ");
        let mut is_pointer = false;
        while self.accept("*")? {
            name.push_str(if is_pointer { "*" } else { " *" });
            is_pointer = true;
            self.accept("const")?;
        }
        let mut reference = false;
        while self.accept("&")? {
            reference = true;
        }
        // A value is packed and made again, so only what a pointer points to stays const.
        if is_const && is_pointer {
            name.insert_str(0, "const ");
        }
        Ok((name, reference))
    }

    /// `template <typename T, int N>`
    pub(super) fn template(&mut self) -> Result<Template> {
        self.next()?;
        self.expect("<", "after 'template'")?;
        let (mut parameters, mut names) = (Vec::new(), Vec::new());
        while !self.accept(">")? {
            let begin = self.peek()?.at;
            let token = self.peek()?;
            if token.is("typename") || token.is("class") {
                self.next()?;
            } else {
                self.type_name()?;
            }
            let pack = if self.accept("...")? { "..." } else { "" };
            let name = self.identifier("The name of a parameter of the template")?;
            parameters.push(self.text_since(begin));
            names.push(format!("{}{pack}", name.text));
            if !self.accept(",")? {
                self.expect(">", "after the parameters of the template")?;
                break;
            }
        }
        Ok(Template { parameters: parameters.join(", "), names: names.join(", ") })
    }
}
