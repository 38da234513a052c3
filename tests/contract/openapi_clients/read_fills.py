"""Reads all fills with the client that openapi-python-client generated, and prints how many."""

import sys

from generated.api.trading import fills_history
from generated.client import AuthenticatedClient
from generated.models import FillsHistorySuccess

base_url, token, acc_id = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=token)
count, page_flag = 0, ""
while True:
    page = fills_history.sync(acc_id, client=client, trd_market="HK", page_flag=page_flag)
    if not isinstance(page, FillsHistorySuccess):
        sys.exit(f"the service rejected the request: {page}")
    count += len(page.d.order_fills)
    if page.d.completed:
        break
    page_flag = page.d.page_flag
print(count, page.d.order_fills[-1].code)
