"""Agents that access foreign files: refused in the sandbox, detected or reported without it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import yaoki
from tests.acceptance.project import GIT_IDENTITY, Project, file_contains
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.adapters.processes.sandbox_mounts import SHARED_FOLDERS
from yaoki.errors import Fault
from yaoki.ports import Launch

pytestmark = pytest.mark.acceptance

SECRET = "sk-planted-7f3a91c2"
POWERLESS = "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1"


def needs_bubblewrap() -> None:
    """Where it cannot be had the reason is said; a build server gets it if it can be installed."""
    if why := why_no_sandbox():
        pytest.skip(why)


@cache
def why_no_sandbox() -> str:
    if not shutil.which("bwrap") and os.environ.get("CI") and os.geteuid() == 0:
        _install()
    try:
        Sandbox(Path("/nowhere")).check_available()
    except Fault as fault:
        return fault.sentence
    return ""


def _install() -> None:
    """From the system's own packages; other test processes wait for the lock."""
    if not (apt := shutil.which("apt-get")):
        return
    for words in (("update",), ("install", "-y", "bubblewrap")):
        argv = (apt, "-q", "-o", "DPkg::Lock::Timeout=40", *words)
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # If the package server does not answer, give up before the test times out.
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(argv, env=env, capture_output=True, timeout=50, check=False)


def write_sandbox_settings(project: Project, **asked: object) -> None:
    words = "".join(f"{key} = {_toml(value)}\n" for key, value in asked.items())
    file = project.repo / "yaoki.toml"
    file.write_text(f"{file.read_text()}\n[sandbox]\n{words}")
    project.git(*GIT_IDENTITY, "commit", "-qam", "settings")


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def a_plan(project: Project, script: str, **more: Any) -> str:
    """A plain command as an agent: it says what it was refused, then does its work."""
    agent = {"command": ["bash", "-c", f"exec 2>&1\n{script}\necho good > a.txt"]}
    return project.plan(
        {
            "goal": "Reach",
            "agents": {"bold": agent},
            "agent": "bold",
            "checks": {"good": file_contains("a.txt")},
            "tasks": [{"id": "a", "goal": "Write a.txt.", "checks": ["good"], **more}],
        }
    )


def a_task_for_each(scripts: Mapping[str, str], **plan: Any) -> dict[str, Any]:
    """Like `a_plan` with a task and an agent for each script; each writes its own file."""
    agents = {
        name: {"command": ["bash", "-c", f"exec 2>&1\n{script}\necho good > {name}.txt"]}
        for name, script in scripts.items()
    }
    tasks = [
        {"id": name, "goal": f"Write {name}.txt.", "agent": name, "checks": [name]}
        for name in scripts
    ]
    checks = {name: file_contains(f"{name}.txt") for name in scripts}
    return {"goal": "Reach", "agents": agents, "checks": checks, "tasks": tasks, **plan}


def agent_log(project: Project, task: str = "a") -> str:
    return project.yaoki("logs", task).out


def hash_user_files(top: Path) -> dict[str, bytes]:
    """Every file of the user's checkout and git folder, but for what yaoki keeps there."""
    ours = (".yaoki", ".git/worktrees", ".git/objects", ".git/refs", ".git/logs")
    files = {str(file.relative_to(top)): file for file in top.rglob("*") if file.is_file()}
    return {name: file.read_bytes() for name, file in files.items() if not name.startswith(ours)}


# ------------------------------------------------------------------ inside


REACHES = {
    "checkout": "echo evil > {repo}/README",
    "checkout-new": "echo evil > {repo}/planted",
    "config": "git --git-dir={repo}/.git config core.fsmonitor /bin/false",
    "config-by-hand": "echo '[core]' >> {repo}/.git/config",
    "hooks": "mkdir -p {repo}/.git/hooks && touch {repo}/.git/hooks/pre-commit",
    "objects": "rm -rf {repo}/.git/objects",
    "store": "echo evil > {repo}/.yaoki/state.db",
    "system": "touch /usr/planted /etc/planted /var/planted",
}


# Around the worktree everything that is temporary is the sandbox's own, and goes with it.
VANISHING = ("touch {top}/planted", "mkdir {home}/worktrees/planted", "touch /tmp/planted-{mark}")


@pytest.mark.spec("14.3", "0.2")
def test_a_sandboxed_agent_can_write_only_its_worktree(project: Project) -> None:
    needs_bubblewrap()
    write_sandbox_settings(project, mode="on")
    places = {
        "repo": project.repo,
        "top": project.folder,
        "home": project.home,
        "mark": os.getpid(),
    }
    tries = [f"({act.format(**places)}) && echo DID {name}" for name, act in REACHES.items()]
    tries += [act.format(**places) for act in VANISHING]
    before = hash_user_files(project.repo)

    done = project.yaoki("run", a_plan(project, "\n".join(tries)))

    assert done.code == 0, done.out + done.err
    assert project.task("a")["state"] == "DONE"
    assert "DID" not in agent_log(project)
    assert agent_log(project).count("Read-only file system") >= len(REACHES)
    assert hash_user_files(project.repo) == before
    assert not [act for act in VANISHING if Path(act.format(**places).split()[1]).exists()]
    assert "CHECKOUT_CHANGED" not in project.event_names("a")


# Each would open the sandbox to a root user with root's capabilities.
OPENINGS = {
    "remount": "mount -o remount,bind,rw {repo}",
    "remount-root": "mount -o remount,bind,rw /",
    "mount": "mkdir -p held && mount -t tmpfs none held",
    "bind": "mkdir -p held && mount --bind {repo} held",
    "namespace": "unshare -Urm mount -o remount,bind,rw {repo}",
}


SPACES = ("uts", "ipc", "pid")


@pytest.mark.full
@pytest.mark.spec("14.3", "14.2", "0.2", "0.6")
def test_sandboxed_agents_checks_and_setup_reach_nothing_outside(project: Project) -> None:
    """Secrets, processes, capabilities, the network, and links for a check to follow."""
    needs_bubblewrap()
    write_sandbox_settings(project, mode="on", network=False)
    hooks, reach = project.repo / ".git" / "hooks", f"touch {project.repo}/planted-by-a-check"
    secrets = (
        'env | grep -c PLANTED\ncat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" > seen\n'
        f"grep -q {SECRET} seen && echo LEAKED\nrm seen\n"
        "ls /proc | grep -c '^[0-9]' > count; test $(cat count) -lt 10 && echo ALONE; rm count"
    )
    openings = [f"({act}) && echo DID {name}" for name, act in OPENINGS.items()]
    openings += ["touch {repo}/planted && echo DID write", "grep ^Cap /proc/self/status"]
    openings += ["rmdir held", *(f"readlink /proc/self/ns/{name}" for name in SPACES)]
    # The folder is hidden and closed to the agent; only its outbox is its own.
    link = (
        'link=$(dirname "$YAOKI_PROMPT_FILE")/{planted}\n'
        f'mkdir -p "$(dirname "$link")" && ln -s {hooks} "$link"\n'
        f"echo 'find {hooks} -type d -exec touch {{{{}}}}/planted \\;; true' > {{name}}.sh"
    )
    scripts = {
        "secret": secrets,
        "openings": "\n".join(openings).format(repo=project.repo),
        "network": "readlink /proc/self/ns/net",
        "check": f"echo '{reach}' > check.sh",
        "folder": link.format(planted="checks/1-folder", name="folder"),
        "around": link.format(planted="checks", name="around"),
    }
    plan = a_task_for_each(scripts, setup=[["sh", "-c", f"! {reach}"]])
    # Checks run code of the agent, so they must be confined like the agent.
    plan["checks"]["check"] = {"shell": "! sh check.sh"}
    plan["checks"] |= {name: {"run": ["sh", f"{name}.sh"]} for name in ("folder", "around")}
    before = sorted(hooks.rglob("*"))

    done = project.yaoki("run", project.plan(plan), env={"PLANTED_TOKEN": SECRET})

    assert done.code == 0, done.out + done.err
    assert {project.task(name)["state"] for name in scripts} == {"DONE"}
    assert "LEAKED" not in agent_log(project, "secret")
    assert "ALONE" in agent_log(project, "secret")
    told = agent_log(project, "openings")
    assert "DID" not in told
    assert re.findall(r"Cap(?:Eff|Prm|Amb|Inh):\s*(\w+)", told) == ["0" * 16] * 4
    assert not [name for name in SPACES if str(Path(f"/proc/self/ns/{name}").readlink()) in told]
    assert str(Path("/proc/self/ns/net").readlink()) not in agent_log(project, "network")
    for name in ("folder", "around"):
        assert "Read-only file system" in agent_log(project, name)
    assert sorted(hooks.rglob("*")) == before
    assert not list(project.repo.glob("planted*"))


@pytest.mark.full
@pytest.mark.spec("14.3")
def test_network_and_writable_folders_of_the_settings_do_not_open_the_git_config(
    project: Project,
) -> None:
    needs_bubblewrap()
    cache = project.folder / "cache"
    cache.mkdir()
    folders = [str(cache), str(project.repo.parent)]
    write_sandbox_settings(project, mode="on", network=True, writable=folders)
    theirs = f"git --git-dir={project.repo}/.git"
    script = f"touch {cache}/kept\n{theirs} config core.fsmonitor /bin/false || echo REFUSED"

    done = project.yaoki("run", a_plan(project, f"{script}\nreadlink /proc/self/ns/net"))

    assert done.code == 0, done.out + done.err
    assert (cache / "kept").exists()
    assert "REFUSED" in agent_log(project)
    assert str(Path("/proc/self/ns/net").readlink()) in agent_log(project)


@pytest.mark.spec("14.3")
def test_a_sandboxed_agent_can_read_and_write_its_own_folder(tmp_path: Path) -> None:
    """The owner writes there without capabilities, and finds its saved files again."""
    needs_bubblewrap()
    worktree, folder, own = tmp_path / "worktree", tmp_path / "attempt", tmp_path / "own"
    for made in (worktree, folder, own):
        made.mkdir(mode=0o700)
    (own / "kept").write_text("before\n")
    (own / "kept").chmod(0o600)
    script = f"cat {own}/kept > seen && echo after >> {own}/kept && rm -f {own}/none"
    launch = Launch(("sh", "-c", script), str(worktree), dict(os.environ))

    inside = Sandbox(tmp_path).wrap(launch, folder, [own])
    done = subprocess.run(inside.argv, env=dict(inside.env), capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert (worktree / "seen").read_text() == "before\n"
    assert (own / "kept").read_text() == "before\nafter\n"


@pytest.fixture
def environment_below_tmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python environment below a shared folder, beside private files."""
    folder = tmp_path_factory.mktemp("shared")
    assert any(folder.is_relative_to(top) for top in SHARED_FOLDERS)
    (folder / "secret").write_text(SECRET)
    venv.create(folder / "env", symlinks=True)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    (packages / "greet.py").write_text("print('hello from', __file__)\n")
    return folder


@pytest.mark.spec("14.3", "12.1")
@pytest.mark.parametrize("named", ["by its path", "on the PATH"])
def test_a_sandboxed_python_environment_below_tmp_finds_its_packages_and_nothing_else(
    environment_below_tmp: Path, tmp_path: Path, named: str
) -> None:
    """Its `python` is a link to an interpreter elsewhere, as in a trial installation in /tmp."""
    needs_bubblewrap()
    folder, programs = tmp_path / "attempt", environment_below_tmp / "env" / "bin"
    folder.mkdir()
    python = str(programs / "python") if named == "by its path" else "python"
    path = os.environ["PATH"] if named == "by its path" else f"{programs}:{os.environ['PATH']}"
    script = f"import greet, os; print(os.listdir({str(environment_below_tmp)!r}))"
    launch = Launch((python, "-c", script), str(tmp_path), {**os.environ, "PATH": path})

    inside = Sandbox(tmp_path).wrap(launch, folder)
    done = subprocess.run(
        inside.argv, env=dict(inside.env), capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert f"hello from {environment_below_tmp}/env/lib/python" in done.stdout
    assert done.stdout.endswith("['env']\n")


INSIDE = """\
import os, subprocess, sys
from pathlib import Path
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.ports import Launch
here = Path.cwd()
argv = (sys.executable, "-c", "import yaoki.errors; print(yaoki.__file__)")
inside = Sandbox(here).wrap(Launch(argv, str(here), dict(os.environ)), here / "attempt")
sys.exit(subprocess.run(inside.argv, env=dict(inside.env)).returncode)
"""


@pytest.mark.full
@pytest.mark.spec("14.3", "12.1")
def test_a_sandboxed_agent_finds_yaoki_installed_below_tmp(tmp_path: Path) -> None:
    """As in a trial clone: yaoki starts the agents, and they report with it."""
    needs_bubblewrap()
    source, work = tmp_path / "src", tmp_path / "work"
    shutil.copytree(Path(yaoki.__file__).parent, source / "yaoki")
    (work / "attempt").mkdir(parents=True)
    env = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}

    done = subprocess.run(
        (sys.executable, "-c", INSIDE), cwd=work, env=env, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{source}/yaoki/__init__.py\n"


# ------------------------------------------------------------------ fail closed


@pytest.mark.spec("14.3", "0.6")
def test_a_missing_sandbox_is_refused_before_any_agent_starts(project: Project) -> None:
    write_sandbox_settings(project, mode="on")
    marker = project.folder / "called"
    tools = project.folder / "tools"
    tools.mkdir()
    for name in ("git", "bash", "sh", "touch"):
        (tools / name).symlink_to(shutil.which(name) or name)

    done = project.yaoki("run", a_plan(project, f"touch {marker}"), env={"PATH": str(tools)})

    assert done.code == 2
    assert (
        "sandbox.mode requires a sandbox, but none is available: bwrap is not installed" in done.err
    )
    assert 'install bubblewrap, or set sandbox.mode = "off"' in done.err
    assert not marker.exists()


@pytest.mark.spec("14.3", "0.6")
@pytest.mark.parametrize(
    "status",
    [
        POWERLESS.replace("CapEff:\t0000000000000000", "CapEff:\t0000000000200000"),
        POWERLESS.replace("CapPrm:\t0000000000000000", "CapPrm:\t000001fffeffffff"),
        POWERLESS.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
        "",
    ],
    ids=["effective", "permitted", "gainable", "silent"],
)
def test_a_sandbox_that_leaves_capabilities_inside_is_refused(tmp_path: Path, status: str) -> None:
    """A fake bwrap that creates no sandbox, or a weaker one."""
    weak = tmp_path / "bwrap"
    weak.write_text(f"#!/bin/sh\necho '{status}'\n")
    weak.chmod(0o755)
    sandbox = Sandbox(tmp_path, program=str(weak))
    launch = Launch(("true",), str(tmp_path), {})

    with pytest.raises(Fault, match="leaves capabilities to processes inside") as raised:
        sandbox.check_available()
    with pytest.raises(Fault, match="leaves capabilities to processes inside"):
        sandbox.wrap(launch, tmp_path)

    assert raised.value.code == "SANDBOX_UNAVAILABLE"


@pytest.mark.spec("14.3", "0.6")
def test_a_sandbox_without_user_namespaces_still_drops_every_capability(tmp_path: Path) -> None:
    """A bubblewrap without user namespaces still has to drop every capability."""
    older = tmp_path / "bwrap"
    older.write_text(
        "#!/bin/sh\n"
        'case "$*" in *userns*|*--unshare-user*) echo "bwrap: unknown option" >&2; exit 1;; esac\n'
        f"echo '{POWERLESS}'\n"
    )
    older.chmod(0o755)
    sandbox = Sandbox(tmp_path, program=str(older))

    sandbox.check_available()
    argv = sandbox.wrap(Launch(("true",), str(tmp_path), {}), tmp_path).argv

    assert "--unshare-user" not in argv
    assert argv[argv.index("--cap-drop") + 1] == "ALL"


@pytest.mark.full
@pytest.mark.spec("14.3", "0.6", "4.8")
def test_a_task_is_escalated_if_the_sandbox_disappeared_since_its_submission(
    project: Project,
) -> None:
    """Submitted with a sandbox, started without one: no agent runs."""
    marker, tools = project.folder / "called", project.folder / "tools"
    tools.mkdir()
    once = tools / "bwrap"
    once.write_text(
        "#!/bin/sh\n"
        f"[ -e {tools}/asked ] && {{ echo 'bwrap: no namespaces here' >&2; exit 1; }}\n"
        f"touch {tools}/asked\n"
        f"echo '{POWERLESS}'\n"
    )
    once.chmod(0o755)
    write_sandbox_settings(project, mode="on")
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}

    done = project.yaoki("run", a_plan(project, f"touch {marker}"), env=path)

    assert done.code == 4, done.out + done.err
    task = project.task("a")
    assert (task["state"], task["reason"]) == ("ESCALATED", "SYSTEM_ERROR_PERMANENT")
    assert "bwrap cannot make one here: bwrap: no namespaces here" in task["question"]
    failures = [e["data"]["failure"] for e in project.events("a") if "failure" in e["data"]]
    assert [failure["code"] for failure in failures] == ["SANDBOX_UNAVAILABLE"]
    assert not marker.exists()


# ------------------------------------------------------------------ without a sandbox


@pytest.mark.spec("14.2", "14.3")
@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("git config core.fsmonitor /bin/false", "config"),
        ("mkdir -p {repo}/.git/hooks; echo x > {repo}/.git/hooks/pre-push", "hooks/pre-push"),
    ],
    ids=["config", "hook"],
)
def test_an_unsandboxed_change_of_git_config_or_hooks_is_escalated_and_nothing_lands(
    project: Project, script: str, name: str
) -> None:
    done = project.yaoki("run", a_plan(project, script.format(repo=project.repo)))

    task = project.task("a")
    assert (done.code, task["state"], task["landed"]) == (4, "ESCALATED", None)
    assert f"after the task began: {name}" in task["question"]


# Each is reported under these names and does not fail the task: the author of the change is
# unknown, and the user may edit the checkout at any time.
CHECKOUT_CHANGES = {
    "index": (
        "git -C {repo} add new",
        ["checkout/files", "checkout/index", "checkout/untracked new"],
    ),
    "head": (
        "git -C {repo} checkout -q -b elsewhere",
        ["checkout/HEAD", "checkout/refs/heads/elsewhere (new)"],
    ),
    "hidden": ("touch {repo}/.more", ["checkout/untracked .more"]),
    "looking": ("git -C {repo} status; cat {repo}/README", []),
    "files": ("echo evil >> {repo}/README", ["checkout/files (README)"]),
}


@pytest.mark.full
@pytest.mark.spec("14.3", "14.2", "0.2")
def test_unsandboxed_changes_of_the_checkout_are_reported_and_those_of_hooks_escalated(
    project: Project,
) -> None:
    """One agent after the other; one prepares the folder of its check, and the last one plants a
    hook.  No secret variable reaches them.
    """
    (project.repo / "new").write_text("new\n")
    project.git("config", "core.hooksPath", ".githooks")
    planted = project.repo / ".githooks" / "post-checkout"
    report = (
        'own=$(dirname "$YAOKI_PROMPT_FILE")/checks/1-report\n'
        'mkdir -p "$own" && cd "$own" && echo "<testsuite><testcase/></testsuite>" > report.xml\n'
        'cd "$YAOKI_WORKTREE"'
    )
    scripts = {name: act.format(repo=project.repo) for name, (act, _) in CHECKOUT_CHANGES.items()}
    scripts |= {"secret": "env", "report": report}
    scripts["hooks"] = f"mkdir -p {planted.parent}; echo x > {planted}"
    plan = a_task_for_each(scripts)
    plan["checks"]["report"] = {"run": ["sh", "-c", "ls README", "{report}"]}
    plan["tasks"][list(scripts).index("report")]["max_iterations"] = 1

    done = project.yaoki(
        "run", project.plan(plan), "--parallel", "1", env={"PLANTED_TOKEN": SECRET}
    )

    assert done.code == 4, done.out + done.err
    tasks = {name: project.task(name) for name in scripts}
    for name, (_, what) in CHECKOUT_CHANGES.items():
        told = [e["data"]["what"] for e in project.events(name) if e["event"] == "CHECKOUT_CHANGED"]
        assert (name, told) == (name, [what] if what else [])
        assert tasks[name]["state"] == "DONE"
    assert "settings changed while the agent was at work: files (README)" in done.out
    assert tasks["secret"]["state"] == "DONE"
    assert "YAOKI_TASK=" in agent_log(project, "secret")
    assert SECRET not in agent_log(project, "secret")
    assert "PLANTED_TOKEN" not in agent_log(project, "secret")
    assert tasks["report"]["landed"] is None
    assert "it left no report" in project.yaoki("why", "report").out
    assert (tasks["hooks"]["state"], tasks["hooks"]["landed"]) == ("ESCALATED", None)
    assert f"after the task began: {planted}" in tasks["hooks"]["question"]


@pytest.mark.full
@pytest.mark.spec("14.2", "14.3", "0.2")
@pytest.mark.parametrize(
    ("files", "moved"),
    [((".gitconfig", ".config/git/config"), False), (("moved/git/config",), True)],
    ids=["home", "moved"],
)
def test_an_unsandboxed_change_of_the_users_git_settings_is_reported(
    project: Project, files: tuple[str, ...], moved: bool
) -> None:
    """The user may change these settings at any time, so the task does not fail."""
    home = project.folder / "person"
    changed: list[str] = []
    for file in files:
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text("[include]\n\tpath = more\n")
        (home / file).with_name("more").write_text("")
        changed += [file, str(Path(file).with_name("more"))]
    script = f"for f in {' '.join(str(home / name) for name in changed)}; do"
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "moved") if moved else ""}

    plan = a_plan(project, f"{script} printf '[alias]\\n\\tst = !evil\\n' >> $f; done")
    done = project.yaoki("run", plan, env=env)

    assert (done.code, project.task("a")["state"]) == (0, "DONE"), done.out + done.err
    entries = [e["data"] for e in project.events("a") if e["event"] == "CHECKOUT_CHANGED"]
    assert [held["what"] for held in entries] == [sorted(f"checkout/~/{n}" for n in changed)]
    assert all(f"~/{file}" in done.out for file in files)


@pytest.mark.spec("14.3", "16.10")
def test_a_sandboxed_agent_cannot_open_kernel_settings_for_writing(project: Project) -> None:
    """Root could name a program there that the kernel starts outside."""
    needs_bubblewrap()
    write_sandbox_settings(project, mode="on")
    switches = "/proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sysrq-trigger"
    script = f"for f in {switches}; do (: >> $f) && echo OPENED $f; done; echo LOOKED"

    assert project.yaoki("run", a_plan(project, script)).code == 0

    assert "LOOKED" in agent_log(project)
    assert "OPENED" not in agent_log(project)
