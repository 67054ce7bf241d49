"""The repository that an agent has for itself in the sandbox; without it, its worktree's own."""

from __future__ import annotations

from hashlib import sha1

from tests.security.attack import DEEP, SECRET, STOPPED, Attack, Detected, Open

COMMIT = "echo x > $NAME.side; git add $NAME.side; git $WHO commit -qm mine\n"
# Writes an object without git's own looks at it, and prints its name.
OBJECT = """\
object() { "$PY" -c '
import hashlib, os, sys, zlib
kind, data = sys.argv[1], sys.stdin.buffer.read()
raw = kind.encode() + b" %d\\0" % len(data) + data
name = hashlib.sha1(raw).hexdigest()
at = os.path.join(sys.argv[2], name[:2])
os.makedirs(at, exist_ok=True)
open(os.path.join(at, name[2:]), "wb").write(zlib.compress(raw))
print(name)' "$1" "$O"; }
commit() { printf 'tree %s\\nparent %s\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b> 1 +0000\\n\\nbad\\n' \
    "$1" $(git rev-parse HEAD) | object commit; }
"""
# One entry in a tree of one file, under a name that no checkout may write.
BAD_TREE = (
    OBJECT + "blob=$(echo evil | object blob)\n"
    'tree=$("$PY" -c \'import sys; sys.stdout.buffer.write(sys.argv[1].encode() + b" " + '
    'sys.argv[2].encode().decode("unicode_escape").encode("latin-1") + b"\\0" + '
    "bytes.fromhex(sys.argv[3]))' {mode} '{name}' ${what} | object tree)\n"
    "git update-ref --no-deref HEAD $(commit $tree) 2>&1 || "
    "echo $(commit $tree) > $G/$(git symbolic-ref HEAD)\n"
)
TREES = {
    "dotdot": ("100644", "..", "blob"),
    "dot": ("100644", ".", "blob"),
    "dotgit": ("40000", ".git", "{sub}"),
    "dotgit-file": ("100644", ".git", "blob"),
    "upper-git": ("100644", ".GIT", "blob"),
    "ntfs-git": ("100644", "git~1", "blob"),
    "hfs-git": ("100644", ".g\\xe2\\x80\\x8cit", "blob"),
    "slash": ("100644", "a/../../b", "blob"),
    "empty": ("100644", "", "blob"),
    "gitmodules-link": ("120000", ".gitmodules", "blob"),
}


def _bad_tree_id(mode: str, entry: str, what: str) -> str:
    """The id of the tree that BAD_TREE writes, so that the harm of each attack is told apart."""
    inner = _id("tree", b"") if what == "{sub}" else _id("blob", b"evil\n")
    name = entry.encode().decode("unicode_escape").encode("latin-1")
    return _id("tree", mode.encode() + b" " + name + b"\0" + inner).hex()


def _id(kind: str, data: bytes) -> bytes:
    return sha1(kind.encode() + b" %d\0" % len(data) + data).digest()


def bad_tree(name: str) -> Attack:
    mode, entry, what = TREES[name]
    kind = "tree" if what == "{sub}" else what
    text = BAD_TREE.replace("{mode}", mode).replace("{name}", entry).replace("{what}", kind)
    if kind == "tree":
        text = text.replace("tree=$(", "sub=$(printf '' | object tree)\ntree=$(", 1)
        text = text.replace("$tree |", "$sub |")
    return Attack(
        f"own-tree-{name}",
        f"commits a tree with an entry that no checkout may write ({name})",
        text,
        f"git -C $REPO cat-file -e {_bad_tree_id(mode, entry, what)}",
        off=Detected("question", "."),
        lands=None,
        beside="own-trees",
    )


ATTACKS = (
    Attack(
        "own-object-pipe",
        "replaces an object by a pipe, on which a reader would block",
        f"{COMMIT}mkdir -p $O/12; mkfifo $O/12/{'3' * 38}",
        off=STOPPED,
        apart=True,
    ),
    Attack(
        "own-pack-pipe",
        "replaces a pack by a pipe",
        f"{COMMIT}mkfifo $O/pack/pack-{'4' * 40}.pack $O/pack/pack-{'4' * 40}.idx",
        off=STOPPED,
        apart=True,
    ),
    Attack(
        "own-refs-pipe",
        "replaces its branch by a pipe",
        f"{COMMIT}branch=$(git symbolic-ref HEAD); rm $G/$branch; mkfifo $G/$branch",
        off=STOPPED,
        lands=None,
    ),
    Attack(
        "own-refs-link",
        "makes refs a link to the root folder",
        f"{COMMIT}rm -rf $G/refs; ln -s / $G/refs",
        off=STOPPED,
    ),
    Attack(
        "own-logs-link",
        "makes the log of its HEAD a link to a secret",
        f"{COMMIT}rm -rf $G/logs; mkdir $G/logs; ln -s $PERSON/.ssh/id_ed25519 $G/logs/HEAD",
        off=STOPPED,
    ),
    Attack(
        "own-refusals-link",
        "makes the list of refusals a link to a file of the person",
        f"{COMMIT}rm -f $G/yaoki-refused; ln -s $PERSON/.ssh/id_ed25519 $G/yaoki-refused",
        f"grep -rqs {SECRET} $REPO/.yaoki",
        off=STOPPED,
    ),
    Attack(
        "own-refusals-huge",
        "records a million refusals with control characters",
        f"{COMMIT}yes \"$(printf '\\033[2J\\033]0;x\\007push')\" | head -c 20000000 "
        "> $G/yaoki-refused",
        "test $(du -sk $REPO/.yaoki | cut -f1) -gt 20000",
        off=STOPPED,
    ),
    Attack(
        "own-many-refs",
        "makes 3000 refs",
        f"{COMMIT}c=$(git rev-parse HEAD); mkdir -p $G/refs/heads/many; "
        "for i in $(seq 3000); do echo $c > $G/refs/heads/many/$i; done",
        "test $(git -C $REPO for-each-ref | wc -l) -gt 1000",
        off=STOPPED,
    ),
    Attack(
        "own-packed-refs-lie",
        "claims in packed-refs that its branch is at the person's first commit",
        f"{COMMIT}branch=$(git symbolic-ref HEAD); rm $G/$branch; "
        'echo "$(git -C $REPO rev-list --max-parents=0 main) $branch" >> $G/packed-refs',
        off=STOPPED,
        lands=None,
    ),
    Attack(
        "own-head-of-neighbours",
        "points its HEAD at a ref of yaoki",
        f"{COMMIT}echo 'ref: refs/yaoki/runs/x' > $G/HEAD",
        off=STOPPED,
        lands=None,
    ),
    Attack(
        "own-head-is-tree",
        "points its HEAD at an object that is no commit",
        f"{COMMIT}git rev-parse HEAD^{{tree}} > $G/HEAD",
        off=STOPPED,
        lands=None,
    ),
    Attack(
        "own-index-skips",
        "marks a file as unchanged and skipped, and changes it",
        "git update-index --assume-unchanged data/one; git update-index --skip-worktree data/two; "
        "rm -f data/one; echo changed > data/two",
        "test -e $CLONE/$NAME.txt && test -e $CLONE/data/one",
        off=STOPPED,
    ),
    Attack(
        "own-index-garbage",
        "writes garbage into its index and leaves a lock",
        "head -c 5000 /dev/urandom > $G/index; touch $G/index.lock $G/HEAD.lock",
        off=STOPPED,
    ),
    Attack(
        "own-config-programs",
        "names programs in every git setting that can start one",
        f"{COMMIT}for k in core.fsmonitor core.sshCommand core.gitProxy core.editor core.pager "
        "core.askPass diff.external gpg.program sequence.editor uploadpack.packObjectsHook "
        "core.alternateRefsCommand credential.helper trailer.x.command; do "
        'git config $k "touch $MARK"; done; git config commit.gpgSign true; '
        'git config filter.x.clean "touch $MARK"; git config filter.x.required true; '
        "echo '* filter=x diff=x merge=x' > $G/info/attributes",
        off=STOPPED,
        apart=True,
        lands=None,
    ),
    Attack(
        "own-config-worktree",
        "sets core.worktree to another folder",
        f"{COMMIT}git config core.worktree $PERSON; git config core.bare true",
        "test -e $PERSON/$NAME.txt",
        off=STOPPED,
        apart=True,
        lands=None,
    ),
    Attack(
        "own-forged-trailers",
        "commits with the trailers of another task, run and undo",
        'T=$(git -C $REPO rev-parse main); echo x > $NAME.side; git add .; git $WHO commit -qm "$('
        "printf 'landed\\n\\nYaoki-Run: zzzzzzzz\\nYaoki-Task: zzzzzzzz-1\\nYaoki-Undo: %s\\n"
        "Yaoki-Attempt: 9\\n' $T)\"",
        "git -C $CLONE log --first-parent --format='%(trailers:key=Yaoki-Task,valueonly)' "
        "| grep -q zzzz",
        off=STOPPED,
    ),
    Attack(
        "own-future",
        "commits in the year 2099 and in 1970",
        "echo x > $NAME.side; git add .; GIT_AUTHOR_DATE='@4102444800 +0000' "
        "GIT_COMMITTER_DATE='@4102444800 +0000' git $WHO commit -qm future; echo y >> $NAME.side; "
        "git add .; GIT_COMMITTER_DATE='@1 +0000' git $WHO commit -qm past",
        off=STOPPED,
    ),
    Attack(
        "own-message",
        "commits with a message of 5 MB, control characters and bad UTF-8",
        "echo x > $NAME.side; git add .; (printf 'a\\033[31m\\xff\\xfe\\n\\n'; "
        "head -c 5000000 /dev/zero | tr '\\0' x) > $TMPDIR/m; git $WHO -c "
        "i18n.commitEncoding=latin-1 commit -qF $TMPDIR/m",
        off=STOPPED,
    ),
    Attack(
        "own-history-gone",
        "discards all history and commits to an orphan branch",
        "git checkout -q --orphan x 2>/dev/null; git $WHO commit -qm orphan; "
        "git update-ref -d HEAD; git reflog expire --expire=now --all; git gc -q --prune=now",
        off=STOPPED,
    ),
    Attack(
        "own-false-object",
        "stores other content under the object id of a file of the person",
        'blob=$(git rev-parse HEAD:README); mkdir -p $O/${blob:0:2}; "$PY" -c \''
        'import sys, zlib; open(sys.argv[1], "wb").write(zlib.compress(b"blob 5\\0evil\\n"))\' '
        f"$O/${{blob:0:2}}/${{blob:2}}\n{COMMIT}",
        'test "$(git -C $REPO cat-file -p main:README)" != hello',
        off=Detected("question", "."),
    ),
    Attack(
        "own-shallow-promisor",
        "marks its repository as a partial and shallow clone with missing parents",
        f"{COMMIT}git config core.repositoryFormatVersion 1; git config extensions.partialClone o; "
        'git config remote.o.promisor true; git config remote.o.url "ext::touch $MARK"; '
        "git config protocol.ext.allow always; git rev-parse HEAD > $G/shallow; "
        "c=$(printf 'tree %s\\nparent %040d\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b> 1 +0000\\n"
        "\\nx\\n' $(git rev-parse HEAD^{tree}) 1 | git hash-object -t commit -w --stdin --literally"
        "); git update-ref HEAD $c",
        off=STOPPED,
        apart=True,
        lands=None,
    ),
    Attack(
        "own-octopus",
        "commits with 600 parents and a chain of 600",
        "t=$(git rev-parse HEAD^{tree}); p=$(git rev-parse HEAD); all=; for i in $(seq 60); do "
        'c=$(echo $i | git $WHO commit-tree $t -p $p); all="$all -p $c"; done; '
        "git update-ref HEAD $(echo o | git $WHO commit-tree $t -p $p $all)",
        off=STOPPED,
    ),
    Attack(
        "own-hooks-gone",
        "deletes the hooks that refuse tags, and makes tags",
        "rm -rf $G/hooks; mv $G/hooks $G/h2; chmod -x $G/hooks/*; git -c core.hooksPath=/dev/null "
        f"tag stolen; git -c core.hooksPath=/dev/null branch stolen\n{COMMIT}",
        "git -C $REPO rev-parse -q --verify refs/tags/stolen",
        off=Detected("report", "refs/tags/stolen"),
    ),
    Attack(
        "own-gitfile",
        "replaces .git by a folder with its own settings",
        "rm -f .git; mv .git x; git init -q y; mv y/.git .git; mkdir .git; "
        'git --git-dir=.git config core.fsmonitor "touch $MARK"; rm -rf x y',
        off=STOPPED,
    ),
    Attack(
        "own-gitlink",
        "replaces .git by a link to the person's git folder",
        "rm -f .git; ln -sfn $REPO/.git .git",
        "git -C $REPO log -1 --format=%s main | grep -q $NAME",
        off=STOPPED,
    ),
    Attack(
        "own-config-pipe",
        "replaces git's settings and refs by pipes and endless devices",
        f"{COMMIT}rm -f $G/config $G/packed-refs $G/shallow; mkfifo $G/config $G/shallow; "
        "ln -s /dev/zero $G/packed-refs",
        off=STOPPED,
    ),
    Attack(
        "own-alternates",
        "points its alternates at another repository",
        f"{COMMIT}mv $O/info $O/moved; mkdir -p $O/info; "
        "echo $PERSON/other/.git/objects > $O/info/alternates",
        "git -C $REPO cat-file --batch-all-objects --batch-check | grep -q "
        "$(git -C $PERSON/other rev-parse HEAD)",
        before="git init -q $PERSON/other; cd $PERSON/other; git -c user.name=p -c user.email=p@p "
        "commit -q --allow-empty -m private",
        off=Detected("question", "alternates"),
        apart=True,
    ),
    Attack(
        "own-bomb",
        "stores an object that is small and unpacks to 600 MB",
        f'{COMMIT}mkdir -p $O/12; "$PY" -c \''
        'import sys, zlib; z = zlib.compressobj(1); f = open(sys.argv[1], "wb"); '
        'f.write(z.compress(b"blob %d\\0" % 629145600)); '
        "[f.write(z.compress(bytes(1 << 20))) for _ in range(600)]; f.write(z.flush())' "
        f"$O/12/{'3' * 38}",
        "git -C $REPO cat-file --batch-all-objects --batch-check='%(objectsize)' | grep 629145600",
        off=Open("objects are written into the repository itself"),
        apart=True,
    ),
    Attack(
        "own-deep",
        "makes 3000 nested folders in its git folder",
        f"{COMMIT}cd $G/refs; {DEEP}; cd $TREE",
        off=STOPPED,
        apart=True,
    ),
    *(bad_tree(name) for name in TREES),
)
