"""Install the agent programs that tests drive: `python install.py FOLDER`.

Pinned beside this file, installed once for each state of the pins, bounded in time.  What cannot be
installed is said; its tests are skipped, and fail where CI is set, which makes this fail as well.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PINS = Path(__file__).parent
NPM = ("package.json", "package-lock.json", ".npmrc")
PYTHONS = ("mini-swe-agent", "aider")
BOUND_S = 420
# A registry that answers slowly is asked again by npm itself; one that is silent is not waited for.
NPM_WORDS = ("install", "--loglevel=error", "--fetch-timeout=60000", "--fetch-retries=3")


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as pool:
        made = [pool.submit(npm, folder), *(pool.submit(python, folder, n) for n in PYTHONS)]
    missing = [why for one in made if (why := one.result())]
    for why in missing:
        print(f"not installed: {why}", file=sys.stderr)
    return 1 if missing and os.environ.get("CI") else 0


def npm(folder: Path) -> str:
    """claude, codex, gemini, opencode and pi; why not, if not."""
    stamp, state = folder / "node_modules" / ".done", pinned(*NPM)
    if done(stamp, state):
        return ""
    program = shutil.which("npm")
    if program is None:
        return "claude, codex, gemini, opencode, pi: there is no npm; install Node.js 20 or newer"
    for name in NPM:
        shutil.copy(PINS / name, folder / name)
    why = run(program, *NPM_WORDS, cwd=folder)
    return f"claude, codex, gemini, opencode, pi: {why}" if why else finish(stamp, state)


def python(folder: Path, name: str) -> str:
    """One program in an environment of its own; why not, if not."""
    place, lock = folder / name, PINS / f"{name}.lock"
    stamp, state = place / ".done", pinned(lock.name)
    if done(stamp, state):
        return ""
    own, uv = sys.executable, str(Path(sys.executable).with_name("uv"))
    inside = str(place / "bin" / "python")
    steps = (
        (uv, "venv", "-q", "--clear", "--python", own, str(place)),
        (uv, "pip", "sync", "-q", "--python", inside, "--require-hashes", str(lock)),
    )
    for step in steps:
        if why := run(*step, cwd=folder):
            return f"{name}: {why}"
    return finish(stamp, state)


def pinned(*names: str) -> str:
    """Changes with the pins."""
    return hashlib.sha256(b"\0".join((PINS / name).read_bytes() for name in names)).hexdigest()


def done(stamp: Path, state: str) -> bool:
    return stamp.exists() and stamp.read_text() == state


def finish(stamp: Path, state: str) -> str:
    stamp.write_text(state)
    return ""


def run(*argv: str, cwd: Path) -> str:
    """Nothing when it went well, else the end of what it said."""
    try:
        ended = subprocess.run(
            argv, cwd=cwd, capture_output=True, text=True, timeout=BOUND_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{Path(argv[0]).name} did not end within {BOUND_S} s"
    except OSError as error:
        return f"{argv[0]}: {error.strerror}"
    said = (ended.stderr or ended.stdout).strip().splitlines()
    return "" if ended.returncode == 0 else (said[-1] if said else f"exit code {ended.returncode}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
