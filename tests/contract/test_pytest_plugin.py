"""The fixture that comes with the package, used as another project would use it."""

import os
from importlib.metadata import entry_points

import pytest

PLUGIN = "boardlot.pytest_plugin"
pytest_plugins = ["pytester"]


FRESH = """
    import boardlot as bl
    import pytest


    def close_twice(sandbox):
        sandbox.close()
        sandbox.close()


    def spoil(sandbox):
        sandbox.faults = bl.Faults(error_rate=1.0, latency=60.0)


    def revoke(sandbox):
        sandbox.client("oauth").close()
        sandbox.revoke_grants()


    @pytest.mark.parametrize("deed", [close_twice, spoil, revoke] * 2)
    def test_fresh(boardlot_sandbox, deed):
        assert not boardlot_sandbox.requests
        assert boardlot_sandbox.faults == bl.Faults()
        with boardlot_sandbox.client() as client:
            client.server_time()
        assert len(boardlot_sandbox.requests) == 1
        deed(boardlot_sandbox)
"""


ASYNCHRONOUS = """
    import pytest

    @pytest.fixture
    def anyio_backend():
        return "asyncio"

    @pytest.mark.asyncio
    @pytest.mark.parametrize("number", range(2))
    async def test_asyncio(boardlot_sandbox, number):
        await use(boardlot_sandbox)

    @pytest.mark.anyio
    @pytest.mark.parametrize("number", range(2))
    async def test_anyio(boardlot_sandbox, number):
        await use(boardlot_sandbox)

    async def use(sandbox):
        assert not sandbox.requests
        async with sandbox.async_client() as client:
            await client.server_time()
        assert len(sandbox.requests) == 1
    """

OF_OTHERS = """
    import pytest

    @pytest.fixture(autouse=True)
    def client(boardlot_sandbox):
        with boardlot_sandbox.client() as client:
            yield client
        boardlot_sandbox.close()

    @pytest.mark.parametrize("number", range(3))
    def test_shared(client, boardlot_sandbox, number):
        assert client.base_url == boardlot_sandbox.base_url
        client.server_time()
    """

MARKED = """
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


def test_each_test_has_a_fresh_sandbox_that_its_fixtures_share_and_a_marker_describes(
    pytester: pytest.Pytester,
) -> None:
    for module in ("pytest_asyncio", "anyio"):
        pytest.importorskip(module)
    files = {"fresh": FRESH, "asynchronous": ASYNCHRONOUS, "others": OF_OTHERS, "marked": MARKED}
    pytester.makepyfile(**{f"test_{name}": text for name, text in files.items()})
    result = run(pytester, "--strict-markers", "-p", "no:randomly")
    result.assert_outcomes(passed=6 + 4 + 3 + 2, errors=1)
    result.stdout.fnmatch_lines("*TypeError*fils*")


def test_processes_have_sandboxes_of_their_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(FRESH)
    # Each of three processes would import all plugins that are installed.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    run(pytester, "-p", "xdist", "-n", "2").assert_outcomes(passed=6)


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    # An installed package has it loaded by its entry point, and pytest minds a second time.
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    loaded = installed and "PYTEST_DISABLE_PLUGIN_AUTOLOAD" not in os.environ
    own = [] if loaded else ["-p", PLUGIN]
    # Its import takes longer than these tests.
    return pytester.runpytest_subprocess("-p", "no:hypothesispytest", *options, *own)
