//! Tokens of an interface file, and stretches of C++ in it that are passed through.

use crate::cpp;
use crate::diagnostic::{Diagnostic, SourceFile};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Identifier,
    Number,
    String,
    /// A character, or one of `::` and `...`.
    Symbol,
    /// A line that begins with `#`, with the lines that continue it.
    Directive,
    End,
}

/// A token, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'s> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'s str,
    pub(crate) at: usize,
}

impl Token<'_> {
    /// Whether it is this word or symbol.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text && matches!(self.kind, TokenKind::Identifier | TokenKind::Symbol)
    }

    /// How messages name it.
    pub(crate) fn described(&self) -> String {
        match self.kind {
            TokenKind::End => "the end of the file".to_owned(),
            _ => format!("'{}'", self.text.trim_end()),
        }
    }
}

/// A place in an interface file, from which tokens or C++ are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'s> {
    pub(crate) source: SourceFile<'s>,
    at: usize,
}

type Result<T> = std::result::Result<T, Diagnostic>;

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: SourceFile<'s>) -> Lexer<'s> {
        Lexer { source, at: 0 }
    }

    /// Offset of what is read next.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn error(&self, at: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.source, at, message.into())
    }

    fn rest(&self) -> &'s str {
        &self.source.text[self.at..]
    }

    /// Passes white space and comments.
    fn pass_space(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let spaces = rest.len() - rest.trim_start().len();
            let comment = cpp::comment(&rest[spaces..])
                .map_err(|message| self.error(self.at + spaces, message))?;
            self.at += spaces + comment;
            if spaces + comment == 0 {
                return Ok(());
            }
        }
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Result<Token<'s>> {
        self.pass_space()?;
        let (at, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else {
            return Ok(Token { kind: TokenKind::End, text: "", at });
        };
        let (kind, length) = match first {
            'a'..='z' | 'A'..='Z' | '_' => (TokenKind::Identifier, cpp::word(rest)),
            '0'..='9' => (TokenKind::Number, cpp::number(rest)),
            '"' | '\'' => {
                let end = cpp::literal(rest).map_err(|message| self.error(at, message))?;
                (TokenKind::String, end)
            }
            '#' => (TokenKind::Directive, cpp::directive(rest)),
            _ if rest.starts_with("::") => (TokenKind::Symbol, 2),
            _ if rest.starts_with("...") => (TokenKind::Symbol, 3),
            _ => (TokenKind::Symbol, first.len_utf8()),
        };
        self.at += length;
        Ok(Token { kind, text: &rest[..length], at })
    }

    /// The next token, which stays to be read.
    pub(crate) fn peek(&self) -> Result<Token<'s>> {
        let mut ahead = *self;
        ahead.next()
    }

    /// C++ up to one of these characters that is in no brackets, literal or comment, and where it
    /// begins. The character stays to be read.
    pub(crate) fn cpp_until(&mut self, ends: &str) -> Result<(&'s str, usize)> {
        self.pass_space()?;
        let (at, rest) = (self.at, self.rest());
        let length =
            cpp::until(rest, ends).map_err(|(offset, message)| self.error(at + offset, message))?;
        self.at += length;
        Ok((rest[..length].trim_end(), at))
    }

    /// C++ between braces whose first has been read, with its white space. The last brace is
    /// read.
    pub(crate) fn cpp_block(&mut self) -> Result<(&'s str, usize)> {
        let (at, rest) = (self.at, self.rest());
        let length =
            cpp::until(rest, "}").map_err(|(offset, message)| self.error(at + offset, message))?;
        self.at += length + 1;
        Ok((&rest[..length], at))
    }
}
