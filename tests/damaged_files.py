"""What may have happened to a file: cut short, gone on, bytes taken out or put in, written twice."""

from __future__ import annotations

from hypothesis import strategies as st

damage = st.one_of(
    st.builds(lambda at: lambda c: c[: at % len(c)], st.integers(0, 500)),
    st.builds(lambda more: lambda c: c + more, st.binary(min_size=1, max_size=200)),
    st.builds(
        lambda at, cut, more: lambda c: c[: at % len(c)] + more + c[at % len(c) + cut :],
        st.integers(0, 500),
        st.integers(0, 40),
        st.binary(max_size=8) | st.sampled_from([b"\n", b"=", b"0", b"1", b",", b"24", b"dims=1\n"]),
    ),
    st.just(lambda c: c + c),
)
