"""How many examples a law is tried on, as a part of what the profile says.

A number of its own would hold in every profile, also where each mutant of the core runs the test.
"""

from __future__ import annotations

from hypothesis import settings

few = settings(max_examples=max(4, settings().max_examples * 3 // 10))
