"""What a stranger's repository, plan or settings bring: nothing of it starts by being looked at."""

from __future__ import annotations

from dataclasses import dataclass

LOOKS = (
    "status",
    "doctor",
    "report",
    "recover",
    "snapshots",
    "dead",
    "config show",
    "agents list",
    "metrics",
    "validate $FOLDER/plan.yaml",
    "plan $FOLDER/plan.yaml",
)
# A plan without anything wrong, and a run of it.
RUN = ("run $FOLDER/plan.yaml --quiet", "status", "report", "diff a", "why a", "trace a", "verify")
PLAN = """\
goal: Work
agents: {plain: {command: [sh, -c, "echo good > a.txt"]}}
agent: plain
checks: {proof: {shell: "grep -qx good a.txt"}}
tasks: [{id: a, goal: Work., checks: [proof]}]
"""
KEYS = (
    "core.fsmonitor core.sshCommand core.gitProxy core.editor core.pager core.askPass "
    "diff.external gpg.program sequence.editor core.alternateRefsCommand credential.helper "
    "trailer.x.command interactive.diffFilter diff.evil.textconv diff.evil.command pager.log "
    "merge.evil.driver alias.status alias.log man.x.cmd web.browser gpg.ssh.program"
)
SIGNED = """\
cd $REPO; git config log.showSignature true; git config gpg.program "$MARKS/../evil"
printf '#!/bin/sh\\ntouch %s\\n' $MARK > $FOLDER/evil; chmod +x $FOLDER/evil
tree=$(git rev-parse HEAD^{tree})
c=$(printf 'tree %s\\nparent %s\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b> 1 +0000\\n'\
'gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----\\n\\nsigned\\n' \
    $tree $(git rev-parse HEAD) | git hash-object -t commit -w --stdin)
git update-ref refs/heads/main $c
"""


@dataclass(frozen=True)
class RepositoryAttack:
    """`prepare` is bash that makes the place hostile; `commands` are what a person says there.

    `codes` are the exit codes that are an answer; 1 is one of `doctor` and of a broken repository.
    """

    name: str
    tries: str
    prepare: str
    commands: tuple[str, ...] = LOOKS
    codes: frozenset[int] = frozenset({0, 2, 3, 4, 6})

    def __str__(self) -> str:
        return self.name


def a_plan(name: str, tries: str, text: str, *commands: str) -> RepositoryAttack:
    """A plan file of these bytes, as `printf` takes them."""
    words = commands or ("validate $FOLDER/plan.yaml", "plan $FOLDER/plan.yaml", RUN[0])
    return RepositoryAttack(
        name, tries, f"printf '{text}' > $FOLDER/plan.yaml", words, frozenset({2})
    )


REPOSITORY_ATTACKS = (
    RepositoryAttack(
        "archive-settings",
        "an archive whose .git/config names programs in 22 places",
        f'cd $REPO; for k in {KEYS}; do git config $k "touch $MARK; false"; done; '
        "echo '* diff=evil merge=evil' > .gitattributes",
        LOOKS,
        frozenset({0, 1, 2, 3, 4, 6}),
    ),
    RepositoryAttack(
        "archive-settings-run",
        "the same, and a run with its report and diff",
        "cd $REPO; echo '* diff=evil merge=evil' > .gitattributes; git add .; "
        "git -c user.name=t -c user.email=t@t commit -qm attributes; "
        f'for k in {KEYS}; do git config $k "touch $MARK; false"; done',
        RUN,
    ),
    RepositoryAttack(
        "archive-hooks-run",
        "an archive with every git hook, and a run",
        "cd $REPO/.git/hooks; for h in applypatch-msg pre-applypatch post-applypatch pre-commit "
        "pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout "
        "post-merge pre-push post-rewrite reference-transaction post-index-change pre-auto-gc "
        "fsmonitor-watchman sendemail-validate push-to-checkout; do "
        "printf '#!/bin/sh\\ntouch %s\\n' $MARK > $h; chmod +x $h; done",
        RUN,
    ),
    RepositoryAttack(
        "archive-hooks-path",
        "an archive whose hooks are tracked files",
        "cd $REPO; mkdir .hooks; for h in post-checkout reference-transaction post-index-change "
        "pre-commit; do printf '#!/bin/sh\\ntouch %s\\n' $MARK > .hooks/$h; chmod +x .hooks/$h; done; "
        "git add .; git -c user.name=t -c user.email=t@t commit -qm hooks; "
        "git config core.hooksPath .hooks",
        RUN,
    ),
    RepositoryAttack(
        "archive-signature", "a signed commit, and a program that verifies it", SIGNED, RUN
    ),
    RepositoryAttack(
        "archive-include",
        "settings that include a pipe and themselves",
        "cd $REPO; mkfifo .git/pipe; git config include.path config",
        LOOKS,
        frozenset({0, 1, 2, 3, 4, 6}),
    ),
    RepositoryAttack(
        "archive-gitfile",
        "a .git file that points to another repository of the person",
        'git init -q $PERSON/own; rm -rf $REPO/.git; echo "gitdir: $PERSON/own/.git" > $REPO/.git',
        LOOKS,
        frozenset({0, 1, 2, 3, 4, 6}),
    ),
    RepositoryAttack(
        "archive-bent",
        "a .git without HEAD, with garbage as its index",
        "rm $REPO/.git/HEAD; head -c 999 /dev/urandom > $REPO/.git/index",
        LOOKS,
        frozenset({0, 1, 2, 3, 4, 6}),
    ),
    RepositoryAttack(
        "archive-refs",
        "20 000 refs with names of options and shells",
        "cd $REPO; c=$(git rev-parse HEAD); (echo '# pack-refs with: peeled fully-peeled sorted'; "
        'for i in $(seq 10000 29999); do echo "$c refs/heads/x\\$(touch\\${IFS}$MARKS/n)-$i"; '
        "done) > .git/packed-refs",
        ("status", "doctor", RUN[0]),
        frozenset({0, 1, 2, 3, 4, 6}),
    ),
    RepositoryAttack(
        "clone-settings-pipe",
        "settings that are a pipe",
        "rm $REPO/yaoki.toml; mkfifo $REPO/yaoki.toml",
        ("status", "config show", RUN[0]),
    ),
    RepositoryAttack(
        "clone-settings-link",
        "settings that are a link to a key of the person",
        "rm $REPO/yaoki.toml; ln -s $PERSON/.ssh/id_ed25519 $REPO/yaoki.toml",
        ("status", "config show", RUN[0]),
    ),
    RepositoryAttack(
        "clone-settings-endless",
        "an endless settings file",
        "rm $REPO/yaoki.toml; ln -s /dev/zero $REPO/yaoki.toml",
        ("status", RUN[0]),
    ),
    RepositoryAttack(
        "clone-settings-words",
        "settings whose keys and values are control characters",
        'printf \'"\\\\u001b]0;evil\\\\u0007" = 1\\n[limits]\\nparallel = "\\\\u001b[2J"\\n\' '
        "> $REPO/yaoki.toml",
        ("status", "config show", RUN[0]),
    ),
    RepositoryAttack(
        "clone-settings-huge",
        "settings with a number of 5000 digits and nested tables",
        "(echo '[limits]'; printf 'parallel = '; head -c 5000 /dev/zero | tr '\\0' 9; echo; "
        "printf 'x = '; head -c 3000 /dev/zero | tr '\\0' '['; echo) > $REPO/yaoki.toml",
        ("status", RUN[0]),
    ),
    RepositoryAttack(
        "clone-store-elsewhere",
        "settings that put the store over a file of the person",
        "printf 'store = {url = \"sqlite:///%s\"}\\n' $PERSON/precious > $REPO/yaoki.toml",
        ("status", "doctor", "prune", RUN[0]),
        frozenset({0, 1, 2, 3, 4, 6}),
    ),
    RepositoryAttack(
        "clone-worktrees-elsewhere",
        "settings that put worktrees into the person's home",
        "printf '[workspace]\\nroot = \"%s\"\\n' $PERSON/projects > $REPO/yaoki.toml",
        ("status", "doctor", "prune"),
    ),
    RepositoryAttack(
        "clone-store-brought",
        "a foreign store with a run",
        "mkdir -p $REPO/.yaoki; head -c 5000 /dev/urandom > $REPO/.yaoki/state.db; "
        "mkfifo $REPO/.yaoki/journal.jsonl 2>/dev/null; ln -s $PERSON/precious $REPO/.yaoki/x",
        LOOKS,
        frozenset({0, 1, 2, 3, 4, 6}),
    ),
    RepositoryAttack(
        "clone-files-as-words",
        "files whose names are options, shells and control characters",
        "cd $REPO; touch -- '-rf' '--exec=touch x' '$(touch mark)' \"$(printf 'e\\033[2J')\" "
        "\"$(printf 'n\\nl')\" ';touch mark;' '|touch mark'; git add .; "
        "git -c user.name=t -c user.email=t@t commit -qm names",
        RUN,
    ),
    RepositoryAttack(
        "clone-submodule",
        "a submodule with an address that starts programs",
        'cd $REPO; printf \'[submodule "x"]\\n\\tpath = x\\n\\turl = ext::touch %s\\n\\tupdate = '
        "!touch %s\\n' $MARK $MARK > .gitmodules; git update-index --add --cacheinfo "
        "160000,$(git rev-parse HEAD),x; git add .gitmodules; "
        "git -c user.name=t -c user.email=t@t commit -qm module",
        RUN,
    ),
    RepositoryAttack(
        "clone-attributes",
        "attributes with missing filters, and text in other encodings",
        "cd $REPO; printf '* filter=lfs2 diff=x merge=x -text\\n*.txt working-tree-encoding=UTF-16\\n'"
        " > .gitattributes; git add .; git -c user.name=t -c user.email=t@t commit -qm attributes",
        ("run $FOLDER/plan.yaml --quiet", "status"),
    ),
    RepositoryAttack(
        "clone-deep",
        "300 nested tracked folders",
        'cd $REPO; "$PY" -c \'import os\nfor _ in range(300): os.mkdir("d"); os.chdir("d")\n'
        'open("x", "w").close()\'; git add . && git -c user.name=t -c user.email=t@t commit -qm deep',
        ("status", RUN[0]),
    ),
    RepositoryAttack(
        "plan-endless",
        "a plan that is a folder or an endless file",
        "mkdir $FOLDER/folder; ln -s /dev/zero $FOLDER/endless",
        ("validate $FOLDER/folder", "validate $FOLDER/endless"),
        frozenset({2}),
    ),
    a_plan(
        "plan-python", "a plan that makes Python objects", "!!python/object/apply:os.system [x]"
    ),
    a_plan("plan-bytes", "a plan in UTF-16 with NULs", "\\377\\376g\\000o\\000\\000\\000"),
    a_plan(
        "plan-words",
        "a plan whose names are control characters",
        'goal: "\\\\e[2J\\\\a"\\ntasks: [{id: "\\\\e]0;x\\\\a", goal: "x"}]\\n"\\\\e[31m": 1\\n',
    ),
    a_plan(
        "plan-out",
        "a plan whose checks, files and folders lead out of the repository",
        "goal: x\\nagents: {p: {command: [true]}}\\nagent: p\\nchecks: {c: {shell: x, cwd: ../..}, "
        "f: {file: ../../../etc/passwd}, g: {file: /etc/passwd}}\\n"
        "tasks: [{id: ../x, goal: x, checks: [c, f, g], scope: [../**]}]\\n",
    ),
    a_plan(
        "plan-circle",
        "a plan with a task that needs itself and a duplicate task",
        "goal: x\\nagents: {p: {command: [true]}}\\nagent: p\\nchecks: {c: {shell: x}}\\n"
        "tasks: [{id: a, goal: x, needs: [b], checks: [c]}, {id: b, goal: x, needs: [a]}, {id: a}]\\n",
    ),
    a_plan(
        "plan-aliases",
        "a plan whose aliases grow tenfold, ten times",
        "a: &a [x,x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\\n"
        "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\\ngoal: *f\\n",
    ),
    a_plan(
        "plan-base",
        "a plan whose base is an option, a range or a command",
        'goal: x\\nbase: "--upload-pack=touch x"\\nagents: {p: {command: [true]}}\\nagent: p\\n'
        "checks: {c: {shell: x}}\\ntasks: [{id: a, goal: x, checks: [c]}]\\n",
        "validate $FOLDER/plan.yaml",
        RUN[0],
    ),
)
