"""Hooks of the repository that an agent has inside the sandbox: its own branch, and no other.

They keep no attacker out: nothing that happens in that repository leaves it but by yaoki's hand.
They tell an honest agent at once what would have had no effect, and count it for the report.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

# Beside the hooks, in the agent's own git folder; one line for each refusal.
REFUSED = "yaoki-refused"
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
    values = {"branch": branch, "noted": shlex.quote(str(folder.parent / REFUSED))}
    for name, text in zip(OWN, (MOVES, PUSHES), strict=True):
        (folder / name).write_text(text.format(**values), encoding="utf-8")
        (folder / name).chmod(0o755)
    for hook in sorted(users.iterdir()) if users.is_dir() else ():
        fit = hook.suffix != ".sample" and hook.is_file() and os.access(hook, os.X_OK)
        if fit and hook.name not in OWN:
            words = HANDS_ON.format(hook=shlex.quote(str(hook)))
            (folder / hook.name).write_text(words, encoding="utf-8")
            (folder / hook.name).chmod(0o755)
