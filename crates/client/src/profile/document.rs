//! Changes to the text of `config.toml` that preserve everything else in it, including comments.

use std::ops::Range;

use serde::Serialize;
use toml_edit::{DocumentMut, Item, Table, TomlError, ser::ValueSerializer};

use super::entry::Profile;

const DEFAULT: &str = "default_profile";

/// Returns the text after a change. The error tells what is wrong with the text or the change.
pub(super) fn changed(
    before: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
) -> Result<String, String> {
    let mut document: DocumentMut = before
        .parse()
        .map_err(|error: TomlError| problem(before, error.span(), error.message()))?;
    // A file with only comments: the comments would end up after the first table.
    let mut head = String::new();
    if document.is_empty() {
        document = DocumentMut::new();
        before.clone_into(&mut head);
        if !before.is_empty() && !before.ends_with('\n') {
            head.push('\n');
        }
    }
    change(&mut document)?;
    Ok(format!("{head}{document}"))
}

/// Returns the line of an error, and its key. A line without a key is not shown, because it may be
/// a part of a secret.
pub(super) fn problem(text: &str, span: Option<Range<usize>>, what: &str) -> String {
    let start = span.map_or(0, |span| span.start);
    let number = text.get(..start).unwrap_or_default().matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default();
    let is_name =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-. []".contains(c));
    let key = match line.split_once('=') {
        Some((key, _)) => key.trim(),
        None if line.starts_with('[') => line.trim(),
        None => "",
    };
    let shown = Some(key).filter(|key| !key.is_empty() && is_name(key));
    format!(
        "line {}{}: {what}",
        number + 1,
        shown.map(|key| format!(", '{key}'")).unwrap_or_default()
    )
}

/// Adds a profile. An existing one is updated with `replace`, and an error otherwise.
pub(super) fn insert(
    document: &mut DocumentMut,
    profile: &Profile,
    replace: bool,
) -> Result<(), String> {
    let name = &profile.name;
    let mut profiles = Table::new();
    profiles.set_implicit(true);
    let profiles = document.entry("profiles").or_insert(Item::Table(profiles));
    let profiles = profiles.as_table_like_mut().ok_or("'profiles' is not a table")?;
    if profiles.contains_key(name) && !replace {
        return Err(format!("the profile '{name}' already exists; choose another name"));
    }
    let entry = profiles.entry(name).or_insert(Item::Table(Table::new()));
    let entry =
        entry.as_table_like_mut().ok_or_else(|| format!("the profile '{name}' is not a table"))?;
    let mut value = profile
        .serialize(ValueSerializer::new())
        .map_err(|error| format!("the profile '{name}' cannot be written: {error}"))?;
    let members = value.as_inline_table_mut().ok_or("a profile is a table")?;
    for member in [
        "base_url",
        "proxy",
        "ca_file",
        "client_cert",
        "auth",
        "rate_limit",
        "rate_limit_shared",
        "read_only",
    ] {
        match members.remove(member) {
            Some(value) => drop(entry.insert(member, Item::Value(value))),
            None => drop(entry.remove(member)),
        }
    }
    Ok(())
}

/// Removes a profile. If it was the default, there is no default any more.
pub(super) fn remove(document: &mut DocumentMut, name: &str) -> Result<(), String> {
    let profiles = document.get_mut("profiles").and_then(Item::as_table_like_mut);
    if profiles.and_then(|profiles| profiles.remove(name)).is_none() {
        // Another process was faster.
        return Err(format!("the profile '{name}' no longer exists"));
    }
    if document.get(DEFAULT).and_then(Item::as_str) == Some(name) {
        document.remove(DEFAULT);
    }
    Ok(())
}

/// Makes a profile the default, or unsets the default.
pub(super) fn set_default(document: &mut DocumentMut, name: Option<&str>) {
    match name {
        Some(name) => drop(document.insert(DEFAULT, Item::Value(name.into()))),
        None => drop(document.remove(DEFAULT)),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::entry::ProfileAuth, *};

    fn login() -> Profile {
        let auth = ProfileAuth::OAuth {
            client_id: "a \"quoted\" id".to_owned(),
            store: Some("/tokens".into()),
            passphrase_file: None,
            passphrase_command: Some(vec!["pass".to_owned(), "a \"b\"".to_owned()]),
        };
        Profile {
            name: "live".to_owned(),
            base_url: "https://api.example.com".to_owned(),
            auth,
            endpoints: None,
            proxy: None,
            ca_file: None,
            client_cert: None,
            rate_limit: None,
            rate_limit_shared: false,
            read_only: false,
        }
    }

    fn inserted(before: &str, replace: bool) -> Result<String, String> {
        changed(before, |document| insert(document, &login(), replace))
    }

    #[test]
    fn a_profile_is_added_and_the_rest_is_preserved() {
        let before = "# mine\n\n[profiles.paper] # not real\nbase_url = 'x'\n";
        let text = inserted(before, false).expect("added");
        let added = "\n[profiles.live]\nbase_url = \"https://api.example.com\"\nauth = { kind = \
                     \"oauth\", client_id = 'a \"quoted\" id', store = \"/tokens\", \
                     passphrase_command = [\"pass\", 'a \"b\"'] }\n";
        assert_eq!(text, format!("{before}{added}"));
        inserted(&text, false).expect_err("it exists");
        assert_eq!(inserted(&text, true).expect("the same"), text);
        assert!(inserted("# mine", false).expect("added").starts_with("# mine\n[profiles"));
    }

    #[test]
    fn a_profile_is_removed_with_its_being_the_default() {
        let text = inserted("[profiles.paper]\nbase_url = 'x'\n", false).expect("added");
        let chosen = changed(&text, |document| {
            set_default(document, Some("live"));
            Ok(())
        });
        let chosen = chosen.expect("chosen");
        assert!(chosen.starts_with("default_profile = \"live\"\n"), "{chosen}");
        let left = changed(&chosen, |document| remove(document, "live")).expect("removed");
        assert_eq!(left.trim(), "[profiles.paper]\nbase_url = 'x'");
        changed(&left, |document| remove(document, "live")).expect_err("gone");
    }
}
