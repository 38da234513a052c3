//! Searches and comparisons that look at several bytes at a time.

/// Finds the next quote, backslash or control character, or the end.
#[inline(always)]
pub(in crate::decode) fn find_special(bytes: &[u8], from: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    let mut from = from;
    #[cfg(target_arch = "x86_64")]
    while let Some(chunk) = bytes.get(from..).and_then(<[u8]>::first_chunk) {
        match sse2::specials(chunk) {
            0 => from += chunk.len(),
            bits => return from + bits.trailing_zeros() as usize,
        }
    }
    find(bytes, from, word::first_special, is_special)
}

/// Finds the next byte that is not a digit, or the end.
#[inline(always)]
pub(in crate::decode) fn find_non_digit(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, word::first_non_digit, |byte| !byte.is_ascii_digit())
}

/// Sets a bit for each byte of these blocks that is a quote, backslash or control character. The
/// first byte of a block has the least significant bit.
pub(super) fn specials<'a>(blocks: impl Iterator<Item = &'a [u8; 64]>, words: &mut [[u8; 8]]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the only way to call code for some processors only")]
        // SAFETY: this processor has AVX2.
        return unsafe { avx2::specials(blocks, words) };
    }
    for (block, word) in blocks.zip(words) {
        *word = specials_of_block(block).to_le_bytes();
    }
}

#[inline(always)]
fn specials_of_block(block: &[u8; 64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    return block
        .as_chunks()
        .0
        .iter()
        .rev()
        .fold(0, |bits, chunk| bits << 16 | u64::from(sse2::specials(chunk)));
    #[cfg(not(target_arch = "x86_64"))]
    block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(is_special(*byte)))
}

/// Counts the digits among these bytes, up to the first other byte.
#[inline(always)]
pub(in crate::decode) fn count_digits(chunk: &[u8; 16]) -> usize {
    #[cfg(target_arch = "x86_64")]
    return sse2::non_digits(chunk).trailing_zeros() as usize;
    #[cfg(not(target_arch = "x86_64"))]
    find_non_digit(chunk, 0)
}

/// Compares short slices as `left == right` does, but without the function call that the operator
/// compiles to.
#[inline(always)]
pub fn short_eq(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    match (left.first_chunk::<8>(), right.first_chunk::<8>()) {
        (Some(ours), Some(theirs)) if left.len() <= 16 => {
            // The last eight bytes overlap the first.
            ours == theirs && left.last_chunk::<8>() == right.last_chunk::<8>()
        }
        (Some(_), Some(_)) if left.len() <= 32 => {
            left.first_chunk::<16>() == right.first_chunk::<16>()
                && left.last_chunk::<16>() == right.last_chunk::<16>()
        }
        (Some(_), Some(_)) => left == right,
        _ => match (left.first_chunk::<4>(), right.first_chunk::<4>()) {
            (Some(ours), Some(theirs)) => {
                ours == theirs && left.last_chunk::<4>() == right.last_chunk::<4>()
            }
            _ => left.iter().eq(right),
        },
    }
}

/// Returns true if all of these bytes are digits.
#[inline(always)]
pub(in crate::decode) fn all_digits(chunk: &[u8; 8]) -> bool {
    word::first_non_digit(chunk).is_none()
}

fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

#[inline(always)]
fn find(
    bytes: &[u8],
    from: usize,
    find_in_chunk: impl Fn(&[u8; 8]) -> Option<usize>,
    is_match: impl Fn(u8) -> bool,
) -> usize {
    let mut position = from;
    while let Some(chunk) = bytes.get(position..).and_then(<[u8]>::first_chunk) {
        if let Some(offset) = find_in_chunk(chunk) {
            return position + offset;
        }
        position += 8;
    }
    let tail = bytes.get(position..).unwrap_or_default();
    position + tail.iter().position(|byte| is_match(*byte)).unwrap_or(tail.len())
}

/// Sixteen bytes at a time with SSE2, which every x86-64 processor has. Scanning a page takes a
/// quarter less time than with eight bytes.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_min_epu8, _mm_movemask_epi8,
        _mm_or_si128, _mm_set1_epi8, _mm_sub_epi8,
    };

    #[inline(always)]
    #[expect(unsafe_code, reason = "the only way to call vector instructions")]
    pub fn specials(chunk: &[u8; 16]) -> u16 {
        // SAFETY: SSE2 is part of every x86-64 processor. The load reads exactly these sixteen
        // bytes and needs no alignment.
        let bits = unsafe {
            let bytes = _mm_loadu_si128(chunk.as_ptr().cast::<__m128i>());
            let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"'.cast_signed()));
            let backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\'.cast_signed()));
            let controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), controls))
        };
        bits as u16
    }

    /// Sets a bit for each byte that is not a digit.
    #[inline(always)]
    #[expect(unsafe_code, reason = "the only way to call vector instructions")]
    pub fn non_digits(chunk: &[u8; 16]) -> u16 {
        // SAFETY: as above.
        let bits = unsafe {
            let bytes = _mm_loadu_si128(chunk.as_ptr().cast::<__m128i>());
            // After this, digits are 0 to 9, and all other bytes are larger.
            let shifted = _mm_sub_epi8(bytes, _mm_set1_epi8(b'0'.cast_signed()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(shifted, _mm_set1_epi8(10)), shifted))
        };
        bits as u16
    }
}

/// Thirty-two bytes at a time with AVX2, which most processors since 2015 have.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8,
    };

    /// The same as `super::specials`.
    #[target_feature(enable = "avx2")]
    pub fn specials<'a>(blocks: impl Iterator<Item = &'a [u8; 64]>, words: &mut [[u8; 8]]) {
        let quote = _mm256_set1_epi8(b'"'.cast_signed());
        let backslash = _mm256_set1_epi8(b'\\'.cast_signed());
        let control = _mm256_set1_epi8(0x1f);
        for (block, word) in blocks.zip(words) {
            let (chunks, _) = block.as_chunks::<32>();
            let bits = chunks.iter().rev().fold(0, |bits, chunk| {
                #[expect(unsafe_code, reason = "a load of these bytes into a vector")]
                // SAFETY: the load reads exactly these bytes and needs no alignment.
                let bytes = unsafe { _mm256_loadu_si256(chunk.as_ptr().cast::<__m256i>()) };
                let quotes = _mm256_cmpeq_epi8(bytes, quote);
                let backslashes = _mm256_cmpeq_epi8(bytes, backslash);
                let controls = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, control), bytes);
                let specials = _mm256_or_si256(_mm256_or_si256(quotes, backslashes), controls);
                bits << 32 | u64::from(_mm256_movemask_epi8(specials).cast_unsigned())
            });
            *word = bits.to_le_bytes();
        }
    }
}

/// Eight bytes at a time in one integer (SWAR): the top bit of a byte marks a match. A borrow may
/// set extra bits above the lowest match, never below it.
mod word {
    const ONES: u64 = u64::MAX / 0xff;
    const TOP_BITS: u64 = ONES * 0x80;

    #[inline(always)]
    pub fn first_special(chunk: &[u8; 8]) -> Option<usize> {
        let bytes = u64::from_le_bytes(*chunk);
        let below = |limit: u8, of: u64| of.wrapping_sub(ONES * u64::from(limit)) & !of;
        let (quote, backslash) = (bytes ^ (ONES * 0x22), bytes ^ (ONES * 0x5c));
        first_mark(below(0x20, bytes) | below(1, quote) | below(1, backslash))
    }

    #[inline(always)]
    pub fn first_non_digit(chunk: &[u8; 8]) -> Option<usize> {
        // Digits are 0x30 to 0x39. With the 0x30 cleared, adding 0x76 sets the top bit of anything
        // above 9, and no sum carries into the next byte.
        let cleared = u64::from_le_bytes(*chunk) ^ (ONES * 0x30);
        first_mark(((cleared & !TOP_BITS) + ONES * 0x76) | cleared)
    }

    #[inline(always)]
    fn first_mark(marks: u64) -> Option<usize> {
        let marks = marks & TOP_BITS;
        (marks != 0).then_some((marks.trailing_zeros() / 8) as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_match_of_eight_bytes_is_found(
            bytes in proptest::array::uniform8(prop_oneof![any::<u8>(), 0x2f_u8..0x3b, 0x1e_u8..0x24]),
        ) {
            let special = bytes.iter().position(|byte| is_special(*byte));
            prop_assert_eq!(word::first_special(&bytes), special);
            let non_digit = bytes.iter().position(|byte| !byte.is_ascii_digit());
            prop_assert_eq!(word::first_non_digit(&bytes), non_digit);
        }

        #[test]
        fn matches_are_found_in_texts_of_any_length(
            bytes in proptest::collection::vec(prop_oneof![9 => 0x30_u8..0x3a, 1 => any::<u8>()], 0..70),
            from in 0_usize..70,
        ) {
            let expected = |is_match: fn(u8) -> bool| {
                let tail = bytes.get(from..).unwrap_or_default();
                from + tail.iter().position(|byte| is_match(*byte)).unwrap_or(tail.len())
            };
            prop_assert_eq!(find_special(&bytes, from), expected(is_special));
            prop_assert_eq!(find_non_digit(&bytes, from), expected(|byte| !byte.is_ascii_digit()));
        }

        #[test]
        fn every_special_byte_of_a_block_is_found(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), 0x1e_u8..0x24, 0x5b_u8..0x5e], 64,
            ),
        ) {
            let block = bytes.first_chunk().unwrap();
            let mut words = [[0; 8]];
            specials([block].into_iter(), &mut words);
            let specials = u64::from_le_bytes(words[0]);
            prop_assert_eq!(specials, specials_of_block(block));
            for (index, byte) in bytes.iter().enumerate() {
                prop_assert_eq!(specials >> index & 1 == 1, is_special(*byte), "{}", index);
            }
        }

        #[test]
        fn digits_are_counted(
            bytes in proptest::array::uniform16(prop_oneof![30 => 0x30_u8..0x3a, 1 => any::<u8>()]),
        ) {
            let expected = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            prop_assert_eq!(count_digits(&bytes), expected);
        }

        #[test]
        fn short_eq_compares_every_byte(text in "[a-c]{0,40}", other in "[a-c]{0,40}", at in 0_usize..40) {
            let mut near = text.clone().into_bytes();
            if let Some(byte) = near.get_mut(at) { *byte ^= 1; }
            for other in [text.as_bytes(), other.as_bytes(), &near] {
                prop_assert_eq!(short_eq(text.as_bytes(), other), text.as_bytes() == other);
            }
        }
    }
}
