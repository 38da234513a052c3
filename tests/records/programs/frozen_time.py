"""Conversions to times while a test has replaced the classes of `datetime`."""

import datetime as module
import sys
from dataclasses import make_dataclass

from tests.records.orders import ORDER, orders

date, datetime = module.date, module.datetime


def frozen(known, *bases):
    # A class of the same instances, as freezegun puts one in the place of `datetime`.
    class Meta(type(bases[-1])):
        def __instancecheck__(cls, value):
            return isinstance(value, known)

        def __subclasscheck__(cls, other):
            return issubclass(other, known)

    return Meta("Fake" + known.__name__, bases, {})


fake_date = frozen(date, date)
fake_datetime = frozen(datetime, datetime, fake_date)


def convert(time, day):
    cls = make_dataclass("T", [("create_time", time | None), ("text", day)])
    (made,) = orders({**ORDER, "text": "2026-01-31"}).as_type(cls)
    assert (type(made.create_time), type(made.text)) == (datetime, date), made


def convert_all():
    convert(datetime, date)
    convert(fake_datetime, fake_date)


assert "boardlot._support.row_classes" not in sys.modules
if sys.argv[1] == "frozen":
    module.date, module.datetime = fake_date, fake_datetime
convert_all()
module.date, module.datetime = date, datetime
convert_all()
