//! The user's state folder: lock files, and values that are too large for a keychain.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::{Guard, REFRESH_LOCK_TIMEOUT, files, keys::lock_slot};
use crate::{error::Result, os::texts::state_folder};

/// Takes a lock file in the user's state folder, for a store without a folder of its own.
pub fn lock_in_state_folder(store: &str, key: &str) -> Result<Guard> {
    let name = match lock_slot(key).as_str() {
        "" => format!("{}.lock", digest(&format!("{store}\n{key}"))),
        slot => format!("{store}-{slot}.lock"),
    };
    let path = state_folder()?.join(name);
    files::lock(&path, REFRESH_LOCK_TIMEOUT, &|| Ok(())).map(Guard::new)
}

/// Makes the name of a file from any text.
pub fn digest(text: &str) -> String {
    let hash = Sha256::digest(text);
    URL_SAFE_NO_PAD.encode(hash.get(..16).unwrap_or(&hash))
}
