"""The fixture that comes with the package, used as another project would use it."""

from importlib.metadata import entry_points

import pytest

PLUGIN = "boardlot.pytest_plugin"
pytest_plugins = ["pytester"]


SPOILT = """
    import socket
    from urllib.parse import urlsplit

    import boardlot as bl
    import pytest


    def close(sandbox):
        sandbox.close()


    def close_twice(sandbox):
        sandbox.close()
        sandbox.close()


    def use_with(sandbox):
        with sandbox:
            sandbox.client().server_time()


    def fail_within(sandbox):
        with pytest.raises(ZeroDivisionError), sandbox:
            1 / 0


    def spoil(sandbox):
        sandbox.faults = bl.Faults(error_rate=1.0, latency=60.0)


    def reset(sandbox):
        sandbox.client("oauth")
        sandbox.reset()


    def revoke(sandbox):
        sandbox.client("oauth").close()
        sandbox.revoke_grants()


    def take_port(sandbox):
        port = urlsplit(sandbox.base_url).port
        sandbox.close()
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        KEPT.append(taken)


    KEPT = []
    DEEDS = [close, close_twice, use_with, fail_within, spoil, reset, revoke, take_port]


    def check(sandbox, client):
        assert not sandbox.requests
        assert sandbox.faults == bl.Faults()
        assert sandbox.accounts["trade"]
        client.server_time()
        assert len(sandbox.requests) == 1
"""

FRESH = (
    SPOILT
    + """
    @pytest.mark.parametrize("deed", DEEDS * 3)
    def test_fresh(boardlot_sandbox, deed):
        check(boardlot_sandbox, boardlot_sandbox.client())
        deed(boardlot_sandbox)
    """
)


def test_each_test_has_a_fresh_sandbox_whatever_another_did_to_its_own(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(FRESH)
    run(pytester, "-p", "no:randomly").assert_outcomes(passed=24)


def test_tests_in_several_processes_have_a_sandbox_each(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(FRESH)
    run(pytester, "-n", "2").assert_outcomes(passed=24)


@pytest.mark.parametrize("mode", ["asyncio", "anyio"])
def test_asynchronous_tests_have_a_fresh_sandbox_each(pytester: pytest.Pytester, mode: str) -> None:
    pytest.importorskip("pytest_asyncio" if mode == "asyncio" else "anyio")
    pytester.makepyfile(
        SPOILT
        + f"""
    @pytest.fixture
    def anyio_backend():
        return "asyncio"


    @pytest.mark.{mode}
    @pytest.mark.parametrize("deed", DEEDS)
    async def test_fresh(boardlot_sandbox, deed):
        assert not boardlot_sandbox.requests
        async with boardlot_sandbox.async_client() as client:
            await client.server_time()
        assert len(boardlot_sandbox.requests) == 1
        deed(boardlot_sandbox)
    """
    )
    run(pytester).assert_outcomes(passed=8)


def test_two_fixtures_of_others_share_the_sandbox_of_a_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        pytest_plugins = ["another_plugin"]

        @pytest.fixture
        def client(boardlot_sandbox):
            with boardlot_sandbox.client() as client:
                yield client
        """
    )
    pytester.makepyfile(
        another_plugin="""
        import pytest

        @pytest.fixture(autouse=True)
        def records(boardlot_sandbox):
            yield boardlot_sandbox.client("oauth")
            boardlot_sandbox.close()
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(3))
        def test_shared(client, records, boardlot_sandbox, number):
            assert client.base_url == records.base_url == boardlot_sandbox.base_url
            assert client.dividends("HK.00700") == records.dividends("HK.00700")
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_a_marker_creates_a_separate_sandbox_with_these_options(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import boardlot as bl
        import pytest

        def fills(sandbox):
            client = sandbox.client(max_retries=0)
            return client.fills_history(sandbox.accounts["trade"][0], "HK")

        @pytest.mark.boardlot_sandbox(seed=7, fills=60)
        class TestFew:
            def test_of_the_class(self, boardlot_sandbox):
                assert len(fills(boardlot_sandbox).all()) == 60

            @pytest.mark.boardlot_sandbox(faults=bl.Faults(error_rate=1.0))
            def test_of_its_own(self, boardlot_sandbox):
                with pytest.raises(bl.ServiceError):
                    fills(boardlot_sandbox).all()

        @pytest.mark.boardlot_sandbox(fils=60)
        def test_wrong(boardlot_sandbox):
            pass
        """
    )
    result = run(pytester, "--strict-markers")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines("*TypeError*fils*")


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    # An installed package has it loaded by its entry point, and pytest minds a second time.
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    own = [] if installed else ["-p", PLUGIN]
    # Its import takes longer than these tests.
    return pytester.runpytest_subprocess("-p", "no:hypothesispytest", *options, *own)
