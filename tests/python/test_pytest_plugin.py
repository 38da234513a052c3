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
    # An installed package has it loaded by its entry point, and pytest minds a second time.
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    result = pytester.runpytest_subprocess(*([] if installed else ["-p", PLUGIN]))
    result.assert_outcomes(passed=3)
