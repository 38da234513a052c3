"""What to do about an error of each exception class, unless it has a hint of its own.

Generated from `crates/service/src/error/exception.rs` by `make generate`: change that, not this.
"""

HINTS = {
    "BoardlotError": "",
    "ConfigError": "",
    "InternalError": "Report this as a bug, with the message and the call that raised it.",
    "TransportError": "Check the base URL, the network and the proxy, then call again.",
    "RequestTimeout": "Call again, or set a larger `timeout`.",
    "ProtocolError": "Check that the base URL is the API's own and that no proxy or login page responds in its place.",
    "PaginationError": "Resume from `.checkpoint` later; report the error if it repeats.",
    "ApiError": "Ask the service about the code or status, which its documentation does not explain; `.body` is its response.",
    "InvalidParameter": "Check the arguments: the docstring of the method says what each of them accepts.",
    "InvalidSymbol": "Verify that the code exists and is written as {market}.{code}.",
    "ServiceError": "Call again later; report the error if it persists.",
    "AuthenticationError": "Check the key id and that its public key was uploaded, or check the token.",
    "ClockSkewError": "Check this machine's clock, that the uploaded key is the one that signs, and that you do not send too many requests.",
    "PermissionDenied": "Log in again and allow what is missing on the consent page, or use another account or key.",
    "RateLimited": "Send fewer requests: set `rate_limit`.",
    "OAuthError": "Start the login again.",
    "LoginRequired": "Log in again: run `boardlot login`, or call `boardlot.login(base_url)`.",
    "StoreError": "Check the owner and permissions of the file; for a token store, also the passphrase, or that the keychain is unlocked. Stored tokens are unchanged.",
}
