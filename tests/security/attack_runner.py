"""The place where attacks are carried out, and what is left of them.

Every verdict is from git, files and processes: a fresh clone of the run branch in which the checks
are run, files outside, the table of processes.  What yaoki says counts only where an attack cannot
be held without the sandbox, and the question is what the person is told instead.
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

import psutil

from tests.acceptance.project import WHO, Completed, Place
from tests.security.attack import SECRET, TOKEN, Attack, Detected, Held, Open, Untried

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


class Arena:
    """A repository, a home with things of value, and agents that reach for them."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.home, self.marks = place.folder / "p", place.folder / "marks"
        self.marks.mkdir()
        path = f"{self.home}/bin:{os.environ['PATH']}"
        place.env |= {"HOME": str(self.home), "PATH": path, "PLANTED_TOKEN": TOKEN}
        place.env.pop("XDG_CONFIG_HOME", None)
        self._furnish()
        self.variables = {
            "REPO": str(place.repo),
            "PERSON": str(self.home),
            "STATE": str(place.home),
            "MARKS": str(self.marks),
            "FOLDER": str(place.folder),
            "PY": place.python,
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
        (self.place.repo / "data").mkdir()
        for name in ("one", "two"):
            (self.place.repo / "data" / name).write_text(f"{name}\n")
        self.place.git("add", "data")

    def settings(self, mode: str, **more: object) -> None:
        rows = "".join(f"{k} = {str(v).lower()}\n" for k, v in more.items())
        file = self.place.repo / "yaoki.toml"
        text = file.read_text().partition("\n[sandbox]")[0]
        file.write_text(f'{text}\n[sandbox]\nmode = "{mode}"\n{rows}')
        self.place.git(*WHO, "commit", "-qam", f"sandbox {mode}")

    def sh(self, line: str, **more: str) -> subprocess.CompletedProcess[str]:
        """As the person, outside."""
        env = {**self.place.env, **self.variables, **more}
        return subprocess.run(
            (*self.place.prefix, "bash", "-c", line),
            cwd=self.place.folder,
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
        return self.place.plan(
            {"goal": "Walls", "agents": agents, "checks": checks, "tasks": tasks}, name
        )

    def script(self, attack: Attack) -> str:
        own = {**self.variables, "NAME": attack.name, "MARK": f"{self.marks}/{attack.name}"}
        given = "; ".join(f"{name}='{value}'" for name, value in own.items())
        who = " ".join(WHO)
        honest = "" if attack.cheats else HONEST.format(name=attack.name, worktree='"$TREE"')
        return f"{given}; TREE=$PWD; {PRELUDE.format(who=who)}{attack.script}{honest}"

    def carry(self, attacks: Sequence[Attack]) -> Aftermath:
        for attack in attacks:
            if attack.before:
                made = self.sh(attack.before, NAME=attack.name)
                assert made.returncode == 0, f"{attack.name}: {made.stderr}"
        before = self.belongings()
        plan = self.plan(attacks)
        try:
            done = self.place.yaoki("run", plan, "--quiet")
        finally:
            self._end_helpers()
        return Aftermath(self, tuple(attacks), done, before)

    def _end_helpers(self) -> None:
        """Processes that stand for the person's others: `helper-NAME` holds the number of each."""
        for file in self.place.folder.glob("helper-*"):
            pid = int(file.read_text())
            file.unlink()
            if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                file.with_name(file.name.replace("helper", "alive")).touch()
                os.kill(pid, signal.SIGKILL)

    def belongings(self) -> dict[str, str]:
        """Every file of the person's: home, checkout, git folder, but for what is yaoki's there."""
        held = self.home_files()
        held |= {f"repo/{n}": text for n, text in _files(self.place.repo, (*OURS, *ALSO_OURS))}
        rows = self.place.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        held["refs"] = "\n".join(row for row in rows if "yaoki/" not in row)
        return held

    def home_files(self) -> dict[str, str]:
        return dict(_files(self.home, ()))

    def processes(self) -> list[str]:
        """Whoever works with our folders, by words, folder or variables."""
        found = []
        for process in psutil.process_iter():
            try:
                words = [*process.cmdline(), process.cwd(), *process.environ().values()]
            except (psutil.Error, OSError):
                continue
            ours = any(str(self.place.folder) in word for word in words)
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


# ------------------------------------------------------------------ what is left


@dataclass
class Aftermath:
    """What git, files and processes say when a run of attacks is over."""

    arena: Arena
    attacks: tuple[Attack, ...]
    done: Completed
    before: Mapping[str, str]
    unreadable: str = ""
    harms: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def clone(self) -> Path:
        """The run branch, cloned by a stranger."""
        at = self.arena.place.folder / f"clone-{len(list(self.arena.place.folder.iterdir()))}"
        nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        env = {"PATH": os.environ["PATH"], "HOME": str(at), **nothing}
        url = f"file://{self.arena.place.repo}"
        asked = ("for-each-ref", "--sort=-committerdate", "--format=%(refname)", "refs/heads/yaoki")
        held = f"--git-dir={self.arena.place.repo / '.git'}"
        git = (*self.arena.place.prefix, "git")
        found = subprocess.run((*git, held, *asked), env=env, capture_output=True, text=True)
        names = [name.removeprefix("refs/heads/") for name in found.stdout.split()]
        runs = [name for name in names if RUN_BRANCH.fullmatch(name)] or ["none"]
        words = ("clone", "-q", "--single-branch", "-b", runs[0], url, str(at))
        done = subprocess.run((*git, *words), env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            # Without the sandbox an agent can make a repository that nobody clones any more.
            self.unreadable = done.stderr
            subprocess.run((*git, "init", "-q", str(at)), env=env, check=True)
        return at

    def landed(self, attack: Attack) -> bool:
        """Is anything of its work on the run branch?"""
        log = self.arena.sh("git -C $CLONE log --format=%s", CLONE=str(self.clone)).stdout
        words = re.compile(rf"^{re.escape(attack.name)}:", re.MULTILINE)
        there = os.path.lexists(self.clone / f"{attack.name}.txt")
        return there or words.search(log) is not None

    def false(self, attack: Attack) -> str:
        """Why what landed is not true; empty when it is, or when nothing landed."""
        if not self.landed(attack):
            return ""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.clone)}
        done = subprocess.run(
            (*self.arena.place.prefix, "bash", "-c", attack.fact),
            cwd=self.clone,
            env=env,
            capture_output=True,
            check=False,
        )
        return "" if done.returncode == 0 else f"landed, and it is false: {attack.fact}"

    def harmed(self, attack: Attack) -> bool:
        """Asked once: to look may be to clear up."""
        if attack.name not in self.harms:
            mark = str(self.arena.marks / attack.name)
            given = {"NAME": attack.name, "MARK": mark, "CLONE": str(self.clone)}
            self.harms[attack.name] = self.arena.sh(attack.harm, **given).returncode == 0
        return self.harms[attack.name]

    def faults(self) -> list[str]:
        """Every promise that was broken, with the sandbox on."""
        found = [f"exit code {self.done.code}: {self.done.err}"] * (self.done.code not in (0, 4))
        for attack in self.attacks:
            if self.harmed(attack):
                found.append(f"{attack}: harm was done")
            if words := self.false(attack):
                found.append(f"{attack}: {words}")
            if attack.lands is not None and self.landed(attack) is not attack.lands:
                found.append(f"{attack}: {'landed' if self.landed(attack) else 'did not land'}")
        found += [f"mark of {mark.name}" for mark in self.arena.marks.iterdir()]
        found += [f"cannot be cloned: {self.unreadable}"] * bool(self.unreadable)
        return found + self.common_faults()

    def common_faults(self) -> list[str]:
        after = self.arena.belongings()
        changed = sorted(n for n in {*self.before, *after} if self.before.get(n) != after.get(n))
        found = [f"changed: {name}" for name in changed]
        found += [f"a process is left: {words}" for words in self.arena.processes()]
        fsck = self.arena.sh("git -C $REPO fsck --strict --connectivity-only --no-dangling 2>&1")
        return found + ([f"fsck: {fsck.stdout}"] if fsck.returncode else [])

    def told(self, attack: Attack, by: str) -> str:
        """What the person was told of it: in the question of the task, or in the report."""
        place = self.arena.place
        if by == "question":
            rows = place.status()["tasks"]
            return " ".join(f"{t['question']}" for t in rows if t["name"] == attack.name)
        if by == "run":
            return self.done.out + self.done.err
        return place.yaoki("report").out

    def without(self, attack: Attack) -> list[str]:
        """What differs from what is promised of this attack without the sandbox."""
        found = [f"{attack}: {words}"] if (words := self.false(attack)) else []
        harmed = self.harmed(attack) or (self.arena.marks / attack.name).exists()
        match attack.off:
            case Held():
                found += [f"{attack}: harm was done"] if harmed else []
            case Detected(by, words):
                found += [] if harmed else [f"{attack}: it is held; say so"]
                if not re.search(words, told := self.told(attack, by), re.DOTALL):
                    found.append(f"{attack}: not told by {by}: {words!r} in {told[-1500:]!r}")
            case Open() | Untried():
                found += [] if harmed else [f"{attack}: it is held; say so"]
        return found
