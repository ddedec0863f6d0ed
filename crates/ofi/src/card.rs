//! The card of a process: its provider and its address there. Processes exchange their cards
//! through the launcher.
#![forbid(unsafe_code)]

use std::fmt::Write;

/// Longest address that is accepted.
const ADDRESS_BYTES: usize = 512;

/// The card of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricCard {
    /// The provider, for example `verbs;ofi_rxm`.
    pub provider: String,
    /// Its address there.
    pub address: Vec<u8>,
}

impl FabricCard {
    /// Encodes the card: the provider, a slash, the address in hexadecimal digits.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}/", self.provider);
        for byte in &self.address {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Decodes a card; `None` if the text is malformed.
    pub fn parse(text: &str) -> Option<FabricCard> {
        let (provider, digits) = text.rsplit_once('/')?;
        let digits = digits.as_bytes();
        if provider.is_empty() || digits.is_empty() || digits.len() > 2 * ADDRESS_BYTES {
            return None;
        }
        let (pairs, []) = digits.as_chunks::<2>() else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
        let address = pairs.iter().map(byte).collect::<Option<_>>()?;
        Some(FabricCard { provider: provider.to_owned(), address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_card_is_read_back(provider in "[a-z_;/0-9]{1,20}", address in proptest::collection::vec(any::<u8>(), 1..80)) {
            let card = FabricCard { provider, address };
            prop_assert_eq!(FabricCard::parse(&card.to_text()), Some(card));
        }

        #[test]
        fn any_text_is_a_card_or_refused(text in "[a-f0-9/;x+é-]{0,40}") {
            if let Some(card) = FabricCard::parse(&text) {
                prop_assert_eq!(card.to_text(), text);
            }
        }
    }

    #[test]
    fn nonsense_is_no_card() {
        for text in ["", "tcp", "tcp/", "/00", "tcp/0", "tcp/0g", "tcp/+1"] {
            assert_eq!(FabricCard::parse(text), None, "{text}");
        }
        assert_eq!(FabricCard::parse(&format!("tcp/{}", "00".repeat(513))), None);
    }
}
