"""Orders as `Records`, made of response bodies."""

import json
from datetime import datetime, timezone
from enum import Enum

from ..support.bodies import result_of_body

TIME = datetime(2026, 9, 21, 14, 13, 20, 123456, tzinfo=timezone.utc)
ORDER = {
    "order_id": "7",
    "side": 1,
    "qty": "1e2",
    "price": "350.20",
    "create_time": "1790000000123456",
    "text": "",
    "pair": {"base": "BTC"},
}


class Side(Enum):
    BUY = 1
    SELL = "S"


def orders(*rows, indent=None):
    """With an indent, the page has no uniform layout."""
    separators = (",", ":") if indent is None else None
    data = {"ret_code": 0, "data": {"orders": rows}}
    body = json.dumps(data, indent=indent, separators=separators)
    return result_of_body(body.encode(), lambda client: client.sim_orders("1"))
