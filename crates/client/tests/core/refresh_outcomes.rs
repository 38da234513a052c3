//! The end of a login, and what a refresh finds in the store when it ends.

use boardlot_client::extension::{
    auth::{
        TokenResponse,
        store::{TokenStore, refusal_key, token_key, user_key},
    },
    error::{ErrorKind, Result},
};

use super::{
    logins::{Disk, ORIGIN, Rig, good_for, refused, rig, rig_meanwhile},
    tokens::token_response,
};

async fn token_meanwhile(
    change: fn(&Disk),
    response: Result<TokenResponse>,
) -> (Rig, Result<String>) {
    let rig = rig_meanwhile(&good_for("a", -1), None, vec![response], change);
    let token = rig.token(None).await;
    (rig, token)
}

#[tokio::test]
async fn security_51_what_was_stored_meanwhile_is_used_whatever_the_service_returns() {
    let newer = |disk: &Disk| disk.put(&good_for("n", 3_000));
    for response in [refused("invalid_grant"), Ok(token_response("late", None, 3_600))] {
        let (rig, token) = token_meanwhile(newer, response).await;
        assert_eq!(token.expect("a token"), "n");
        assert_eq!(rig.disk.stored().access_token.as_str(), "n");
        assert_eq!(rig.ready(None).as_deref(), Some("n"));
        assert!(!rig.disk.has_refusal());
    }
    // A useless token that was stored meanwhile does not replace a new one.
    let older = |disk: &Disk| disk.put(&good_for("o", -2));
    let (rig, token) = token_meanwhile(older, Ok(token_response("b", None, 3_600))).await;
    assert_eq!(token.expect("a token"), "b");
    assert_eq!(rig.disk.stored().access_token.as_str(), "b");
}

#[tokio::test]
async fn a_refresh_that_ends_after_a_logout_brings_the_login_back_in_no_case() {
    let logout = |disk: &Disk| disk.delete(&token_key(ORIGIN, "c")).expect("deleted");
    for response in [refused("invalid_grant"), Ok(token_response("late", None, 3_600))] {
        let (rig, token) = token_meanwhile(logout, response).await;
        let error = token.expect_err("logged out");
        assert!(error.to_string().contains("the store has no token"), "{error}");
        assert!(rig.disk.load(&token_key(ORIGIN, "c")).expect("loads").is_none());
        assert!(!rig.disk.has_refusal());
        assert_eq!(rig.ready(None), None);
    }
}

#[tokio::test]
async fn a_logout_and_new_tokens_leave_no_refusal_in_the_store() {
    for logs_out in [true, false] {
        let rig = rig(&good_for("a", -1), None, vec![refused("invalid_grant")]);
        rig.token(None).await.expect_err("refused");
        assert!(rig.disk.has_refusal());
        if logs_out {
            rig.oauth.log_out().await.expect("logged out");
        } else {
            // A new login of this client.
            rig.oauth.save_user(good_for("b", 3_000)).await.expect("saved");
            assert_eq!(rig.token(None).await.expect("a token"), "b");
        }
        assert!(!rig.disk.has_refusal());
    }
}

#[tokio::test]
async fn security_51_only_an_oauth_error_ends_a_login() {
    let other_form = || {
        let (error, description) = ("invalid_grant".to_owned(), "Forbidden".to_owned());
        Err(ErrorKind::GrantRejected { error, description }.into())
    };
    for response in [refused("interaction_required"), refused("bad_refresh_token")] {
        let rig = rig(&good_for("a", -1), None, vec![response]);
        rig.token(None).await.expect_err("refused");
        assert!(rig.disk.has_refusal());
    }
    for response in [other_form(), refused("server_error"), refused("slow_down")] {
        let is_rejection = response
            .as_ref()
            .is_err_and(|error| matches!(*error.kind, ErrorKind::GrantRejected { .. }));
        let rig =
            rig(&good_for("a", -1), None, vec![response, Ok(token_response("b", None, 3_600))]);
        if !is_rejection {
            rig.token(None).await.expect_err("trouble");
            assert!(!rig.disk.has_refusal());
            continue;
        }
        let error = rig.token(None).await.expect_err("rejected");
        assert!(matches!(*error.kind, ErrorKind::LoginRequired { .. }), "{error}");
        assert!(error.hint().starts_with("Call again: the stored login is unchanged"), "{error}");
        assert!(!rig.disk.has_refusal());
        assert_eq!(rig.token(None).await.expect("a token"), "b");
    }
    // A token that is still good serves meanwhile.
    let holding = rig(&good_for("a", 30), None, vec![other_form()]);
    assert_eq!(holding.token(None).await.expect("a token"), "a");
}

#[test]
fn security_51_a_refusal_has_a_key_of_its_own() {
    let key = user_key(ORIGIN, "c", "ann");
    assert_ne!(refusal_key(&key), user_key(ORIGIN, "c", "ann %refused"));
    assert_ne!(refusal_key(&key), key);
}
