"""Install the agent programs that tests drive: `python install.py FOLDER`.

Pinned beside this file, each installed by itself, once for each state of its pins, bounded in time.
One that cannot be installed is named, and the others are there; its tests are skipped, and fail
where CI is set, which makes this fail as well.
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
NPM = ("claude", "codex", "gemini", "opencode", "pi")
PYTHONS = ("mini-swe-agent", "aider")
BOUND_S = 420
# A registry that answers slowly is asked again by npm itself; one that is silent is not waited for.
NPM_WORDS = ("install", "--loglevel=error", "--fetch-timeout=60000", "--fetch-retries=3")


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as pool:
        made = [pool.submit(npm, folder, name) for name in NPM]
        made += [pool.submit(python, folder, name) for name in PYTHONS]
    missing = [why for one in made if (why := one.result())]
    for why in missing:
        print(f"not installed: {why}", file=sys.stderr)
    return 1 if missing and os.environ.get("CI") else 0


def npm(folder: Path, name: str) -> str:
    """Install one program in its folder; returns the reason if that fails."""
    place, pins = folder / name, (f"{name}/package.json", f"{name}/package-lock.json", ".npmrc")
    stamp, state = place / ".done", pinned(*pins)
    if done(stamp, state):
        return ""
    program = shutil.which("npm")
    if program is None:
        return f"{name}: there is no npm; install Node.js 20 or newer"
    place.mkdir(exist_ok=True)
    for pin in pins:
        shutil.copy(PINS / pin, place)
    why = run(program, *NPM_WORDS, cwd=place)
    return f"{name}: {why}" if why else finish(stamp, state)


def python(folder: Path, name: str) -> str:
    """Install one program in its environment; returns the reason if that fails."""
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
    if ended.returncode == 0:
        return ""
    output = (ended.stderr or ended.stdout).strip().splitlines()
    # The last line of npm names its own log, not the cause.
    causes = [line for line in output if "complete log" not in line]
    return causes[-1] if causes else f"exit code {ended.returncode}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
