"""A call that never gets a response, in each mode."""

import asyncio
import sys
import threading

import boardlot as bl

client, awaited = (kind(sys.argv[1], timeout=300.0) for kind in (bl.Client, bl.AsyncClient))
for _ in range(4):
    threading.Thread(target=client.server_time, daemon=True).start()
if sys.argv[2] == "sync":
    client.server_time()
else:
    asyncio.run(awaited.server_time())
