"""Promise 31: a service that goes round in its pages is found out, by a later process too."""

import boardlot as bl
import pytest

from ..support.service import StandInService, response

PAGES = ["", "k1", "k2", "k3", "k4"]


def page(received, repeat_after, repeated):
    """The page of a request; after one of them the service hands out an earlier cursor."""
    cursor = received.body.decode().partition('"next_key":"')[2].partition('"')[0]
    place = PAGES.index(cursor)
    following = (*PAGES[1:], "-1")[place]
    if cursor == repeat_after:
        following = repeated
    rows = [{"code": f"HK.{place}{row}"} for row in range(3)]
    pagination = {"has_more": following != "-1", "next_key": following}
    return response({"code": 0, "data": {"stock_list": rows}, "pagination": pagination})


@pytest.mark.parametrize("repeated", ["k1", "k2", "k3"])
@pytest.mark.parametrize("before", [0, 1, 4, 7, 9])
def test_security_31_a_cursor_from_before_a_checkpoint_is_known_after_it(repeated, before):
    with StandInService(lambda received: page(received, "k3", repeated)) as server:
        client = bl.Client(server.base_url, auth=bl.BearerToken("token"))
        pager = client.plate_stocks("HK.BK1001")
        rows = [next(pager)["code"] for _ in range(before)]
        pager = client.plate_stocks("HK.BK1001", resume=pager.checkpoint())
        with pytest.raises(bl.PaginationError):
            rows.extend(row["code"] for row in pager)
    assert len(set(rows)) == len(rows)


def test_security_31_an_honest_service_is_walked_to_its_end_from_everywhere():
    right = [f"HK.{place}{row}" for place in range(5) for row in range(3)]
    with StandInService(lambda received: page(received, None, None)) as server:
        client = bl.Client(server.base_url, auth=bl.BearerToken("token"))
        for before in range(len(right) + 1):
            pager = client.plate_stocks("HK.BK1001")
            rows = [next(pager)["code"] for _ in range(before)]
            pager = client.plate_stocks("HK.BK1001", resume=pager.checkpoint())
            assert rows + [row["code"] for row in pager] == right
