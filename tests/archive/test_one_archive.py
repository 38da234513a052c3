"""One archive, by hand: filled, updated with a corrected fill, and read without the service."""

import boardlot as bl

ACCOUNT = "281756"
# 2026-01-05 00:00 UTC, in microseconds.
FIRST = 1_767_571_200_000_000


def fill(number, qty, updated_time):
    return {
        "deal_id": str(number),
        "code": "HK.00700",
        "qty": qty,
        "status": "OK",
        "create_time": FIRST + number,
        "updated_time": updated_time,
    }


def test_an_update_adds_what_is_new_and_keeps_the_newest_version(tmp_path):
    first, second = fill(1, "100", FIRST + 1), fill(2, "200", FIRST + 2)
    corrected, third = fill(1, "150", FIRST + 3), fill(3, "300", FIRST + 4)
    with (
        bl.Sandbox() as sandbox,
        sandbox.client() as client,
        bl.Archive(tmp_path / "fills.db") as archive,
    ):
        sandbox.put("fills_history", [second, first], account=ACCOUNT)
        report = archive.update(client, fills=[(ACCOUNT, "HK")])
        assert (report.new, report.changed) == (2, 0)

        sandbox.put("fills_history", [third, corrected, second], account=ACCOUNT)
        report = archive.update(client, fills=[(ACCOUNT, "HK")])
        assert (report.new, report.changed) == (1, 1)

    # Another program reads the archive, without the service.
    with bl.Archive(tmp_path / "fills.db") as archive:
        kept = archive.fills(ACCOUNT, "HK").all()
        assert {row["deal_id"]: row["qty"] for row in kept} == {"1": "150", "2": "200", "3": "300"}
        ((total,),) = archive.sql("select sum(qty) from fills")
        assert total == 650.0
