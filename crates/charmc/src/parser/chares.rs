//! Chares of all kinds, and their members.

use super::{Parser, Result};
use crate::ast::{Chare, ChareMember, Item, Template};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// A chare, or for `array [1D] A<int>;` an instance of a template.
    pub(super) fn chare(&mut self, template: Option<Template>) -> Result<Item> {
        let kind = self.chare_kind()?;
        self.chare_attributes()?;
        let at = self.peek()?.at;
        let name = self.type_of_template()?;
        let bases = self.bases()?;
        let token = self.peek()?;
        if token.is(";") {
            return Ok(match template {
                _ if name.contains('<') => Item::Instance(kind, name),
                Some(Template { parameters, .. }) => {
                    Item::Cpp(format!("template <{parameters}> class {name};"))
                }
                None => Item::Cpp(format!("class {name};")),
            });
        }
        if name.contains('<') {
            let message = "A chare with arguments of a template is declared without members: \
                the template has them.";
            return Err(self.lexer.error(at, message));
        }
        self.expect("{", "before the members of the chare")?;
        let members = self.members(&name)?;
        self.check_steps(&members)?;
        Ok(Item::Chare(Chare { template, kind, name, bases, members }))
    }

    /// `[migratable]`, which says nothing: elements of arrays always are, and others never.
    fn chare_attributes(&mut self) -> Result<()> {
        if !self.accept("[")? {
            return Ok(());
        }
        loop {
            let token = self.identifier("An attribute of the chare")?;
            match token.text {
                "migratable" => {}
                "python" => {
                    let message = "Chares with Python scripts ('python') are not supported.";
                    return Err(self.lexer.error(token.at, message));
                }
                other => {
                    let message = format!("A chare has no attribute '{other}'.");
                    return Err(self.lexer.error(token.at, message));
                }
            }
            if !self.accept(",")? {
                self.expect("]", "after the attributes")?;
                return Ok(());
            }
        }
    }

    fn bases(&mut self) -> Result<Vec<String>> {
        let mut bases = Vec::new();
        if self.accept(":")? {
            loop {
                self.accept("public")?;
                bases.push(self.type_of_template()?);
                if !self.accept(",")? {
                    break;
                }
            }
        }
        Ok(bases)
    }

    fn members(&mut self, chare: &str) -> Result<Vec<ChareMember>> {
        let mut members = Vec::new();
        loop {
            let token = self.peek()?;
            match token.kind {
                TokenKind::End => {
                    let message = format!("The file ends within {chare}: '}}' is missing.");
                    return Err(self.lexer.error(token.at, message));
                }
                TokenKind::Directive => members.push(ChareMember::Directive(self.directive()?)),
                _ => match token.text {
                    "}" => {
                        self.next()?;
                        return Ok(members);
                    }
                    ";" => drop(self.next()?),
                    "entry" => members.push(ChareMember::Entry(Box::new(self.entry(chare)?))),
                    "template" => {
                        let message = "Templates of entry methods are not supported: declare a \
                            method for each type.";
                        return Err(self.lexer.error(token.at, message));
                    }
                    "initnode" | "initproc" | "initcall" => {
                        members.push(ChareMember::Initialiser(self.initialiser()?));
                    }
                    "PUPable" => members.push(ChareMember::Pupable(self.pupable()?)),
                    _ => return self.unexpected(token, "'entry' or the end of the chare, '}',"),
                },
            }
        }
    }
}
