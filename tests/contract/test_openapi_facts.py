"""The facts of the service's documentation that a caller needs, by hand, against the description.

The sections are named. A time, date or decimal number that is not in its table fails: whoever adds
one says what it is.
"""

import json
import re

import boardlot as bl
import pytest

DESCRIPTION = bl.openapi()
SCHEMAS = DESCRIPTION["components"]["schemas"]
OPERATIONS = {
    one["operationId"]: one for item in DESCRIPTION["paths"].values() for one in item.values()
}

# Section 1, and the section of each record: the unit in which a time counts, and its JSON type.
TIMES = {
    "ServerTime server_time_ms": ("ms", "string"),  # 2.3
    "OAuthClient client_id_issued_at": ("s", "integer"),  # 2.1
    "SimOrder create_time": ("µs", "string"),  # 2.6
    "SimOrder update_time": ("µs", "string"),
    "Fill create_time": ("µs", "integer"),  # 2.8
    "Fill updated_time": ("µs", "integer"),
    "RelatedFuture list_time": ("ms", "integer"),  # 2.9
    **{  # 2.10
        f"{record} {name}": ("ms", "integer")
        for record, names in {
            "HkIpo": "list_timestamp apply_start_timestamp apply_end_timestamp lucky_timestamp "
            "dark_trade_timestamp dark_trade_start_timestamp dark_trade_end_timestamp "
            "intl_placing_apply_start_timestamp intl_placing_apply_end_timestamp",
            "UsIpo": "list_timestamp apply_start_timestamp apply_end_timestamp lucky_timestamp",
            "CnIpo": "list_timestamp apply_timestamp winning_timestamp",
            "SgIpo": "list_timestamp apply_start_timestamp apply_end_timestamp",
            "MyIpo": "list_timestamp apply_start_timestamp apply_end_timestamp draw_timestamp "
            "lucky_timestamp",
        }.items()
        for name in names.split()
    },
}
# "The unit of create_time/update_time: not shown" (2.5).
TIMES_WITHOUT_A_UNIT = ["create_time", "update_time", "trigger_time"]
# The form of a date, and what stands for a missing one, which no date matches.
DATES = {
    "RelatedFuture future_last_trade_time": ("2026-12-30", [""]),  # 2.9
    "HkIpo list_time": ("2026-12-30", ["--"]),  # 2.10
    "HkIpo apply_end_time": ("2026-12-30", []),
    "HkIpo lucky_time": ("2026-12-30", []),
    "UsIpo list_time": ("2026-12-30", []),
    "CnIpo list_time": ("2026-12-30", ["--"]),
    "CnIpo winning_time": ("2026-12-30", []),
    "SgIpo list_time": ("2026-12-30", []),
    "MyIpo list_time": ("2026-12-30", []),
    "Dividend ex_date": ("2026/12/30", []),  # 2.11
}
# Dates whose form the documentation does not state.
FORM_NOT_SHOWN = ["HkIpo dark_trade_date", "Dividend record_date", "Dividend dividend_payable_date"]
FORM_NOT_SHOWN += ["Dividend pub_date"]
# Other units: currencies, shares, percentages, durations.
UNITS = {
    "AccessToken expires_in": "s",  # 2.2
    "RelatedFuture lot_size": "shares",  # 2.9
    "SimPosition profit_ratio": "%",  # 2.7, and section 1
    "HkIpo ipo_price_min": "HKD",  # 2.10
    "HkIpo entrance_price": "HKD",
    "HkIpo lot_size": "shares",
    "HkIpo apply_countdown_secs": "s",
    "HkIpo placing_countdown_secs": "s",
    "HkIpo margin_fee_ratio": "%",
    "HkIpo intl_placing_apply_limit": "HKD",
    "UsIpo ipo_price_max": "USD",
    "UsIpo issue_size": "shares",
    "UsIpo apply_limit": "USD",
    "CnIpo apply_upper_limit": "shares",
    "CnIpo ipo_price": "CNY",
    "CnIpo winning_ratio": "%",
    "SgIpo apply_limit": "SGD",
    "MyIpo fund_amount": "MYR",
    "MyIpo market_cap": "MYR",
    "Dividend payout_ratio": "%",  # 2.11
    "Dividend dividend_per_share": "reporting currency",
}
# Decimal numbers in text.
DECIMALS = {
    "CryptoOrder": "order_qty price order_amount cum_qty avg_px fill_amount trigger_price "
    "cash_order_qty",  # 2.5
    "SimOrder": "qty cum_qty price avg_fill_price aux_price",  # 2.6
    "SimPosition": "qty qty_avbl cost_price buy_avg_price cur_price mv profit profit_ratio",  # 2.7
    "Fill": "qty price",  # 2.8
}
# Ids of digits, in text: the largest is that of the only one whose type is stated (4.3: uint64).
LARGEST = str(2**64 - 1)
IDS = ["Fill deal_id", "Fill order_id", "CryptoOrder order_id", "SimOrder order_id"]
IDS += ["SimPosition pstn_id"]
ACCOUNTS = ["crypto_orders", "sim_orders", "sim_positions", "fills_history"]
# The only value of a field (2.1, 2.2, 2.9).
FIXED = {
    "RelatedFuture stock_type": "FUTURE",
    "RelatedFuture future_valid": True,
    "AccessToken token_type": "Bearer",
    "OAuthClient pkce_required": True,
}
# The fields that are not in every record of a list (2.2, 2.10, 2.11).
OPTIONAL = {
    "AccessToken": "refresh_token",
    "HkIpo": "etf_distributors etf_ipo_price_display etf_apply_status",
    "Dividend": "fiscal_year currency payout_ratio dividend_type",
}
# Words of an operation, a parameter or a security scheme, for what no schema says.
CODE = "valid for 5 minutes (300 s), and once"
SAID = {
    # 3.4 and 4.1
    "token": ["within 5 minutes (300 s) and once", "Its lifetime is not shown", "stays valid"],
    "authorize": [CODE],
    "AuthorizationCodeGrant code": [CODE],  # 8
    "AuthorizationCodeGrant redirect_uri": ["Exactly as in the authorization"],  # 4.1
    "RefreshTokenGrant refresh_token": ["not rotated"],
    "RefreshTokenGrant client_secret": ["Required", "`client_secret_post`"],
    "AccessToken expires_in": ["in seconds"],
    "AccessToken refresh_token": ["On code exchange only"],
    "AccessToken scope": ["`accid:<acc_id>`"],
    "authorize redirect_uri": ["Exactly one of the registered"],
    "authorize state": ["returns unchanged"],
    "authorize code_challenge": ["BASE64URL(SHA256(code_verifier))"],
    "server_time": ["by default 5 seconds"],  # 5.2
    "signature": ["1 to 64 letters, digits, `_` and `-`", "-12006", "by default 5 seconds"],  # 8
    "oauth": ["PKCE", "S256", "Which scope each endpoint requires is not shown"],
    "fills_history": ["`trd_market` are not shown"],
    "fills_history start": ["in microseconds since 1970", "90 days before `end`"],  # 4.3
    "fills_history end": ["in microseconds since 1970", "90 days after `start`", "after `start`"],
    "fills_history page_size": ["10 to 50, by default 50"],
    "fills_history page_flag": ["Empty for the first page"],
    "fills_history code": ["all when omitted"],
    "crypto_orders acc_id": ["uint64"],
    "crypto_orders page_size": ["at most 50, by default 50"],
    "crypto_orders page_flag": ["Omitted for the first page"],
    "crypto_orders": ["unit of the times is not shown"],
    "plate_stocks": ["not shown"],  # 4.2
    "plate_stocks X-Service-Client-Nnid": ["numeric string", "not shown"],
    "trading_days start": ["`YYYY-MM-DD`"],
    "dividends": ["HK, US, A-shares (SH, SZ), SG, CA, AU and JP"],
    "reference_futures": ["HK, US, SG and JP", "empty list"],
    "ipo_list_hk": ["-5 `internal_error`", "-3 `invalid_parameter`"],  # 7
}
DEFAULTS = {
    ("fills_history", "page_size"): 50,  # 8
    ("crypto_orders", "page_size"): 50,
    **{(f"ipo_list_{market}", "request_type"): 11 for market in ("hk", "us", "sg", "my")},  # 4.2
    ("ipo_list_cn", "request_type"): 4,
}


def field(of):
    record, name = of.split()
    return SCHEMAS[record]["properties"][name]


def parameter(operation, name):
    return next(one for one in OPERATIONS[operation]["parameters"] if one["name"] == name)


def fields_with(key, value):
    return {
        f"{record} {name}"
        for record, schema in SCHEMAS.items()
        for name, one in schema.get("properties", {}).items()
        if one.get(key) == value
    }


def test_each_time_has_its_unit_in_the_schema_and_in_words():
    words = {"s": "in seconds since 1970", "ms": "in milliseconds", "µs": "in microseconds"}
    for name, (unit, kind) in TIMES.items():
        found = field(name)
        assert (found["x-unit"], found["type"]) == (unit, kind), name
        assert words[unit] in found["description"], name
    assert fields_with("x-kind", "timestamp") == set(TIMES)
    for name in TIMES_WITHOUT_A_UNIT:
        assert field(f"CryptoOrder {name}")["x-unit"] == "not shown"
        assert "unit is not shown" in field(f"CryptoOrder {name}")["description"]


def test_each_date_has_its_form_in_the_schema_and_in_words():
    for name, (example, missing) in DATES.items():
        found = field(name)
        form = "YYYY/MM/DD" if "/" in example else "YYYY-MM-DD"
        assert (found["type"], found["x-form"]) == ("string", form), name
        assert f"`{form}`" in found["description"], name
        accepted = [text for text in (example, "", "--") if re.search(found["pattern"], text)]
        assert accepted == [example, *missing], name
        assert not re.search(found["pattern"], example.replace("2", "x", 1)), name
    assert fields_with("x-kind", "date") == set(DATES)
    for name in FORM_NOT_SHOWN:
        assert "form is not shown" in field(name)["description"], name
        assert not {"pattern", "format", "x-form"} & field(name).keys(), name


def test_other_units_are_those_of_the_documentation():
    assert {name: field(name).get("x-unit") for name in UNITS} == UNITS


def test_decimal_numbers_are_text():
    expected = {f"{record} {name}" for record, names in DECIMALS.items() for name in names.split()}
    assert fields_with("x-kind", "decimal") == expected
    for name in expected:
        assert field(name)["type"] in ("string", ["string", "null"]), name
    assert field("SimOrder aux_price")["type"] == ["string", "null"]


def test_ids_are_digits_in_text():
    schemas = [field(name) for name in IDS] + [parameter(of, "acc_id")["schema"] for of in ACCOUNTS]
    for schema in schemas:
        assert schema["type"] == "string"
        assert re.search(schema["pattern"], LARGEST)
        for text in ("", "-1", "1.0", "1e9", " 1"):
            assert not re.search(schema["pattern"], text)
    # Whatever ends with _id is text with a pattern, but for the number of 2.8.
    for record, schema in SCHEMAS.items():
        for name, one in schema.get("properties", {}).items():
            if name.endswith("_id") and name != "counter_broker_id":
                assert one["type"] == "string" and "pattern" in one, f"{record} {name}"
    assert "pattern" in parameter("authorize", "client_id")["schema"]
    assert field("Fill counter_broker_id")["type"] == "integer"
    assert "uint64" not in json.dumps([parameter(of, "acc_id")["schema"] for of in ACCOUNTS])


def test_no_integer_is_one_that_javascript_rounds():
    """But for the two of a time range, which are integers in the documentation, and small."""
    found = set(re.findall(r'"name": "(\w+)"[^{}]*\{[^{}]*"uint64"', json.dumps(DESCRIPTION)))
    assert found == {"start", "end"}
    assert 2_000_000_000_000_000 < 2**53, "microseconds of the year 2033"


def test_fixed_values_are_stated():
    assert {name: field(name).get("const") for name in FIXED} == FIXED


def test_optional_fields_are_those_that_only_some_records_have():
    for record, names in OPTIONAL.items():
        optional = SCHEMAS[record]["properties"].keys() - set(SCHEMAS[record]["required"])
        assert optional == set(names.split()), record
    for record in ("Fill", "SimOrder", "SimPosition", "CryptoOrder", "RelatedFuture"):
        assert list(SCHEMAS[record]["properties"]) == SCHEMAS[record]["required"], record


def test_defaults_and_limits_are_stated():
    assert {
        (of, name): parameter(of, name)["schema"].get("default") for of, name in DEFAULTS
    } == DEFAULTS
    assert parameter("reference_futures", "symbol")["schema"]["maxLength"] == 32  # 8
    listed = SCHEMAS["DividendsSuccess"]["properties"]["data"]["properties"]["dividend_list"]
    assert listed["maxItems"] == 100  # 8
    grants = SCHEMAS["RegisterRequest"]["properties"]["grant_types"]  # 2.1
    assert grants["items"]["enum"] == ["authorization_code", "refresh_token"]
    kinds = SCHEMAS["RegisterRequest"]["properties"]["response_types"]
    assert kinds["items"]["enum"] == ["code"]
    methods = SCHEMAS["RegisterRequest"]["properties"]["token_endpoint_auth_method"]
    assert methods["enum"] == ["none", "client_secret_post"]
    for name, value in (("code_challenge_method", "S256"), ("response_type", "code")):  # 4.1
        assert parameter("authorize", name)["schema"]["enum"] == [value]


@pytest.mark.parametrize("of", SAID)
def test_what_no_schema_says_is_said_in_words(of):
    name, _, member = of.partition(" ")
    if name in SCHEMAS:
        text = field(of)["description"]
    elif name in OPERATIONS:
        text = (parameter(name, member) if member else OPERATIONS[name])["description"]
    else:
        text = DESCRIPTION["components"]["securitySchemes"][name]["description"]
    for words in SAID[of]:
        assert words in text, text
