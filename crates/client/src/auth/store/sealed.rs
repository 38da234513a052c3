//! The format of an encrypted token file.
//!
//! All lengths are little-endian:
//!
//! | Bytes | Content |
//! |---|---|
//! | 16 | `boardlot tokens\n` |
//! | 1 | format version |
//! | 16 | salt of the passphrase; kept for the life of the file |
//! | 12 | nonce; random with each change |
//! | remainder | the keys and values, encrypted by AES-256-GCM, and the 16-byte tag |
//!
//! The plaintext is the length of the list of keys (4 bytes), the keys (origin, client id and
//! perhaps a user's name), each with a line feed, in order, and then the values, each preceded by
//! its length (4 bytes).
//!
//! All bytes before the ciphertext are associated data, so any flipped bit is detected. The costs
//! of Argon2id belong to the format version: a file cannot ask for excessive ones.

use std::collections::BTreeMap;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::Secret;
use crate::{
    error::{ErrorKind, Result},
    os::entropy,
};

const MAGIC: &[u8; 16] = b"boardlot tokens\n";
const FORMAT_VERSION: u8 = 1;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;

pub type Salt = [u8; SALT_BYTES];
pub type Key = Zeroizing<[u8; 32]>;
pub type Values = BTreeMap<String, Secret>;

/// A file's content, split but not yet authenticated.
pub struct Sealed<'a> {
    pub salt: Salt,
    nonce: [u8; NONCE_BYTES],
    /// Everything before the ciphertext.
    associated_data: &'a [u8],
    ciphertext: &'a [u8],
}

impl<'a> Sealed<'a> {
    pub fn parse(content: &'a [u8]) -> Result<Self, String> {
        let truncated = || "it is not a token store, or is truncated".to_owned();
        let rest = content.strip_prefix(MAGIC.as_slice()).ok_or_else(truncated)?;
        let (&[version], rest) = rest.split_first_chunk().ok_or_else(truncated)?;
        if version != FORMAT_VERSION {
            return Err(format!("its format version is {version}; expected {FORMAT_VERSION}"));
        }
        let (&salt, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
        let (&nonce, ciphertext) = rest.split_first_chunk().ok_or_else(truncated)?;
        let associated_data =
            content.get(..content.len() - ciphertext.len()).ok_or_else(truncated)?;
        Ok(Sealed { salt, nonce, associated_data, ciphertext })
    }

    /// Decrypts the values; `None` if the key is wrong or the content was changed.
    pub fn decrypt(&self, key: &Key) -> Result<Option<Secret>> {
        let mut buffer = Zeroizing::new(self.ciphertext.to_vec());
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        let opened =
            cipher(key)?.open_in_place(nonce, Aad::from(self.associated_data), &mut buffer);
        let Ok(length) = opened.map(|plaintext| plaintext.len()) else { return Ok(None) };
        buffer.truncate(length);
        Ok(Some(buffer.into()))
    }

    /// Returns the values by their keys; `None` if the plaintext does not fit the keys.
    pub fn values(&self, plaintext: &[u8]) -> Option<Values> {
        let (keys, mut rest) = split_counted(plaintext)?;
        let keys = std::str::from_utf8(keys).ok()?;
        let mut values = Values::new();
        for key in keys.split_terminator('\n') {
            let value;
            (value, rest) = split_counted(rest)?;
            values.insert(key.to_owned(), Secret::new(value.to_vec()));
        }
        rest.is_empty().then_some(values)
    }
}

/// Splits off bytes that are preceded by their length.
fn split_counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(length)).ok()?)
}

/// Returns the content of a file with these values, under a new nonce.
pub fn seal(salt: &Salt, key: &Key, values: &Values) -> Result<Vec<u8>> {
    let nonce: [u8; NONCE_BYTES] = random()?;
    let keys: String = values.keys().map(|key| format!("{key}\n")).collect();
    let mut content = Vec::new();
    content.extend_from_slice(MAGIC);
    content.push(FORMAT_VERSION);
    content.extend_from_slice(salt);
    content.extend_from_slice(&nonce);
    // Large enough that the buffer does not move and leave copies of the secrets behind.
    let capacity = values.values().map(|value| value.len() + 4).sum::<usize>();
    let mut buffer = Zeroizing::new(Vec::with_capacity(4 + keys.len() + capacity + TAG_BYTES));
    buffer.extend_from_slice(&encoded_length(keys.len())?);
    buffer.extend_from_slice(keys.as_bytes());
    for value in values.values() {
        buffer.extend_from_slice(&encoded_length(value.len())?);
        buffer.extend_from_slice(value);
    }
    let nonce = Nonce::assume_unique_for_key(nonce);
    cipher(key)?
        .seal_in_place_append_tag(nonce, Aad::from(content.as_slice()), &mut *buffer)
        .map_err(|_| ErrorKind::Store("the tokens cannot be encrypted".into()))?;
    content.extend_from_slice(&buffer);
    Ok(content)
}

/// Returns random bytes from the operating system, such as a new salt.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    entropy::fill(&mut bytes)?;
    Ok(bytes)
}

fn cipher(key: &Key) -> Result<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, key.as_ref())
        .map(LessSafeKey::new)
        .map_err(|_| ErrorKind::Store("AES-256-GCM is not available".into()).into())
}

fn encoded_length(length: usize) -> Result<[u8; 4]> {
    u32::try_from(length)
        .map(u32::to_le_bytes)
        .map_err(|_| ErrorKind::Store("a value is too large for the store".into()).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_values_are_sealed_and_opened(
            values in proptest::collection::btree_map(
                "[^\n\0]{1,20}",
                proptest::collection::vec(any::<u8>(), 0..60),
                0..6,
            ),
        ) {
            let key = Key::new([7; 32]);
            let values: Values =
                values.into_iter().map(|(key, value)| (key, Secret::new(value))).collect();
            let content = seal(&[1; SALT_BYTES], &key, &values).expect("sealed");
            for name in values.keys().filter(|name| name.len() > 3) {
                prop_assert!(!content.windows(name.len()).any(|bytes| bytes == name.as_bytes()));
            }
            let sealed = Sealed::parse(&content).expect("parsed");
            prop_assert_eq!(sealed.salt, [1; SALT_BYTES]);
            let plaintext = sealed.decrypt(&key).expect("AES").expect("the right key");
            prop_assert!(sealed.values(&plaintext) == Some(values));
            prop_assert!(sealed.decrypt(&Key::new([8; 32])).expect("AES").is_none());
        }

        #[test]
        fn any_bytes_are_parsed_or_rejected(
            bytes in proptest::collection::vec(any::<u8>(), 0..120),
        ) {
            let whole = |version| [MAGIC.as_slice(), &[version], &bytes].concat();
            for bytes in [&bytes, &whole(FORMAT_VERSION), &whole(FORMAT_VERSION + 1)] {
                if let Ok(sealed) = Sealed::parse(bytes) {
                    let length = sealed.associated_data.len() + sealed.ciphertext.len();
                    prop_assert_eq!(length, bytes.len());
                    let _ = sealed.values(sealed.ciphertext);
                }
            }
        }
    }
}
