"""One rate for all processes: never above it, nearly all of it, fairly, come what may."""

import contextlib
import fcntl
import pickle
import re
import signal
import struct
import time

import boardlot as bl
import pytest

from ..support.clients import client_of
from ..support.processes import run_python
from ..support.system import need_postgres
from .fleet_arrivals import Arrivals
from .fleet_processes import Fleet

RATE = 100.0
slow = pytest.mark.slow


@pytest.fixture
def arrivals():
    with Arrivals() as running:
        yield running


@pytest.fixture(scope="module")
def postgres():
    need_postgres()
    from ..support.postgres import Postgres

    with Postgres() as server:
        yield server


@pytest.fixture(params=["file", "database"])
def limit(request):
    """The arguments of a limit, and whether processes with different state folders share it."""
    if request.param == "file":
        return {"rate": RATE, "name": "fleet"}
    address = request.getfixturevalue("postgres").address()
    return {"rate": RATE, "name": "fleet", "database": address}


# However a busy machine delays what was granted, no second has as many requests as two limits.
BUNCHED = 1.25 * RATE


@pytest.fixture
def started(arrivals, limit, tmp_path):
    """Starts processes of a shape, in two folders if the limit is in a database."""

    @contextlib.contextmanager
    def start(count, shape):
        with Fleet(arrivals, limit, tmp_path, **shape) as running:
            other = tmp_path / "other" if "database" in limit else tmp_path
            workers = running.start(count - count // 2) + running.start(count // 2, state=other)
            running.begin(workers)
            running.wait_for(3 * count)
            yield running, workers

    return start


SHAPES = {"threads": {"threads": 4}, "tasks": {"tasks": 64}}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@pytest.mark.parametrize(
    ("limit", "shape"),
    [("file", SHAPES["threads"]), ("database", SHAPES["tasks"])],
    indirect=["limit"],
    ids=["file-threads", "database-tasks"],
)
def test_processes_share_a_limit_and_each_has_its_turn(arrivals, started, shape):
    with started(3, shape) as (running, workers):
        running.wait_for(100)
        for worker in workers:
            running.wait_for_worker(worker)
    assert arrivals.in_any_second() <= BUNCHED


@slow
@shapes
def test_processes_share_a_limit_fairly_use_all_of_it_and_never_exceed_it(arrivals, started, shape):
    with started(8, shape) as (_, workers):
        start = time.time()
        time.sleep(30)  # time: a rate is what is measured
    assert arrivals.in_any_second() <= RATE + 1
    # time: a rate is what is measured
    assert arrivals.between(start, start + 30) >= 0.95 * RATE * 30
    counts = arrivals.by_worker(start, start + 30)
    assert set(counts) == set(workers)
    assert max(counts.values()) <= 1.5 * min(counts.values()), counts


def test_retry_after_that_one_process_sees_holds_back_all(arrivals, limit, tmp_path):
    with Fleet(arrivals, limit, tmp_path, threads=2) as running:
        running.begin(running.start(3))

        def are_held_back():
            running.wait_for(10)
            arrivals.throttle(1)
            running.wait_for(60)
            rejected = arrivals.throttled_at
            return arrivals.between(rejected, rejected + 0.95) <= 0.5 * RATE

        # Requests that were on their way arrive, and others until the process has read the
        # response. On a busy machine it may read one late, but not each.
        assert any(are_held_back() for _ in range(5))


def test_a_database_whose_clock_is_set_back_keeps_nobody_waiting(arrivals, postgres):
    import psycopg

    address = postgres.address()
    limit = bl.RateLimit(20, name="set back", database=address)
    client = client_of(arrivals, rate_limit=limit, timeout=120.0)
    client.server_time()
    # As if the times that were stored had been an hour later.
    with psycopg.connect(address, autocommit=True) as connection:
        ((state,),) = connection.execute("select state from boardlot_rate_limits.limits").fetchall()
        fields = list(struct.unpack("<12Q", state))
        fields[1:4] = (field + 3_600_000_000_000 for field in (fields[1], fields[2], fields[2]))
        fields[7] += 3_600
        fields[11] += 3_600_000_000_000
        later = struct.pack("<12Q", *fields)
        connection.execute("update boardlot_rate_limits.limits set state = %s", (later,))
    for _ in range(5):
        client.server_time()
    times = arrivals.times
    assert times[-1] - times[-5] > 2 / 20


def test_a_stopped_process_takes_nothing_along(arrivals, limit, tmp_path):
    with Fleet(arrivals, limit, tmp_path, threads=2) as running:
        first, *others = running.start(3)
        running.begin([first, *others])
        running.wait_for(10)
        for _ in range(2):
            running.workers[first].send_signal(signal.SIGSTOP)
            running.wait_for(40)
            running.workers[first].send_signal(signal.SIGCONT)
            running.wait_for_worker(first)
            running.wait_for(20)
    # Its reservations are long past when it resumes, and must not add to what others send.
    assert arrivals.in_any_second() <= BUNCHED


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_processes_leave_nothing_stuck(arrivals, limit, kills, tmp_path):
    with Fleet(arrivals, limit, tmp_path, threads=2) as running:
        staying = running.start(1)
        running.begin(staying)
        while running.started <= kills:
            doomed = running.start(4)
            running.begin(doomed)
            running.wait_for(12)
            for number in doomed:
                running.workers[number].send_signal(signal.SIGKILL)
            # Those that stay use the whole rate again.
        running.wait_for(110)
    assert arrivals.in_any_second() <= BUNCHED


def test_a_process_that_is_stopped_in_the_middle_of_a_change_keeps_nobody_waiting(
    arrivals, tmp_path
):
    limit = {"rate": RATE, "name": "fleet"}
    with Fleet(arrivals, limit, tmp_path, threads=2) as running:
        running.begin(running.start(2))
        running.wait_for(5)
        (file,) = (path for path in tmp_path.rglob("limits/*") if not path.suffix)
        # This process is the one that stopped.
        with file.open("r+b") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            running.wait_for(30)
        late = running.start(1)
        running.begin(late)
        running.wait_for(40)
    # The one that came later uses the file that the others have moved to.
    assert arrivals.in_any_second() <= BUNCHED
    assert late[0] in arrivals.by_worker(0, float("inf"))


def test_a_forked_child_shares_the_limit(arrivals, tmp_path):
    code = """
        import os, sys
        import boardlot as bl
        from tests.support.processes import forked

        limit = bl.RateLimit(20, name="forked")
        client = bl.Client(sys.argv[1], rate_limit=limit)
        client.server_time()
        ask = lambda: [client.server_time() for _ in range(4)]
        children = [forked(ask) for _ in range(3)]
        ask()
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    """
    run_python(code, arrivals.base_url, env={"XDG_STATE_HOME": str(tmp_path)})
    times = arrivals.times
    assert len(times) == 17
    assert times[-1] - times[0] > 12 / 20


def test_clients_of_one_process_share_an_object_without_a_name(arrivals):
    limit = bl.RateLimit(20, burst=5)
    start, shown = time.time(), []
    for client in (client_of(arrivals, rate_limit=limit) for _ in range(2)):
        for _ in range(5):
            client.server_time()
            shown.append((limit.used, limit.free))
    # time: all but those of the burst keep their distance, however late the machine is
    assert arrivals.times[-1] - start > 4 / 20
    assert any(used > 0 and free < 20 for used, free in shown)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rate": 0}, "rate is 0"),
        ({"rate": 5, "burst": 0}, "burst is 0"),
        ({"rate": 5, "name": ""}, "name is ''"),
        ({"rate": 5, "database": "postgresql://host/db"}, "without a name"),
        ({"rate": 5, "name": "x", "database": "sqlite:///x"}, "postgresql://"),
    ],
)
def test_what_is_not_a_limit_is_rejected(arguments, words):
    with pytest.raises(bl.ConfigError, match=words):
        bl.RateLimit(**arguments)


def test_a_limit_travels_by_its_name_and_never_with_a_password():
    limit = bl.RateLimit(20, burst=2, name="live")
    again = pickle.loads(pickle.dumps(limit))
    assert again == limit and hash(again) == hash(limit)
    assert repr(again) == 'RateLimit(20, burst=2, name="live")'
    assert bl.RateLimit(20) != bl.RateLimit(20)
    secret = bl.RateLimit(20, name="live", database="postgresql://me:hunter2@host/db")
    assert "hunter2" not in repr(secret)
    with pytest.raises(bl.ConfigError, match="password"):
        pickle.dumps(secret)


def test_a_file_that_others_can_read_is_rejected(arrivals, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    limited = [client_of(arrivals, rate_limit=bl.RateLimit(20, name="open")) for _ in range(2)]
    limited[0].server_time()
    (file,) = tmp_path.rglob("limits/*")
    file.chmod(0o666)
    with pytest.raises(bl.StoreError, match=re.escape(str(file))):
        limited[1].server_time()


def test_a_database_that_cannot_be_reached_is_named(arrivals):
    pytest.importorskip("psycopg", reason="the extra postgres")
    limit = bl.RateLimit(20, name="x", database="postgresql://me@127.0.0.1:1/none")
    with pytest.raises(bl.TransportError, match="rate limit's database"):
        client_of(arrivals, rate_limit=limit).server_time()
    assert not arrivals.seen


def test_a_server_that_is_started_again_is_used_again(arrivals, postgres):
    limit = bl.RateLimit(RATE, name="again", database=postgres.address())
    client = client_of(arrivals, rate_limit=limit)
    client.server_time()
    postgres.stop()
    postgres.start()
    client.server_time()
    assert len(arrivals.seen) == 2


def test_hooks_and_explain_show_the_limit(arrivals):
    ends, limit = [], bl.RateLimit(5)
    client = client_of(arrivals, rate_limit=limit, on_response=ends.append)
    # On a busy machine, a call may take longer than the fifth of a second between two.
    while len(ends) < 2 or ends[-1].rate_limit_wait < 0.01:
        client.server_time()
    shown = client.explain("GET", "/api/v1.0/server-time")
    assert client_of(arrivals).explain("GET", "/x").rate_limit is None
    assert ends[0].rate_limit_wait < ends[-1].rate_limit_wait
    words = "5 requests per second, shared by the clients of this process"
    assert shown.rate_limit.startswith(words) and "free now" in shown.rate_limit
    assert "rate limit: 5 requests" in repr(shown)
