"""The values that Hypothesis draws for rules."""

from hypothesis import strategies as st

from tests.machine.world import BROWSERS

tabs = st.integers(0, BROWSERS - 1)
apps = st.integers(0, 4)
people = st.integers(0, 4)
which = st.integers(0, 7)
decisions = st.sampled_from(["allow", "allow", "allow", "meddle", "cancel", "leave"])
