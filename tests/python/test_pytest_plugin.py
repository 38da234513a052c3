"""The fixture that comes with the package, used as another project would use it."""

from importlib.metadata import entry_points

import pytest

PLUGIN = "boardlot.pytest_plugin"
pytest_plugins = ["pytester"]


def test_the_sandbox_is_one_server_and_fresh_for_each_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import boardlot as bl
        import pytest

        seen = set()

        @pytest.mark.parametrize("number", range(3))
        def test_fresh(boardlot_sandbox, number):
            assert not boardlot_sandbox.requests
            assert boardlot_sandbox.faults == bl.Faults()
            boardlot_sandbox.client().server_time()
            assert len(boardlot_sandbox.requests) >= 1
            boardlot_sandbox.faults = bl.Faults(error_rate=1.0)
            seen.add(boardlot_sandbox.base_url)
            assert len(seen) == 1
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_a_marker_gives_a_sandbox_of_its_own_with_these_options(pytester: pytest.Pytester) -> None:
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
    return pytester.runpytest_subprocess(*options, *([] if installed else ["-p", PLUGIN]))
