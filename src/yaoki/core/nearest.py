"""The known word a wrong one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

# Comparing is slow: past this many words the hint is not worth the wait.
KNOWN_MAX = 1_000
WORD_MAX = 200


def nearest(word: str, known: Iterable[str]) -> str:
    """The most similar known word; empty when none is similar."""
    words = [str(one) for one in known]
    if len(words) > KNOWN_MAX or len(word) > WORD_MAX:
        return ""
    from difflib import get_close_matches  # only a wrong word needs it

    return next(iter(get_close_matches(word, words, n=1)), "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'needs'?`, ready to append; empty when nothing is near."""
    found = nearest(word, known)
    return f"; did you mean {found!r}?" if found else ""
