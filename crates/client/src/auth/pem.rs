//! PEM (RFC 7468), in every layout that OpenSSL reads: the one reader of keys and certificates.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use zeroize::Zeroizing;

use super::Unreadable;

/// The beginning of a block.
pub const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";

/// A block: its label and its decoded Base64.
pub struct Block {
    /// The text after `BEGIN`.
    pub label: String,
    /// The content. None if it is not Base64, as with the headers of a traditionally encrypted key.
    pub content: Option<Zeroizing<Vec<u8>>>,
}

boardlot_service::shown_as!(Block, |this| "Block({})", this.label);

/// Base64 with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Finds the blocks of a text, with any white space and any text between them. A block without its
/// end is an error, so that no block is lost.
pub fn blocks(text: &[u8]) -> Result<Vec<Block>, Unreadable> {
    let refuse = |what: String| Err(format!("is not valid PEM: {what}").into());
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((_, after)) = split_once(rest, BEGIN) {
        let Some((label, after)) = split_once(after, DASHES) else {
            return refuse("a BEGIN line without its end".to_owned());
        };
        // If the label is not text, none of it is shown.
        let label = std::str::from_utf8(label).unwrap_or_default().trim().to_owned();
        let is_label = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' ';
        if label.is_empty() || label.len() > 64 || !label.chars().all(is_label) {
            return refuse("a BEGIN line without a label".to_owned());
        }
        let end = format!("-----END {label}-----");
        let content = split_once(after, &end).filter(|(text, _)| split_once(text, BEGIN).is_none());
        let Some((content, after)) = content else {
            return refuse(format!("BEGIN {label} has no END {label}; is a part missing?"));
        };
        found.push(Block { label, content: decoded(content) });
        rest = after;
    }
    Ok(found)
}

fn decoded(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut packed = Zeroizing::new(Vec::with_capacity(text.len()));
    packed.extend(text.iter().filter(|byte| !byte.is_ascii_whitespace()));
    let content = Zeroizing::new(BASE64.decode(packed.as_slice()).ok()?);
    (!content.is_empty()).then_some(content)
}

fn split_once<'a>(text: &'a [u8], separator: &str) -> Option<(&'a [u8], &'a [u8])> {
    let start = text.windows(separator.len()).position(|part| part == separator.as_bytes())?;
    Some((text.get(..start)?, text.get(start + separator.len()..)?))
}
