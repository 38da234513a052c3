"""What the archive costs those who do not use it."""

from ..support.processes import run_python


def test_importing_boardlot_loads_neither_the_archive_nor_a_database():
    out, _ = run_python(
        """
        import sys
        import boardlot
        print([name for name in sys.modules if "sqlite" in name or "archive" in name])
        print(boardlot.Archive.__module__, "sqlite3" in sys.modules, "psycopg" in sys.modules)
        boardlot.Archive(":memory:").close()
        print("sqlite3" in sys.modules, "psycopg" in sys.modules, "asyncio" in sys.modules)
        """
    )
    assert out.splitlines() == [
        "[]",
        "boardlot.archive.archive False False",
        "True False False",
    ]


def test_without_its_driver_postgresql_is_rejected_with_what_to_install():
    out, _ = run_python(
        """
        import sys
        sys.modules["psycopg"] = None
        import boardlot
        try:
            boardlot.Archive("postgresql://localhost/x")
        except ImportError as error:
            print(error)
        """
    )
    assert out == "an archive in PostgreSQL needs psycopg: pip install 'boardlot[postgres]'\n"
