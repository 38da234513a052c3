"""A checkpoint contains no secret, whatever the service puts into its cursors."""

import base64
import json

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.paged_service import CALLS, page
from ..support.service import StandInService

TOKEN = "eyJhbGciOiJIUzI1NiJ9.canary/7f1e0c55d2aabbcc.Zm9yIHRlc3Rz"
ROWS = [{"code": f"HK.{n:05}"} for n in range(3)]

# A cursor of a service that resumes by what it was sent.
REPEATING = {
    "the token": lambda token: token,
    "a state in Base64": lambda token: base64.b64encode(
        json.dumps({"at": 50, "authorization": token}).encode()
    ).decode(),
    "percent-encoded": lambda token: "at=50&token=" + "".join(f"%{ord(c):02X}" for c in token),
}


class TwoPages:
    """Two pages; the cursor of the second repeats the token."""

    def __init__(self, method, cursor):
        self.method, self.cursor, self.pages = method, cursor, 0

    def __call__(self, received):
        self.pages += 1
        token = received.header("Authorization").removeprefix("Bearer ")
        return page(self.method, ROWS, self.cursor(token) if self.pages == 1 else None)


def pager_of(client, method, **options):
    arguments, named = CALLS[method]
    return getattr(client, method)(*arguments, **named, **options)


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("how", REPEATING)
def test_security_14_a_cursor_with_a_token_is_used_but_never_in_a_checkpoint(method, how):
    with StandInService(TwoPages(method, REPEATING[how])) as server:
        client = client_of(server, bl.BearerToken(TOKEN))
        pager = pager_of(client, method)
        for _ in ROWS[1:]:
            next(pager)
            assert TOKEN not in pager.checkpoint()
        next(pager)
        with pytest.raises(bl.PaginationError, match="secret") as caught:
            pager.checkpoint()
        assert TOKEN not in f"{caught.value!r} {vars(caught.value)}" and caught.value.hint
        assert caught.value.checkpoint is None
        assert len(list(pager)) == len(ROWS), "the list itself is read to its end"
        assert "done" in pager.checkpoint()


def test_security_14_an_error_behind_such_a_cursor_has_no_checkpoint():
    pages = TwoPages("plate_stocks", REPEATING["the token"])

    def fails(received):
        return pages(received) if pages.pages == 0 else page("plate_stocks", "no list", None)

    with StandInService(fails) as server:
        client = client_of(server, bl.BearerToken(TOKEN))
        pager = pager_of(client, "plate_stocks")
        for _ in ROWS:
            next(pager)
        with pytest.raises(bl.BoardlotError) as caught:
            next(pager)
    assert caught.value.checkpoint is None
    assert TOKEN not in f"{caught.value!r} {vars(caught.value)}"
