"""8 forks of a process that has made nonces before, each with 8 threads."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boardlot as bl

each, folder = int(sys.argv[1]), sys.argv[2]
auth = bl.ApiKey("key-1", bl.generate_key().private_pem)
client = bl.Client("https://127.0.0.1:1", auth=auth)


def work(name):
    made = [client.explain("GET", "/x").headers["x-nonce"] for _ in range(each)]
    Path(folder, name).write_text("\n".join(made))


work("parent")
children = []
for number in range(8):
    child = os.fork()
    if child == 0:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, (f"{number}-{thread}" for thread in range(8))))
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
