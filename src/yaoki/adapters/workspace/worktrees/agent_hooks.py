"""Hooks of the repository that an agent has inside the sandbox: its own branch, and no other.

They keep no attacker out: nothing that happens in that repository leaves it but by yaoki's hand.
They tell an honest agent at once what would have had no effect, and count it for the report.  A
push is refused twice: git asks a hook only when the other side has answered, so each address to
push to is also written otherwise and leads to a program of ours, which answers in its place.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

# Beside the hooks, in the agent's own git folder; one line for each refusal.
REFUSALS_FILE = "yaoki-refused"
OWN = ("reference-transaction", "pre-push")
MOVES = """\
#!/bin/sh
# Only the task's own branch is taken: what is put elsewhere would be lost to it.
[ "$1" = prepared ] || exit 0
own=refs/heads/{branch}
refused=0
while read -r old new ref; do
    case "$ref" in
        "$own") ;;
        refs/tags/*) what="tag ${{ref#refs/tags/}}"; refused=1 ;;
        refs/heads/*) what="branch ${{ref#refs/heads/}}"; refused=1 ;;
        *) ;;
    esac
done
[ $refused = 0 ] && exit 0
printf '%s\\n' "$what" >> {noted}
echo "yaoki: no tag and no other branch leaves this worktree: $what is refused." >&2
echo "yaoki: commit on the branch that you are on, {branch}; yaoki takes it from there." >&2
exit 1
"""
PUSHES = """\
#!/bin/sh
printf 'push to %s\\n' "$1" >> {noted}
echo "yaoki: nothing is pushed from here: $1 is refused." >&2
echo "yaoki: commit on the branch that you are on, {branch}; yaoki takes it from there." >&2
exit 1
"""
# Spoken as the other side of a push would, so that git shows the words and nothing else.
ANSWERS = """\
#!/bin/sh
LC_ALL=C; export LC_ALL
printf 'push to %s\\n' "$1" >> {noted}
words="yaoki: nothing is pushed from here: $1 is refused.
yaoki: commit on the branch that you are on, {branch}; yaoki takes it from there."
printf '%04xERR %s' $((8 + ${{#words}})) "$words"
"""
ANSWERING = "answer-push"
# By its own path: a hook looks beside itself for what belongs to it.  One that the sandbox hides
# must not keep the agent from committing.
HANDS_ON = """\
#!/bin/sh
[ -x {hook} ] || exit 0
exec {hook} "$@"
"""


def write_hooks(folder: Path, users: Path, branch: str) -> None:
    """The user's own hooks go on working beside ours."""
    folder.mkdir()
    # A branch of ours has no letter that a shell would take for anything else.
    values = {"branch": branch, "noted": shlex.quote(str(folder.parent / REFUSALS_FILE))}
    for name, text in zip((*OWN, ANSWERING), (MOVES, PUSHES, ANSWERS), strict=True):
        (folder / name).write_text(text.format(**values), encoding="utf-8")
        (folder / name).chmod(0o755)
    for hook in sorted(users.iterdir()) if users.is_dir() else ():
        fit = hook.suffix != ".sample" and hook.is_file() and os.access(hook, os.X_OK)
        if fit and hook.name not in (*OWN, ANSWERING):
            words = HANDS_ON.format(hook=shlex.quote(str(hook)))
            (folder / hook.name).write_text(words, encoding="utf-8")
            (folder / hook.name).chmod(0o755)


def push_settings(folder: Path, remotes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Lines of settings by which no push finds its address; `remotes` are names with theirs.

    git takes the longest beginning that fits: what the user writes otherwise fits less than the
    whole of an address, and the empty one fits every other.
    """
    answers = str(folder / ANSWERING)
    if not answers.isprintable():  # no setting could name it
        return
    yield from ('[protocol "ext"]', "\tallow = user")
    for name, address in (("", ""), *remotes):
        if name.isprintable():
            told = quoted(f"ext::sh {_one_word(answers)} {_one_word(name)}")
            yield from (f"[url {told}]", f"\tpushInsteadOf = {quoted(address)}")


def _one_word(text: str) -> str:
    return text.replace("%", "%%").replace(" ", "% ")


def quoted(text: str) -> str:
    """As a value or a name in a file of settings."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
