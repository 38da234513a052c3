"""The signed URL is the sent one, whatever the arguments; hostile ones never leave."""

from urllib.parse import parse_qsl, urlsplit

import boardlot as bl
from hypothesis import given, settings
from hypothesis import strategies as st

KEY = bl.ApiKey("app-key", bl.generate_key().private_pem)
CLIENT = bl.Client("https://127.0.0.1:1/gateway", auth=KEY, max_retries=0)
PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None)
@given(query=st.lists(st.tuples(PLAIN, PLAIN), max_size=6))
def test_the_signed_query_is_the_one_sent_and_means_what_was_given(query):
    explained = CLIENT.explain("GET", "/api/v1.0/any", query)
    sent = urlsplit(explained.url)
    assert explained.payload_lines[2:4] == [sent.path, sent.query]
    assert sent.path == "/gateway/api/v1.0/any"
    assert parse_qsl(sent.query, keep_blank_values=True) == query


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | PLAIN,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
        max_leaves=8,
    ).filter(lambda value: isinstance(value, (dict, list)))
)
@settings(deadline=None)
def test_a_body_is_signed_as_compact_json(body):
    import hashlib
    import json

    explained = CLIENT.explain("POST", "/api/v1.0/any", None, body)
    compact = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    assert explained.payload_lines[4] == hashlib.sha256(compact).hexdigest()
