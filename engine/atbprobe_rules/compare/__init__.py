"""Two dumps side by side: which tensors belong together, how far apart they are, and where it begins.

    matching    which tensor of the one dump is which of the other
    metrics     how far apart two tensors are
    statistic_differences   the same where only statistics were dumped
    thresholds  how far is too far, by dtype
    first_difference        the operation at which it begins
    comparison  all of it over whole dumps, on all cores

Nothing here prints; the command line and the reports show what `comparison` returns.
"""

from __future__ import annotations
