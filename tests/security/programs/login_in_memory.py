"""A login that is used, refreshed and ended, in a process whose memory is searched."""

import gc
import sys

import boardlot as bl


def step(what):
    print(what, flush=True)
    return sys.stdin.readline().strip()


def use():
    flow = bl.begin_login(sys.argv[1], store=bl.MemoryStore(), timeout=90.0)
    oauth = flow.finish(step(flow.url))
    with bl.Client(sys.argv[1], auth=oauth) as client:
        for _ in range(3):
            list(client.reference_futures("HK.HSImain"))
        step("expire")
        for _ in range(3):
            list(client.reference_futures("HK.HSImain"))
        step("used")
        oauth.logout()


use()
gc.collect()
step("done")
