//! Modules, namespaces, and what stands in them.

use super::{Parser, Result};
use crate::ast::{ChareKind, Initialiser, InterfaceFile, Item, Module, Readonly};
use crate::lexer::{Token, TokenKind};
use crate::libraries::missing_library;

impl Parser<'_> {
    pub(super) fn file(&mut self) -> Result<InterfaceFile> {
        let mut file = InterfaceFile::default();
        // What stands before the first module, in C++ of it.
        let mut before = Vec::new();
        loop {
            let token = self.peek()?;
            match token.kind {
                TokenKind::End => return Ok(file),
                TokenKind::Directive => before.push(Item::Directive(self.directive()?)),
                // The published interface file has a capital letter.
                _ if ["module", "Module", "mainmodule"].iter().any(|word| token.is(word)) => {
                    let mut module = self.module()?;
                    before.append(&mut module.items);
                    module.items = std::mem::take(&mut before);
                    file.modules.push(module);
                }
                _ if token.is("include") => before.push(self.include()?),
                _ if token.is(";") => drop(self.next()?),
                _ => return self.unexpected(token, "'module' or 'mainmodule'"),
            }
        }
    }

    fn module(&mut self) -> Result<Module> {
        let is_main = self.next()?.is("mainmodule");
        let name = self.identifier("The name of the module")?.text.to_owned();
        self.expect("{", "after the name of the module")?;
        let items = self.items("module")?;
        self.accept(";")?;
        Ok(Module { name, is_main, items })
    }

    /// What stands between braces, the first of which has been read.
    fn items(&mut self, what: &str) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        loop {
            let token = self.peek()?;
            if token.kind == TokenKind::End {
                let message = format!("The file ends within a {what}: '}}' is missing.");
                return Err(self.lexer.error(token.at, message));
            }
            if self.accept("}")? {
                return Ok(items);
            }
            if !self.accept(";")? {
                items.push(self.item(token)?);
            }
        }
    }

    fn item(&mut self, token: Token<'_>) -> Result<Item> {
        if token.kind == TokenKind::Directive {
            return Ok(Item::Directive(self.directive()?));
        }
        match token.text {
            "include" => self.include(),
            "extern" => self.extern_module(),
            "namespace" => self.namespace(),
            "readonly" => self.readonly(),
            "using" | "class" | "struct" | "typedef" => self.declaration(),
            "template" => self.template_item(),
            "message" => Ok(Item::Message(self.message(None)?)),
            "PUPable" => Ok(Item::Pupable(self.pupable()?)),
            "initnode" | "initproc" | "initcall" => Ok(Item::Initialiser(self.initialiser()?)),
            "chare" | "mainchare" | "group" | "nodegroup" | "array" => self.chare(None),
            _ => self.unexpected(token, "A declaration, such as 'chare', 'array' or 'message',"),
        }
    }

    pub(super) fn directive(&mut self) -> Result<String> {
        Ok(self.next()?.text.trim_end().to_owned())
    }

    fn include(&mut self) -> Result<Item> {
        self.next()?;
        let file = self.next()?;
        if file.kind != TokenKind::String {
            return self.unexpected(file, "The name of a file in quotes");
        }
        self.expect(";", "after the name of the file")?;
        Ok(Item::Include(file.text.to_owned()))
    }

    fn extern_module(&mut self) -> Result<Item> {
        self.next()?;
        self.expect("module", "after 'extern'")?;
        let token = self.identifier("The name of a module")?;
        if let Some(message) = missing_library(token.text) {
            return Err(self.lexer.error(token.at, message));
        }
        self.expect(";", "after the name of the module")?;
        Ok(Item::ExternModule(token.text.to_owned()))
    }

    fn namespace(&mut self) -> Result<Item> {
        self.next()?;
        let name = self.qualified_name()?;
        self.expect("{", "after the name of the namespace")?;
        let items = self.nested(|parser| parser.items("namespace"))?;
        Ok(Item::Namespace(name, items))
    }

    /// A declaration that C++ gets as it is.
    fn declaration(&mut self) -> Result<Item> {
        let (text, _) = self.lexer.cpp_until(";")?;
        self.expect(";", "after the declaration")?;
        Ok(Item::Cpp(format!("{text};")))
    }

    fn readonly(&mut self) -> Result<Item> {
        self.next()?;
        let is_message = self.accept("message")?;
        let (mut type_name, reference) = self.type_name()?;
        if is_message || type_name.ends_with('*') {
            let Some(pointee) = type_name.strip_suffix('*') else {
                return self.unexpected(self.peek()?, "'*' and the name of the message");
            };
            type_name = pointee.trim_end().to_owned();
            if !is_message {
                let at = self.peek()?.at;
                let message = "A pointer says nothing on other ranks: declare the type itself \
                    readonly, or 'readonly message' if it is one.";
                return Err(self.lexer.error(at, message));
            }
        }
        if reference {
            return self.unexpected(self.peek()?, "A type without '&'");
        }
        let name = self.qualified_name()?;
        let begin = self.lexer.offset();
        while self.accept("[")? {
            self.lexer.cpp_until("]")?;
            self.expect("]", "after the extent")?;
        }
        let dimensions = self.text_since(begin);
        self.expect(";", "after the readonly variable")?;
        Ok(Item::Readonly(Readonly { type_name, name, dimensions, is_message }))
    }

    fn template_item(&mut self) -> Result<Item> {
        let begin = self.peek()?.at;
        let template = self.template()?;
        let token = self.peek()?;
        match token.text {
            "class" | "struct" => {
                self.lexer.cpp_until(";")?;
                self.expect(";", "after the declaration")?;
                Ok(Item::Cpp(self.text_since(begin)))
            }
            "message" => Ok(Item::Message(self.message(Some(template))?)),
            "chare" | "group" | "nodegroup" | "array" => self.chare(Some(template)),
            _ => self.unexpected(token, "A class, a message or a chare"),
        }
    }

    /// `PUPable A, B;`
    pub(super) fn pupable(&mut self) -> Result<Vec<String>> {
        self.next()?;
        let mut names = Vec::new();
        loop {
            names.push(self.type_of_template()?);
            if !self.accept(",")? {
                break;
            }
        }
        self.expect(";", "after the names of the classes")?;
        Ok(names)
    }

    /// `initnode void name(void);`
    pub(super) fn initialiser(&mut self) -> Result<Initialiser> {
        let is_early = !self.next()?.is("initproc");
        self.accept("void")?;
        let name = self.qualified_name()?;
        self.expect("(", "after the name of the function")?;
        self.accept("void")?;
        self.expect(")", "because such a function gets nothing")?;
        self.expect(";", "after the function")?;
        Ok(Initialiser { name, is_early })
    }

    /// `array [1D]` and its like.
    pub(super) fn chare_kind(&mut self) -> Result<ChareKind> {
        Ok(match self.next()?.text {
            "mainchare" => ChareKind::MainChare,
            "group" => ChareKind::Group,
            "nodegroup" => ChareKind::NodeGroup,
            "array" => ChareKind::Array(self.index_type()?),
            _ => ChareKind::Chare,
        })
    }

    fn index_type(&mut self) -> Result<String> {
        self.expect("[", "after 'array'")?;
        if self.accept("migratable")? {
            self.expect("]", "after the attribute")?;
            self.expect("[", "before the type of the index")?;
        }
        let token = self.peek()?;
        let index = match token.kind {
            TokenKind::Number if token.text.ends_with(['D', 'd']) => {
                self.next()?;
                match &token.text[..token.text.len() - 1] {
                    digit @ ("1" | "2" | "3" | "4" | "5" | "6") => format!("CkIndex{digit}D"),
                    _ => {
                        let message = "An array has 1 to 6 dimensions.";
                        return Err(self.lexer.error(token.at, message));
                    }
                }
            }
            TokenKind::Identifier => self.type_of_template()?,
            _ => return self.unexpected(token, "A number of dimensions, such as '1D', or a type"),
        };
        self.expect("]", "after the type of the index")?;
        Ok(index)
    }
}
