"""Install the agent programs that tests drive: `python install.py FOLDER [NAME …]`.

Pinned beside this file, each installed by itself, once for each state of its pins, bounded in time.
One that cannot be installed loses only itself: its reason is printed, and kept in the file
FOLDER/NAME.missing for those who skip its tests; the others are there, and the exit code is 1.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

PINS = Path(__file__).parent
# The package of each program; a folder or a lock file of the same name pins it.
NPM = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "pi": "@earendil-works/pi-coding-agent",
    "qwen": "@qwen-code/qwen-code",
    "copilot": "@github/copilot",
    "continue": "@continuedev/cli",
    "claude-acp": "@agentclientprotocol/claude-agent-acp",
    "codex-acp": "@agentclientprotocol/codex-acp",
}
PYTHONS = {
    "mini-swe-agent": "mini-swe-agent",
    "aider": "aider-chat",
    "gptme": "gptme",
    "vibe": "mistral-vibe",
    "openhands": "openhands",
}
# These make a database in a new home at their first start, in which two of them at once fail.
FIRST_STARTS = {"opencode": ("session", "list")}
# The home that such a start left; each test copies it.
FIRST_HOME = "first-home"
# These need a newer Python than yaoki itself.
PYTHON_VERSIONS = {"vibe": "3.12", "openhands": "3.12"}
NAMES = (*NPM, *PYTHONS)
BOUND_S = 420
AT_ONCE = 4
# A registry that answers slowly is asked again by npm itself; one that is silent is not waited for.
NPM_WORDS = ("install", "--loglevel=error", "--fetch-timeout=60000", "--fetch-retries=3")
CODE_LINE = re.compile(r"^npm (?:error|ERR!|warn \S+)\s?(?:code \S+$)?")


def main(folder: Path, names: Sequence[str] = ()) -> int:
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        print(f"there is no agent {unknown[0]!r}; known: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    wanted = tuple(names) or NAMES
    with ThreadPoolExecutor(AT_ONCE) as pool:
        reasons = list(pool.map(partial(install, folder), wanted))
    for name, why in zip(wanted, reasons, strict=True):
        if why:
            print(f"not installed: {name} {pinned_version(name)}: {why}", file=sys.stderr)
    return 1 if any(reasons) else 0


def install(folder: Path, name: str) -> str:
    """Install one program; the reason if that fails is kept for those who skip its tests."""
    why = npm(folder, name) if name in NPM else python(folder, name)
    note = folder / f"{name}.missing"
    if why:
        note.write_text(why, encoding="utf-8")
    else:
        note.unlink(missing_ok=True)
    return why


def npm(folder: Path, name: str) -> str:
    """Install one program in its folder; returns the reason if that fails."""
    place, pins = folder / name, (f"{name}/package.json", f"{name}/package-lock.json", ".npmrc")
    stamp, state = place / ".done", pinned(*pins)
    if done(stamp, state):
        return ""
    program = shutil.which("npm")
    if program is None:
        return "there is no npm; install Node.js 20 or newer"
    place.mkdir(exist_ok=True)
    for pin in pins:
        shutil.copy(PINS / pin, place)
    return run(program, *NPM_WORDS, cwd=place) or start_once(place) or finish(stamp, state)


def start_once(place: Path) -> str:
    """Let the program make what it makes in a new home; the reason if that fails."""
    if place.name not in FIRST_STARTS:
        return ""
    home = place / FIRST_HOME
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    program = place / "node_modules" / ".bin" / place.name
    return run("env", f"HOME={home}", str(program), *FIRST_STARTS[place.name], cwd=home)


def python(folder: Path, name: str) -> str:
    """Install one program in its environment; returns the reason if that fails."""
    place, lock = folder / name, PINS / f"{name}.lock"
    stamp, state = place / ".done", pinned(lock.name)
    if done(stamp, state):
        return ""
    uv, interpreter = str(Path(sys.executable).with_name("uv")), find_python(name)
    if not interpreter:
        return f"there is no Python {PYTHON_VERSIONS[name]} here"
    inside = str(place / "bin" / "python")
    steps = (
        (uv, "venv", "-q", "--clear", "--python", interpreter, str(place)),
        # Compiled once: where a program cannot write bytecode, each start would compile it.
        (
            uv,
            "pip",
            "sync",
            "-q",
            "--compile-bytecode",
            "--python",
            inside,
            "--require-hashes",
            str(lock),
        ),
    )
    for step in steps:
        if why := run(*step, cwd=folder):
            return why
    return finish(stamp, state)


def find_python(name: str) -> str:
    """An interpreter that the program works with; empty if there is none.

    It must be tried: the first one on the PATH may be a shim that leads nowhere.
    """
    version = PYTHON_VERSIONS.get(name)
    if version is None:
        return sys.executable
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = (shutil.which(f"python{version}"), *managed.glob(f"{version}.*/bin/python"))
    working = (str(one) for one in found if one and not run(str(one), "-c", "", cwd=PINS))
    return next(working, "")


def pinned_version(name: str) -> str:
    """The version that the pins name."""
    if name in NPM:
        package = json.loads((PINS / name / "package.json").read_text(encoding="utf-8"))
        return str(package["dependencies"][NPM[name]])
    lock = (PINS / f"{name}.lock").read_text(encoding="utf-8")
    hit = re.search(rf"^{re.escape(PYTHONS[name])}==(\S+)", lock, re.MULTILINE)
    return hit[1] if hit else ""


def pinned(*names: str) -> str:
    """Changes with the pins."""
    return hashlib.sha256(b"\0".join((PINS / name).read_bytes() for name in names)).hexdigest()


def done(stamp: Path, state: str) -> bool:
    return stamp.exists() and stamp.read_text() == state


def finish(stamp: Path, state: str) -> str:
    stamp.write_text(state)
    return ""


def run(*argv: str, cwd: Path) -> str:
    """Nothing when it went well, else what it said about the cause."""
    try:
        ended = subprocess.run(
            argv, cwd=cwd, capture_output=True, text=True, timeout=BOUND_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{Path(argv[0]).name} did not end within {BOUND_S} s"
    except OSError as error:
        return f"{argv[0]}: {error.strerror}"
    return "" if ended.returncode == 0 else cause(ended.stderr or ended.stdout, ended.returncode)


def cause(output: str, code: int) -> str:
    """The first lines that name the cause; npm ends with the name of its own log."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [CODE_LINE.sub("", line) for line in lines if "complete log" not in line]
    return " ".join(filter(None, told))[:300] or f"exit code {code}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), sys.argv[2:]))
