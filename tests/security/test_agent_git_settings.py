"""A git folder owned by an agent: yaoki's git ignores its settings (V1)."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Project, a_plan, file_contains
from yaoki.adapters.workspace.protect.fingerprints import SENSITIVE_SETTING, TRANSPORT_HELPER

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "14.4")]
ALLOW = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
# A commit whose parent is missing makes git fetch it where the settings speak of a partial clone.
EVIL = """\
git {allow} update --init && cd mod
tree=$(git rev-parse 'HEAD^{{tree}}')
printf 'tree %s\\nparent %040d\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b> 1 +0000\\n\\nx\\n' \
    $tree 1 > ../c
evil=$(git hash-object -t commit -w ../c); rm ../c
echo new > new.txt; git add .; git {who} commit -qm inside
dir=$(git rev-parse --absolute-git-dir)
mkdir -p $dir/refs/remotes/origin; echo $evil > $dir/refs/remotes/origin/evil
git config core.repositoryFormatVersion 1
git config extensions.partialClone origin
git config remote.origin.promisor true
git config remote.origin.url ssh://localhost/nowhere
git config core.sshCommand "touch {mark}; false"
git config remote.origin.uploadpack "touch {mark}; false"
git config core.fsmonitor "touch {mark}; false"
"""


def with_submodule(project: Project) -> None:
    library = project.folder / "library"
    project.git("clone", "-q", str(project.repo), str(library))
    project.git(*ALLOW, "add", str(library), "mod")
    project.git(*GIT_IDENTITY, "commit", "-qm", "with a submodule")


@pytest.mark.full
def test_a_submodule_that_claims_to_be_a_partial_clone_starts_no_program(project: Project) -> None:
    with_submodule(project)
    mark = project.folder / "mark"
    acts = EVIL.format(allow=" ".join(ALLOW), who=" ".join(GIT_IDENTITY), mark=mark)
    script = {"a": [[{"run": ["sh", "-c", acts]}]]}
    plan = a_plan(script, [{"id": "a", "checks": ["ok"]}], {"ok": {"shell": "test -s README"}})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert not mark.exists(), "a program that the agent named ran outside"
    assert done.code in (0, 4), done.out + done.err
    assert project.git("fsck", "--connectivity-only") == ""


# From git's own documentation: keys whose value is a program, names one, or leads git elsewhere.
STARTING = re.findall(
    r"\S+",
    """
core.pager core.editor core.sshCommand core.askPass core.fsmonitor core.hooksPath core.gitProxy
core.alternateRefsCommand core.worktree core.attributesFile core.excludesFile pager.log
diff.external diff.x.command diff.x.textconv diff.tool diff.guitool difftool.x.cmd
difftool.x.path merge.x.driver merge.tool merge.guitool mergetool.x.cmd mergetool.x.path
filter.x.clean filter.x.smudge filter.x.process gpg.program gpg.x.program
gpg.ssh.defaultKeyCommand sequence.editor credential.helper credential.x.helper alias.x
browser.x.cmd browser.x.path man.x.cmd man.viewer help.browser help.autocorrect web.browser
instaweb.httpd instaweb.browser imap.tunnel imap.host sendemail.smtpServer sendemail.sendmailCmd
sendemail.toCmd sendemail.aliasesFile uploadpack.packObjectsHook receive.procReceiveRefs
gc.recentObjectsHook remote.x.uploadpack remote.x.receivepack remote.x.vcs remote.x.proxy
remote.x.promisor protocol.ext.allow protocol.allow submodule.x.update url.x.insteadOf
url.x.pushInsteadOf include.path includeIf.x.path trailer.x.command trailer.x.cmd
interactive.diffFilter init.templateDir extensions.partialClone extensions.refStorage
tar.x.command guitool.x.cmd branch.x.mergeOptions rebase.instructionFormat pull.twohead
ssh.variant http.proxy http.sslVerify fsmonitor.socketDir trace2.eventTarget
lfs.customtransfer.x.path svn.authorsProg hook.x.command safe.directory attr.tree
transfer.bundleURI bundle.x.uri
""",
)
# Settings that people, editors and tools change during a run.
HARMLESS = re.findall(
    r"\S+",
    """
user.name user.email user.signingKey branch.main.remote branch.main.merge branch.main.rebase
branch.x.vscode-merge-base branch.x.description branch.x.gk-last-accessed remote.origin.url
remote.origin.fetch remote.origin.gh-resolved pull.rebase push.default push.autoSetupRemote
fetch.prune color.ui advice.detachedHead rerere.enabled merge.conflictStyle diff.algorithm
gc.auto maintenance.auto commit.gpgSign log.date status.short index.version feature.manyFiles
core.abbrev core.untrackedCache submodule.x.url submodule.x.active rebase.autoStash gitlens.x
""",
)


@pytest.mark.parametrize("key", STARTING)
def test_a_setting_that_starts_a_program_or_redirects_git_is_sensitive(key: str) -> None:
    assert SENSITIVE_SETTING.fullmatch(key.lower().encode())


@pytest.mark.parametrize("key", HARMLESS)
def test_an_ordinary_setting_is_not_sensitive(key: str) -> None:
    assert not SENSITIVE_SETTING.fullmatch(key.lower().encode())


@pytest.mark.parametrize(
    "entry",
    ["remote.o.url\next::sh -c x", "remote.o.pushurl\nevil::x", "submodule.m.url\nfoo::bar"],
)
def test_an_address_that_names_a_program_is_recognised(entry: str) -> None:
    assert TRANSPORT_HELPER.fullmatch(entry.encode())


@pytest.mark.parametrize(
    "entry", ["remote.o.url\nhttps://a/b", "remote.o.url\ngit@a:b", "remote.o.url\n/a::b"]
)
def test_an_ordinary_address_names_no_program(entry: str) -> None:
    assert not TRANSPORT_HELPER.fullmatch(entry.encode())


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("key", "value"),
    [("imap.tunnel", "touch MARK"), ("help.autocorrect", "immediate"), ("merge.tool", "../x")],
)
def test_a_git_setting_that_starts_a_program_is_escalated_and_nothing_lands(
    project: Project, key: str, value: str
) -> None:
    acts = [{"run": ["git", "config", key, value]}, {"write": {"a.txt": "good\n"}}]
    plan = a_plan({"a": [acts]}, [{"id": "a"}], {"ok": file_contains("a.txt")})
    # Outside the sandbox, where an agent can write them.
    project.settings(SETTINGS + '\n[sandbox]\nmode = "off"\n')
    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    assert project.git("rev-parse", "main") == project.git(
        "rev-parse", f"yaoki/{project.status()['run']}"
    )
