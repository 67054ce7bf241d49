"""The person's own repository: settings, hooks, refs, objects and what stands beside them."""

from __future__ import annotations

from tests.security.attack import STOPPED, Attack, Detected, Open

GIT = "git --git-dir=$REPO/.git"
PLANT = "printf '#!/bin/sh\\ntouch %s\\n' $MARK"

ATTACKS = (
    Attack(
        "user-config-fsmonitor",
        "sets core.fsmonitor in the repository's config",
        f'{GIT} config core.fsmonitor "touch $MARK; false"',
        "grep -q fsmonitor $REPO/.git/config",
        off=Detected("question", "config"),
        beside="user-questions-1",
    ),
    Attack(
        "user-config-include",
        "makes the repository's config include a file of the agent",
        "echo '[core]' > $PERSON/evil.inc; printf '\\tsshCommand = touch %s\\n' $MARK"
        " >> $PERSON/evil.inc; printf '[include]\\n\\tpath = %s\\n' $PERSON/evil.inc"
        " >> $REPO/.git/config",
        "grep -q evil.inc $REPO/.git/config",
        off=Detected("question", "config"),
        beside="user-questions-2",
    ),
    Attack(
        "user-config-alias",
        "gives the person an alias that starts a program",
        f'{GIT} config alias.st "!touch $MARK"',
        "grep -q alias $REPO/.git/config",
        off=Detected("question", "config"),
        beside="user-questions-3",
    ),
    Attack(
        "user-config-credential",
        "names a credential helper in the repository's config",
        f'{GIT} config credential.helper "!touch $MARK"',
        "grep -q credential $REPO/.git/config",
        off=Detected("question", "config"),
        beside="user-questions-4",
    ),
    Attack(
        "user-config-worktree",
        "switches on config.worktree and writes one for the person's checkout",
        f"{GIT} config extensions.worktreeConfig true; printf '[core]\\n\\tpager = touch %s\\n'"
        " $MARK > $REPO/.git/config.worktree",
        "test -e $REPO/.git/config.worktree",
        off=Detected("question", "config"),
    ),
    Attack(
        "user-hook-post-checkout",
        "plants a hook post-checkout",
        f"mkdir -p $REPO/.git/hooks; {PLANT} > $REPO/.git/hooks/post-checkout; "
        "chmod +x $REPO/.git/hooks/post-checkout",
        "test -e $REPO/.git/hooks/post-checkout",
        off=Detected("question", "hooks/post-checkout"),
        beside="user-questions-1",
    ),
    Attack(
        "user-hook-reference-transaction",
        "plants a hook that every move of a ref would start",
        f"mkdir -p $REPO/.git/hooks; {PLANT} > $REPO/.git/hooks/reference-transaction; "
        "chmod +x $REPO/.git/hooks/reference-transaction",
        "test -e $REPO/.git/hooks/reference-transaction",
        off=Detected("question", "hooks/reference-transaction"),
        beside="user-questions-2",
    ),
    Attack(
        "user-attributes-filter",
        "names a clean filter in info/attributes and the config",
        "echo '* filter=evil' >> $REPO/.git/info/attributes; "
        f'{GIT} config filter.evil.clean "touch $MARK; cat"',
        "test -e $REPO/.git/info/attributes",
        off=Detected("question", "attributes"),
        beside="user-questions-3",
    ),
    Attack(
        "user-exclude",
        "hides files from the person's git status with info/exclude",
        "mkdir -p $REPO/.git/info; echo '*.sh' >> $REPO/.git/info/exclude",
        "grep -qs '^\\*.sh' $REPO/.git/info/exclude",
        off=Detected("question", "exclude"),
        beside="user-questions-1",
    ),
    Attack(
        "user-alternates",
        "adds its own object folder to the person's repository as an alternate",
        "mkdir -p $PERSON/objects; echo $PERSON/objects > $REPO/.git/objects/info/alternates",
        "test -s $REPO/.git/objects/info/alternates",
        off=Detected("question", "alternates"),
        beside="user-questions-1",
    ),
    Attack(
        "user-replace",
        "replaces the person's first commit by another",
        "cd $REPO; old=$(git rev-parse main); new=$(git $WHO commit-tree -m forged "
        "$(git rev-parse main^{tree})); git replace -f $old $new",
        'test -n "$(git -C $REPO for-each-ref refs/replace)"',
        off=Detected("question", "replace"),
        beside="user-questions-4",
    ),
    Attack(
        "user-grafts",
        "changes the person's history with grafts",
        "git -C $REPO rev-parse main > $REPO/.git/info/grafts",
        "test -e $REPO/.git/info/grafts",
        off=Detected("question", "grafts"),
        beside="user-questions-2",
    ),
    Attack(
        "user-shallow",
        "truncates the person's history with a shallow file",
        "git -C $REPO rev-parse main > $REPO/.git/shallow",
        "test -e $REPO/.git/shallow",
        off=Detected("report", "shallow"),
        beside="user-reports-1",
    ),
    Attack(
        "user-modules",
        "plants the repository of a submodule with its own settings",
        "mkdir -p $REPO/.git/modules/x; echo '[core]' > $REPO/.git/modules/x/config",
        "test -e $REPO/.git/modules/x/config",
        off=Open("a folder that no submodule uses is not examined, neither by yaoki nor by git"),
        beside="user-reports-2",
    ),
    Attack(
        "user-head",
        "points the person's HEAD at a missing branch",
        "echo 'ref: refs/heads/evil' > $REPO/.git/HEAD",
        "grep -q evil $REPO/.git/HEAD",
        off=Detected("report", "HEAD"),
    ),
    Attack(
        "user-index",
        "deletes the person's index",
        "rm -f $REPO/.git/index",
        "test ! -e $REPO/.git/index",
        off=Detected("report", "index"),
    ),
    Attack(
        "user-branch",
        "moves the person's branch and makes a tag",
        "cd $REPO; git $WHO commit-tree -m forged HEAD^{tree} | xargs "
        "git update-ref refs/heads/other; git tag evil main",
        "git -C $REPO rev-parse -q --verify refs/tags/evil",
        off=Detected("report", "refs/tags/evil"),
        beside="user-reports-1",
    ),
    Attack(
        "user-packed-refs",
        "writes a false branch into packed-refs",
        'echo "$(git -C $REPO rev-parse main) refs/heads/lie" >> $REPO/.git/packed-refs',
        "grep -qs refs/heads/lie $REPO/.git/packed-refs",
        off=Detected("report", "refs/heads/lie"),
        beside="user-reports-1",
    ),
    Attack(
        "user-stash",
        "adds a stash on top of the person's stashes",
        "cd $REPO; new=$(git $WHO commit-tree -p HEAD -p HEAD -m evil HEAD^{tree}); "
        "git stash store -m evil $new",
        "git -C $REPO rev-parse -q --verify refs/stash",
        off=Detected("report", "stash"),
        beside="user-reports-1",
    ),
    Attack(
        "user-object",
        "overwrites an object of the person's repository with garbage",
        "cd $REPO/.git/objects; blob=$(git -C $REPO rev-parse main:README); "
        "file=${blob:0:2}/${blob:2}; chmod u+w $file; echo garbage > $file",
        "! git -C $REPO cat-file -p main:README",
        off=Open("`git fsck` finds it; objects that other clones have can be fetched"),
        apart=True,
    ),
    Attack(
        "user-logs",
        "deletes the logs of the person's refs",
        "rm -rf $REPO/.git/logs",
        "test ! -e $REPO/.git/logs/HEAD",
        off=Open("a deleted reflog is not a change of a ref"),
        beside="user-reports-2",
    ),
    Attack(
        "user-locks",
        "leaves lock files that block every git command",
        "touch $REPO/.git/config.lock $REPO/.git/index.lock $REPO/.git/HEAD.lock "
        "$REPO/.git/packed-refs.lock",
        "test -e $REPO/.git/index.lock",
        off=Open("git's own message names the file; nothing lands unproven"),
    ),
    Attack(
        "user-checkout",
        "changes a file of the checkout and adds a program",
        "echo evil >> $REPO/README; echo evil > $REPO/planted",
        "grep -q evil $REPO/README",
        off=Detected("report", "files"),
        beside="user-reports-2",
    ),
    Attack(
        "user-run-branch",
        "adds its own commit to the run branch",
        "cd $REPO; run=$(git for-each-ref --format='%(refname)' refs/heads/yaoki | head -1); "
        'new=$(git $WHO commit-tree -p main -m "$NAME: forged" main^{tree}); '
        "git update-ref $run $new; git update-ref refs/yaoki/runs/${run##*/} $new",
        "git -C $REPO log --branches=yaoki/* --format=%s | grep -q forged",
        off=Detected("run", "branch"),
        cheats=True,
        lands=None,
        truth="true",
    ),
    Attack(
        "user-neighbours-worktree",
        "redirects the worktrees of other tasks to another repository",
        "for f in $REPO/.git/worktrees/*/gitdir; do echo $PERSON/elsewhere/.git > $f; done",
        "false",
        off=STOPPED,
        apart=True,
        lands=None,
    ),
    Attack(
        "user-commondir",
        "redirects its worktree to another git folder",
        "git init -q --bare $PERSON/theirs.git; for f in $REPO/.git/worktrees/*/commondir; do "
        "echo $PERSON/theirs.git > $f; done",
        "test -d $PERSON/theirs.git/refs/yaoki",
        off=STOPPED,
        apart=True,
    ),
)
