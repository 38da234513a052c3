"""Pages of fills as JSON texts, so that a test decides every character of a value."""

import json

from .paged_service import cursor_of
from .service import StandInService, response


def fills(*pages):
    """Responses of the fills endpoint; each page is the JSON text of its records."""

    def respond(received):
        place = int(cursor_of(received) or 0)
        last = place == len(pages) - 1
        rest = json.dumps({"page_flag": "" if last else str(place + 1), "completed": last})
        return response(f'{{"s":"ok","d":{{"order_fills":[{pages[place]}],{rest[1:]}}}')

    return respond


def serve(script):
    """Starts a service with a clock, whose time bounds a range that the caller left open."""
    return StandInService(script, clock=0.0)
