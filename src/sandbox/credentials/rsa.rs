//! Verifies RSASSA-PKCS1-v1_5 signatures over SHA-256 (RFC 8017, section 8.2.2). Only public values
//! take part, so nothing has to run in constant time.

use num_bigint::BigUint;
use pkcs8::der::{Decode, Reader, SliceReader, asn1::UintRef};
use sha2::{Digest, Sha256};

const MIN_BITS: u64 = 2048;
const MAX_BITS: u64 = 8192;
const MAX_EXPONENT_BITS: u64 = 33;

/// The DER of a `DigestInfo` for SHA-256, up to the digest.
const DIGEST_INFO: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];

/// An RSA public key.
#[derive(Debug)]
pub struct RsaPublicKey {
    modulus: BigUint,
    exponent: BigUint,
    /// Of the modulus, and so of every signature.
    length: usize,
}

impl RsaPublicKey {
    /// Reads the DER of an `RSAPublicKey` (RFC 8017, appendix A.1.1).
    pub fn from_pkcs1(der: &[u8]) -> Result<Self, String> {
        let mut reader = SliceReader::new(der).map_err(|error| error.to_string())?;
        let (modulus, exponent) = reader
            .sequence(|reader| Ok((UintRef::decode(reader)?, UintRef::decode(reader)?)))
            .and_then(|numbers| reader.finish().map(|()| numbers))
            .map_err(|error: pkcs8::der::Error| error.to_string())?;
        let length = modulus.as_bytes().len();
        let modulus = BigUint::from_bytes_be(modulus.as_bytes());
        let exponent = BigUint::from_bytes_be(exponent.as_bytes());
        if modulus.bits() < MIN_BITS {
            return Err(format!("an RSA key under {MIN_BITS} bits"));
        }
        if modulus.bits() > MAX_BITS {
            return Err(format!("an RSA key over {MAX_BITS} bits"));
        }
        let is_odd = modulus.bit(0) && exponent.bit(0);
        if !is_odd || !(2..=MAX_EXPONENT_BITS).contains(&exponent.bits()) {
            return Err("an RSA key with an invalid modulus or exponent".to_owned());
        }
        Ok(RsaPublicKey { modulus, exponent, length })
    }

    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let number = BigUint::from_bytes_be(signature);
        signature.len() == self.length
            && number < self.modulus
            && number.modpow(&self.exponent, &self.modulus) == self.encoded(message)
    }

    /// The only valid encoding of a message (EMSA-PKCS1-v1_5): it is compared whole, so that there
    /// is no padding to parse.
    fn encoded(&self, message: &[u8]) -> BigUint {
        let digest = Sha256::digest(message);
        let padding = self.length - DIGEST_INFO.len() - digest.len() - 3;
        let mut encoded = vec![0x00, 0x01];
        encoded.resize(2 + padding, 0xff);
        encoded.push(0x00);
        encoded.extend_from_slice(&DIGEST_INFO);
        encoded.extend_from_slice(&digest);
        BigUint::from_bytes_be(&encoded)
    }
}

#[cfg(test)]
mod tests {
    use pkcs8::der::{Encode, asn1::UintRef};

    use super::*;

    /// A `RSAPublicKey` of these numbers, with `after` behind it.
    fn key(modulus: &[u8], exponent: &[u8], after: &[u8]) -> Result<RsaPublicKey, String> {
        let numbers = [modulus, exponent].map(|bytes| UintRef::new(bytes).expect("a number"));
        let mut der = numbers.to_vec().to_der().expect("DER");
        der.extend_from_slice(after);
        RsaPublicKey::from_pkcs1(&der)
    }

    #[test]
    fn only_a_usable_public_key_is_read() {
        let modulus = [0xff; 256];
        assert!(key(&modulus, &[1, 0, 1], b"").is_ok());
        assert!(key(&[0xff; 1024], &[3], b"").is_ok());
        let even = [[0xff; 255].as_slice(), &[0xfe]].concat();
        for (modulus, exponent, after) in [
            (&modulus[..255], [1, 0, 1].as_slice(), b"".as_slice()),
            (&[0xff; 1025], &[1, 0, 1], b""),
            (&even, &[1, 0, 1], b""),
            (&modulus, &[1], b""),
            (&modulus, &[0], b""),
            (&modulus, &[1, 0, 0], b""),
            (&modulus, &[3, 0, 0, 0, 1], b""),
            (&modulus, &[1, 0, 1], b"\0"),
        ] {
            key(modulus, exponent, after).expect_err("refused");
        }
        RsaPublicKey::from_pkcs1(b"").expect_err("no DER");
    }

    #[test]
    fn a_number_beyond_the_modulus_is_not_a_signature() {
        // With the exponent 1 a signature would be the encoded message itself.
        let key = RsaPublicKey {
            modulus: BigUint::from_bytes_be(&[0xff; 256]),
            exponent: BigUint::from(1u8),
            length: 256,
        };
        let encoded = key.encoded(b"message");
        let mut signature = vec![0];
        signature.extend_from_slice(&encoded.to_bytes_be());
        assert!(key.verifies(b"message", &signature));
        assert!(!key.verifies(b"other", &signature));
        assert!(!key.verifies(b"message", signature.get(1..).expect("bytes")), "a byte short");
        let beyond = (encoded + &key.modulus).to_bytes_be();
        assert!(!key.verifies(b"message", &beyond));
    }
}
