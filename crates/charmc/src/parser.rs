//! The parser: by recursive descent, a function for each construct.

mod chares;
mod entries;
mod messages;
mod modules;
mod parameters;
mod statements;
mod triggers;
mod types;

use crate::ast::{Cpp, InterfaceFile};
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::lexer::{Lexer, Token, TokenKind};

type Result<T> = std::result::Result<T, Diagnostic>;

/// Namespaces, statements and template arguments may be nested this deep.
const DEEPEST: usize = 100;

/// Reads an interface file.
///
/// # Errors
/// It is not one, or it uses what does not exist here.
pub fn parse(source: SourceFile<'_>) -> Result<InterfaceFile> {
    let mut parser = Parser { lexer: Lexer::new(source), depth: 0 };
    parser.file()
}

/// Reads an interface file from front to back.
struct Parser<'s> {
    lexer: Lexer<'s>,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> Result<Token<'s>> {
        self.lexer.peek()
    }

    fn next(&mut self) -> Result<Token<'s>> {
        self.lexer.next()
    }

    /// Reads this word or symbol, if it is next.
    fn accept(&mut self, text: &str) -> Result<bool> {
        let is_next = self.peek()?.is(text);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    /// Reads this word or symbol; `after` says what it ends.
    fn expect(&mut self, text: &str, after: &str) -> Result<Token<'s>> {
        let token = self.next()?;
        if token.is(text) {
            return Ok(token);
        }
        let found = token.described();
        Err(self.lexer.error(token.at, format!("'{text}' is expected {after}, not {found}.")))
    }

    /// Reads a name; `what` says of what.
    fn identifier(&mut self, what: &str) -> Result<Token<'s>> {
        let token = self.next()?;
        if token.kind == TokenKind::Identifier {
            return Ok(token);
        }
        let found = token.described();
        Err(self.lexer.error(token.at, format!("{what} is expected here, not {found}.")))
    }

    fn unexpected<T>(&self, token: Token<'_>, expected: &str) -> Result<T> {
        let found = token.described();
        Err(self.lexer.error(token.at, format!("{expected} is expected here, not {found}.")))
    }

    fn line_of(&self, at: usize) -> usize {
        self.lexer.source.text[..at].matches('\n').count() + 1
    }

    fn cpp(&self, (text, at): (&str, usize)) -> Cpp {
        Cpp { text: text.to_owned(), line: self.line_of(at) }
    }

    /// C++ up to one of these characters.
    fn cpp_until(&mut self, ends: &str) -> Result<Cpp> {
        let read = self.lexer.cpp_until(ends)?;
        Ok(self.cpp(read))
    }

    /// The text of the file from here up to where the parser is.
    fn text_since(&self, at: usize) -> String {
        let text = &self.lexer.source.text[at..self.lexer.offset()];
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Reads something that may contain its like.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            let at = self.peek()?.at;
            let message = format!("This is nested deeper than {DEEPEST} levels.");
            return Err(self.lexer.error(at, message));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}
