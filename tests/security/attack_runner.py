"""Runs attacks in a repository and examines their results.

Every verdict is from git, files and processes: a fresh clone of the run branch in which the checks
are run, files outside, the process table.  Output of yaoki counts only where an attack cannot
be stopped without the sandbox and must be reported to the person instead.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.acceptance.project import GIT_IDENTITY, Completed, Project
from tests.security.attack import SECRET, TOKEN, Attack, Detected, NotTried, Open, Stopped

BOUND_S = 60
# What every agent finds as variables of its shell; NAME and the rest are written in front.
PRELUDE = """exec 2>&1; WHO="{who}"
G=$(git rev-parse --absolute-git-dir 2>/dev/null)
O=$(git rev-parse --path-format=absolute --git-path objects 2>/dev/null)
"""
HONEST = "\ncd {worktree}; rm -rf {name}.txt; echo good > {name}.txt\n"
RUN_BRANCH = re.compile("yaoki/[0-9a-z]+")
OURS = (".yaoki", ".git/worktrees", ".git/objects", ".git/refs/heads/yaoki", ".git/refs/yaoki")
ALSO_OURS = (".git/logs/refs/heads/yaoki", ".git/packed-refs", ".git/index")


class AttackRunner:
    """A repository, a home with valuable files, and agents that attack them."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.home, self.marks = project.folder / "p", project.folder / "marks"
        self.marks.mkdir()
        path = f"{self.home}/bin:{os.environ['PATH']}"
        project.env |= {"HOME": str(self.home), "PATH": path, "PLANTED_TOKEN": TOKEN}
        project.env.pop("XDG_CONFIG_HOME", None)
        self._furnish()
        self.variables = {
            "REPO": str(project.repo),
            "PERSON": str(self.home),
            "STATE": str(project.home),
            "MARKS": str(self.marks),
            "FOLDER": str(project.folder),
            "PY": project.python,
        }

    def _furnish(self) -> None:
        files = {
            ".ssh/id_ed25519": SECRET,
            ".git-credentials": f"https://me:{SECRET}@example.org",
            ".claude/settings.json": "{}",
            ".cargo/config.toml": "[net]\n",
            ".gitconfig": "[user]\n\tname = p\n\temail = p@localhost\n",
            ".bashrc": "",
            ".profile": "",
            "precious": "precious\n",
            "good": "good\n",
            "projects/notes": "notes\n",
        }
        for name, text in files.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (self.project.repo / "data").mkdir()
        for name in ("one", "two"):
            (self.project.repo / "data" / name).write_text(f"{name}\n")
        self.project.git("add", "data")

    def settings(self, mode: str, **more: object) -> None:
        rows = "".join(f"{k} = {str(v).lower()}\n" for k, v in more.items())
        file = self.project.repo / "yaoki.toml"
        text = file.read_text().partition("\n[sandbox]")[0]
        file.write_text(f'{text}\n[sandbox]\nmode = "{mode}"\n{rows}')
        self.project.git(*GIT_IDENTITY, "commit", "-qam", f"sandbox {mode}")

    def set_parallel(self, tasks: int) -> None:
        file = self.project.repo / "yaoki.toml"
        file.write_text(re.sub(r"parallel = \d+", f"parallel = {tasks}", file.read_text()))

    def sh(self, line: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a shell line as the user, outside the sandbox."""
        env = {**self.project.env, **self.variables, **more}
        return subprocess.run(
            (*self.project.prefix, "bash", "-c", line),
            cwd=self.project.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BOUND_S,
            check=False,
        )

    def plan(self, attacks: Sequence[Attack], name: str = "plan.json") -> str:
        agents = {a.name: a.agent or {"command": ["bash", "-c", self.script(a)]} for a in attacks}
        checks = {f"proof-{a.name}": a.proof for a in attacks}
        tasks = [
            {
                "id": a.name,
                "goal": "Work.",
                "agent": a.name,
                "checks": [f"proof-{a.name}"],
                "retry": {"max_retries": 0},
                **a.keys,
            }
            for a in attacks
        ]
        return self.project.plan(
            {"goal": "Walls", "agents": agents, "checks": checks, "tasks": tasks}, name
        )

    def script(self, attack: Attack) -> str:
        own = {**self.variables, "NAME": attack.name, "MARK": f"{self.marks}/{attack.name}"}
        given = "; ".join(f"{name}='{value}'" for name, value in own.items())
        who = " ".join(GIT_IDENTITY)
        honest = "" if attack.cheats else HONEST.format(name=attack.name, worktree='"$TREE"')
        return f"{given}; TREE=$PWD; {PRELUDE.format(who=who)}{attack.script}{honest}"

    def run(self, attacks: Sequence[Attack]) -> AttackResult:
        with TemporaryDirectory() as links:
            return self._run(attacks, links)

    def _run(self, attacks: Sequence[Attack], links: str) -> AttackResult:
        for attack in attacks:
            if attack.before:
                made = self.sh(attack.before, NAME=attack.name, LINKS=links)
                assert made.returncode == 0, f"{attack.name}: {made.stderr}"
        before = self.user_files()
        plan = self.plan(attacks)
        try:
            done = self.project.yaoki("run", plan, "--quiet")
        finally:
            self._end_helpers()
        return AttackResult(self, tuple(attacks), done, before)

    def _end_helpers(self) -> None:
        """End the user's simulated processes: `helper-NAME` contains the pid of each."""
        for file in self.project.folder.glob("helper-*"):
            pid = int(file.read_text())
            file.unlink()
            if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                file.with_name(file.name.replace("helper", "alive")).touch()
                os.kill(pid, signal.SIGKILL)

    def user_files(self) -> dict[str, str]:
        """Every file of the user: home, checkout and git folder, without yaoki's files."""
        held = self.home_files()
        held |= {f"repo/{n}": text for n, text in _files(self.project.repo, (*OURS, *ALSO_OURS))}
        rows = self.project.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        held["refs"] = "\n".join(row for row in rows if "yaoki/" not in row)
        return held

    def home_files(self) -> dict[str, str]:
        return dict(_files(self.home, ()))

    def processes(self) -> list[str]:
        """Processes that use the test folder, by arguments, working folder or environment."""
        found = []
        for process in psutil.process_iter():
            try:
                words = [*process.cmdline(), process.cwd(), *process.environ().values()]
            except (psutil.Error, OSError):
                continue
            ours = any(str(self.project.folder) in word for word in words)
            if ours and process.pid != os.getpid():
                found.append(f"{process.pid} {' '.join(words)[:120]}")
        return found


def _files(top: Path, left_out: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for folder, folders, names in os.walk(top):
        inside = Path(folder).relative_to(top)
        folders[:] = [f for f in folders if not (inside / f).as_posix().startswith(left_out)]
        for name in (inside / name for name in names):
            file = top / name
            if not name.as_posix().startswith(left_out) and file.name != "COMMIT_EDITMSG":
                yield name.as_posix(), _content(file)


def _content(file: Path) -> str:
    if file.is_symlink():
        return f"-> {file.readlink()}"
    if not file.is_file():
        return "no plain file"
    return f"{file.stat().st_mode:o} {file.read_bytes()[:100_000]!r}"


# ------------------------------------------------------------------ results


@dataclass
class AttackResult:
    """What git, files and processes say when a run of attacks is over."""

    arena: AttackRunner
    attacks: tuple[Attack, ...]
    done: Completed
    before: Mapping[str, str]
    unreadable: str = ""
    harms: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def clone(self) -> Path:
        """The run branch, cloned by a stranger."""
        at = self.arena.project.folder / f"clone-{len(list(self.arena.project.folder.iterdir()))}"
        nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        env = {"PATH": os.environ["PATH"], "HOME": str(at), **nothing}
        url = f"file://{self.arena.project.repo}"
        asked = ("for-each-ref", "--sort=-committerdate", "--format=%(refname)", "refs/heads/yaoki")
        held = f"--git-dir={self.arena.project.repo / '.git'}"
        git = (*self.arena.project.prefix, "git")
        found = subprocess.run((*git, held, *asked), env=env, capture_output=True, text=True)
        names = [name.removeprefix("refs/heads/") for name in found.stdout.split()]
        runs = [name for name in names if RUN_BRANCH.fullmatch(name)] or ["none"]
        words = ("clone", "-q", "--single-branch", "-b", runs[0], url, str(at))
        done = subprocess.run((*git, *words), env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            # Without the sandbox an agent can damage the repository so that it cannot be cloned.
            self.unreadable = done.stderr
            subprocess.run((*git, "init", "-q", str(at)), env=env, check=True)
        return at

    def landed(self, attack: Attack) -> bool:
        """Is anything of its work on the run branch?"""
        log = self.arena.sh("git -C $CLONE log --format=%s", CLONE=str(self.clone)).stdout
        words = re.compile(rf"^{re.escape(attack.name)}:", re.MULTILINE)
        there = os.path.lexists(self.clone / f"{attack.name}.txt")
        return there or words.search(log) is not None

    def false_landing(self, attack: Attack) -> str:
        """Why what landed is not true; empty when it is, or when nothing landed."""
        if not self.landed(attack):
            return ""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.clone)}
        done = subprocess.run(
            (*self.arena.project.prefix, "bash", "-c", attack.fact),
            cwd=self.clone,
            env=env,
            capture_output=True,
            check=False,
        )
        return "" if done.returncode == 0 else f"landed, and it is false: {attack.fact}"

    def harmed(self, attack: Attack) -> bool:
        """Evaluated once, because the harm script may clean up."""
        if attack.name not in self.harms:
            mark = str(self.arena.marks / attack.name)
            given = {"NAME": attack.name, "MARK": mark, "CLONE": str(self.clone)}
            self.harms[attack.name] = self.arena.sh(attack.harm, **given).returncode == 0
        return self.harms[attack.name]

    def faults(self) -> list[str]:
        """Every violated expectation with the sandbox on."""
        found = [f"exit code {self.done.code}: {self.done.err}"] * (self.done.code not in (0, 4))
        for attack in self.attacks:
            if self.harmed(attack):
                found.append(f"{attack}: harm was done")
            if words := self.false_landing(attack):
                found.append(f"{attack}: {words}")
            if attack.lands is not None and self.landed(attack) is not attack.lands:
                found.append(f"{attack}: {'landed' if self.landed(attack) else 'did not land'}")
        found += [f"mark of {mark.name}" for mark in self.arena.marks.iterdir()]
        found += [f"cannot be cloned: {self.unreadable}"] * bool(self.unreadable)
        return found + self.shared_faults()

    def shared_faults(self) -> list[str]:
        after = self.arena.user_files()
        changed = sorted(n for n in {*self.before, *after} if self.before.get(n) != after.get(n))
        found = [f"changed: {name}" for name in changed]
        found += [f"a process is left: {words}" for words in self.arena.processes()]
        fsck = self.arena.sh("git -C $REPO fsck --strict --connectivity-only --no-dangling 2>&1")
        return found + ([f"fsck: {fsck.stdout}"] if fsck.returncode else [])

    def reported(self, attack: Attack, by: str) -> str:
        """What the user is told about the attack: in the question of the task, or in the report."""
        project = self.arena.project
        if by == "question":
            rows = project.status()["tasks"]
            return " ".join(f"{t['question']}" for t in rows if t["name"] == attack.name)
        if by == "run":
            return self.done.out + self.done.err
        return project.yaoki("report").out

    def faults_without_sandbox(self, attack: Attack) -> list[str]:
        """Differences from the documented behaviour without the sandbox."""
        found = [f"{attack}: {words}"] if (words := self.false_landing(attack)) else []
        harmed = self.harmed(attack) or (self.arena.marks / attack.name).exists()
        match attack.off:
            case Stopped():
                found += [f"{attack}: harm was done"] if harmed else []
            case Detected(by, words):
                found += [] if harmed else [f"{attack}: it is held; say so"]
                if not re.search(words, told := self.reported(attack, by), re.DOTALL):
                    found.append(f"{attack}: not told by {by}: {words!r} in {told[-1500:]!r}")
            case Open() | NotTried():
                found += [] if harmed else [f"{attack}: it is held; say so"]
        return found
