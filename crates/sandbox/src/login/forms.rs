//! The forms of the authorization page, each with a token against forged submissions.

use super::authorization::AuthorizationRequest;
use crate::credentials::hashed_store::{Hash, HashedStore, equal, hash};

/// How long a page may stay open.
pub const FORM_LIFETIME_MS: i64 = 600_000;
const FORMS_MAX: usize = 1_000;

/// The forms of the pages that were shown, by their ids. Each can be submitted once.
#[derive(Debug)]
pub struct Forms(HashedStore<Form>);

#[derive(Debug)]
struct Form {
    request: AuthorizationRequest,
    /// What the hidden field and the cookie both have to contain.
    token: Hash,
    until_ms: i64,
}

impl Default for Forms {
    fn default() -> Self {
        Forms(HashedStore::new(FORMS_MAX))
    }
}

impl Forms {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn add(&mut self, id: &str, request: AuthorizationRequest, token: &str, now_ms: i64) {
        let until_ms = now_ms.saturating_add(FORM_LIFETIME_MS);
        self.0.insert(id, Form { request, token: hash(token), until_ms });
    }

    /// The request of a form if both copies of its token are right. Another site could forge the
    /// field, but not the cookie.
    pub fn take(
        &mut self,
        id: &str,
        field: &str,
        cookie: &str,
        now_ms: i64,
    ) -> Option<AuthorizationRequest> {
        let form = self.0.get(id)?;
        let is_ours = equal(&form.token, &hash(field)) & equal(&form.token, &hash(cookie));
        if !is_ours || now_ms >= form.until_ms {
            return None;
        }
        self.0.remove(id).map(|form| form.request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::authorization::example as request;

    const NOW: i64 = 1_790_000_000_000;

    #[test]
    fn security_35_a_form_needs_both_copies_of_its_token_and_works_once() {
        let mut forms = Forms::default();
        forms.add("f", request(), "token", NOW);
        for (id, field, cookie, after) in [
            ("g", "token", "token", 0),
            ("f", "", "", 0),
            ("f", "token", "", 0),
            ("f", "", "token", 0),
            ("f", "token", "Token", 0),
            ("f", "token", "token", FORM_LIFETIME_MS),
        ] {
            assert!(forms.take(id, field, cookie, NOW + after).is_none(), "{id} {field} {cookie}");
        }
        assert!(forms.take("f", "token", "token", NOW + FORM_LIFETIME_MS - 1).is_some());
        assert!(forms.take("f", "token", "token", NOW).is_none());
    }

    #[test]
    fn forms_are_bounded() {
        let mut forms = Forms::default();
        for number in 0..FORMS_MAX + 5 {
            forms.add(&format!("f{number}"), request(), "t", NOW);
        }
        assert!(forms.take("f4", "t", "t", NOW).is_none());
        assert!(forms.take("f5", "t", "t", NOW).is_some());
    }
}
