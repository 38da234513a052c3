"""What the other parts of the stub share."""

from typing import Any, Literal, TypeVar

_Row_co = TypeVar("_Row_co", covariant=True)
_T = TypeVar("_T")
_Decimals = Literal["float64", "decimal", "string"]
_Invalid = Literal["raise", "null"]
_Algorithm = Literal["Ed25519", "RSA-SHA256"]
# pyarrow has no types.
_Table = Any
_RecordBatch = Any
