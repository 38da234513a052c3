"""The result that a client makes of a response body."""

import boardlot as bl

from .service import StandInService, response


def result_of_body(body, call):
    """The result of `call(client)` if the service responds with these bytes."""
    with (
        StandInService([response(body)]) as service,
        bl.Client(service.base_url, max_retries=0) as client,
    ):
        return call(client)
