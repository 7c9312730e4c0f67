"""Ops from running processes: what they have listed of their next round."""

from __future__ import annotations

from collections.abc import Iterable

from atbprobe_rules.catalogue.ops import Catalogue, CatalogueBuilder, TensorSize, execution_of
from atbprobe_rules.listing.ops import KERNEL, ListedOp, ListedTensor
from atbprobe_rules.listing.processes import Listing, Outcome


def catalogue_of_listing(listing: Listing) -> Catalogue:
    """Return all ops that were listed; processes that have not listed all of theirs are among the notes."""
    builder = CatalogueBuilder()
    processes = [process for process in listing.processes if process.ops]
    builder.add_source(f"running processes {', '.join(str(process.pid) for process in processes)}")
    nameless = 0
    for process in listing.processes:
        nameless += _add_ops(builder, process.ops)
        if process.outcome is not Outcome.COMPLETE:
            builder.notes.append(f"process {process.pid} has not listed all of its operations: {process.outcome.value}")
    if nameless:
        builder.notes.append(
            f"kernels without a directory of their own, which no rule can name, are left out: {nameless:,}"
        )
    return builder.build()


def _add_ops(builder: CatalogueBuilder, ops: Iterable[ListedOp]) -> int:
    """Add ops; return how many kernels were left out, since they have only the directory of what calls them."""
    left_out = 0
    for op in ops:
        if op.kind == KERNEL and op.path.rpartition("/")[2].partition("_")[2] != op.name:
            left_out += 1
            continue
        known = builder.add_directory(op.dir.encode("utf-8", "surrogateescape"))
        if known is not None:
            execution = execution_of(known, op.round)
            execution.inputs = _sizes(op.inputs)
            execution.outputs = _sizes(op.outputs)
    return left_out


def _sizes(tensors: Iterable[ListedTensor]) -> list[TensorSize]:
    return [TensorSize(str(index), one.dtype, one.shape, one.bytes) for index, one in enumerate(tensors)]
