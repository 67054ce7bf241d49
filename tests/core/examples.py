"""The number of examples of a property test, as a share of the profile's number.

A fixed number would apply to every profile, also when each mutant of the core runs the test.
"""

from __future__ import annotations

from hypothesis import settings

few = settings(max_examples=max(4, settings().max_examples * 3 // 10))
