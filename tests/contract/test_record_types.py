"""The record types say what the service document says of each field (section 2)."""

import typing

import boardlot as bl
import pytest
from boardlot import _endpoints
from typing_extensions import is_typeddict

# Of these records some fields are not promised by the document, or may be null.
EXCEPTIONS = {
    "HkIpo": ({"etf_distributors", "etf_ipo_price_display", "etf_apply_status"}, set()),
    "Dividend": ({"fiscal_year", "currency", "payout_ratio", "dividend_type"}, set()),
    "SimOrder": (set(), {"aux_price"}),
}
# Of some fields the documented JSON type.
TYPES = {
    ("Fill", "price"): str,
    ("Fill", "create_time"): int,
    ("Fill", "counter_broker_id"): int,
    ("SimOrder", "create_time"): str,
    ("SimOrder", "aux_price"): str | None,
    ("SimOrder", "side"): int,
    ("CryptoOrder", "symbol_pair"): bl.CryptoOrderSymbolPair,
    ("CryptoOrder", "trigger_price"): str,
    ("CryptoOrder", "is_close"): bool,
    ("Dividend", "dividend_per_share"): float,
    ("HkIpo", "list_time"): str,
    ("HkIpo", "margin_rate"): float,
    ("HkIpo", "apply_countdown_secs"): int,
    ("RelatedFuture", "future_valid"): bool,
}


ROWS = {
    ("reference_futures", "HK.HSImain"): "RelatedFuture",
    **{("ipo_list", market): f"{market.capitalize()}Ipo" for market in ("hk", "us", "cn", "sg")},
    ("ipo_list", "my"): "MyIpo",
    ("dividends", "HK.00700"): "Dividend",
    ("dividends", "SH.600519"): "Dividend",
    ("dividends", "SG.D05"): "Dividend",
    ("crypto_orders", "crypto"): "CryptoOrder",
    ("sim_orders", "sim"): "SimOrder",
    ("sim_positions", "sim"): "SimPosition",
    ("fills_history", "trade", "HK"): "Fill",
}


@pytest.mark.parametrize("name", sorted({"CryptoOrderSymbolPair", *ROWS.values()}))
def test_a_record_requires_what_the_document_promises(name):
    record = getattr(bl, name)
    optional, nullable = EXCEPTIONS.get(name, (set(), set()))
    assert is_typeddict(record)
    assert record.__optional_keys__ == optional
    assert record.__required_keys__ == set(record.__annotations__) - optional
    hints = typing.get_type_hints(record)
    assert {
        field for field, hint in hints.items() if type(None) in typing.get_args(hint)
    } == nullable


@pytest.mark.parametrize(("name", "field"), TYPES)
def test_a_field_has_the_documented_type(name, field):
    assert typing.get_type_hints(getattr(bl, name))[field] == TYPES[name, field]


@pytest.mark.parametrize("name", ["TradingDay", "PlateStock"])
def test_a_record_whose_fields_are_not_shown_is_any_dict(name):
    assert getattr(bl, name) == dict[str, typing.Any]


def conforms(value: object, hint: object) -> bool:
    if is_typeddict(hint):
        hints = typing.get_type_hints(hint)
        return hint.__required_keys__ <= value.keys() <= hints.keys() and all(
            conforms(value[field], hints[field]) for field in value
        )
    if typing.get_args(hint):
        return any(conforms(value, one) for one in typing.get_args(hint))
    # A JSON number without a fraction is a float to the document, an int to Python.
    return type(value) in ((int, float) if hint is float else (hint,))


def test_the_rows_of_the_sandbox_are_of_their_record_types():
    with bl.Sandbox(seed=7, fills=60) as sandbox, sandbox.client() as client:
        for (method, *arguments), name in ROWS.items():
            accounts = [sandbox.accounts.get(argument, [argument])[0] for argument in arguments]
            rows = list(getattr(client, method)(*accounts))
            assert rows, (method, arguments)
            for row in rows:
                assert conforms(row, getattr(bl, name)), (name, row)
    assert {method for method, *_ in ROWS} == {row.method for row in _endpoints.ENDPOINTS} - {
        "server_time",
        "trading_days",
        "plate_stocks",
    }
