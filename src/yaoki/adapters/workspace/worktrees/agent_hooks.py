"""Hooks of an agent's repository inside the sandbox: they allow its own branch and no other.

They are no defence: only yaoki takes anything out of that repository.  They tell an honest agent
at once that an act has no effect, and record it for the report.  A push is refused twice: git runs
its hook only after the remote has answered, so each push address is also rewritten to a program of
yaoki's that answers in place of the remote.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

# In the agent's git folder, beside the hooks; one line for each refusal.
REFUSALS_FILE = "yaoki-refused"
OWN_HOOKS = ("reference-transaction", "pre-push")
REF_HOOK = """\
#!/bin/sh
# Only the task's own branch is imported: commits on other refs would be lost.
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
printf '%s\\n' "$what" >> {record}
echo "yaoki: only your own branch is kept, no tags or other branches: $what is refused." >&2
echo "yaoki: commit on the branch that you are on, {branch}; yaoki takes it from there." >&2
exit 1
"""
PUSH_HOOK = """\
#!/bin/sh
printf 'push to %s\\n' "$1" >> {record}
echo "yaoki: pushes are not allowed here: the push to $1 is refused." >&2
echo "yaoki: commit on the branch that you are on, {branch}; yaoki takes it from there." >&2
exit 1
"""
# Answers in git's protocol, so that git shows this message and nothing else.
RESPONDER = """\
#!/bin/sh
LC_ALL=C; export LC_ALL
printf 'push to %s\\n' "$1" >> {record}
words="yaoki: pushes are not allowed here: the push to $1 is refused.
yaoki: commit on the branch that you are on, {branch}; yaoki takes it from there."
printf '%04xERR %s' $((8 + ${{#words}})) "$words"
"""
PUSH_RESPONDER = "answer-push"
# Runs the user's hook by its own path, because a hook may read files beside itself.  A hook that
# the sandbox hides must not keep the agent from committing.
FORWARDING_HOOK = """\
#!/bin/sh
[ -x {hook} ] || exit 0
exec {hook} "$@"
"""


def write_hooks(folder: Path, user_hooks: Path, branch: str) -> None:
    """Write yaoki's hooks, and hooks that run the user's own."""
    folder.mkdir()
    # Branch names of yaoki's need no quoting in a shell.
    values = {"branch": branch, "record": shlex.quote(str(folder.parent / REFUSALS_FILE))}
    for name, text in zip(
        (*OWN_HOOKS, PUSH_RESPONDER), (REF_HOOK, PUSH_HOOK, RESPONDER), strict=True
    ):
        (folder / name).write_text(text.format(**values), encoding="utf-8")
        (folder / name).chmod(0o755)
    for hook in sorted(user_hooks.iterdir()) if user_hooks.is_dir() else ():
        is_active = hook.suffix != ".sample" and hook.is_file() and os.access(hook, os.X_OK)
        if is_active and hook.name not in (*OWN_HOOKS, PUSH_RESPONDER):
            text = FORWARDING_HOOK.format(hook=shlex.quote(str(hook)))
            (folder / hook.name).write_text(text, encoding="utf-8")
            (folder / hook.name).chmod(0o755)


def push_settings(folder: Path, remotes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Settings that rewrite every push address; `remotes` are names with their addresses.

    git uses the longest matching prefix: rewrites of the user's match less than a whole address,
    and the empty prefix matches every other address.
    """
    responder = str(folder / PUSH_RESPONDER)
    if not responder.isprintable():  # no setting could name it
        return
    yield from ('[protocol "ext"]', "\tallow = user")
    for name, address in (("", ""), *remotes):
        if name.isprintable():
            command = quote_config(f"ext::sh {_one_word(responder)} {_one_word(name)}")
            yield from (f"[url {command}]", f"\tpushInsteadOf = {quote_config(address)}")


def _one_word(text: str) -> str:
    return text.replace("%", "%%").replace(" ", "% ")


def quote_config(text: str) -> str:
    """Quote a value or a subsection name for a config file."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
