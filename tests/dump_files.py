"""Files of a dump, made by a test byte by byte."""

from __future__ import annotations

from pathlib import Path

STATISTIC_HEADER = (
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,"
    "Tensor Path\n"
)
ANOMALY_HEADER = (
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Shape,NaN,+Inf,-Inf,First Position,"
    "First Index,Tensor Path\n"
)


def bin_file(data: bytes, dtype: int | str = 0, dims: str = "", layout: int | str = 2) -> bytes:
    header = (
        f"$Version=1.0\n$Object.Count=1\n$Object.Length={len(data)}\nformat={layout}\ndtype={dtype}\ndims={dims}\n"
        f"$Object.data=0,{len(data)}\n$End=1\n"
    )
    return header.encode() + data


def reference_file(reference: str, dtype: int = 0, dims: str = "", layout: int = 2) -> bytes:
    header = (
        f"$Version=1.0\n$Object.Count=0\n$Object.Length=0\nformat={layout}\ndtype={dtype}\ndims={dims}\n"
        f"data={reference}\n$End=1\n"
    )
    return header.encode("utf-8", "surrogateescape")


def put(path: Path, content: bytes | str) -> Path:
    """Write a file, and the folders that it lies in; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
