"""Reading dumps: single tensors, and the tree of a whole dump.

tensor = load("…/after/outtensor0.bin")
np.abs(tensor).max()

for stored in open_dump("atb_dump_data").tensors:
    print(stored.op, stored.name, stored.load().shape)
"""

from __future__ import annotations
