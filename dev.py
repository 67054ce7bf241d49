"""`python3 dev.py COMMAND`: see yaoki work, prove it, work on it; needs Python 3.11 and git alone.

The environment is .venv, made when it is first needed and again when a lock file changes; nothing
outside this folder is changed.  What follows a command is given on: `python3 dev.py bench --quick`.
"""

# Kept readable for an older Python, or it could not say what is wrong.

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

OLDEST = (3, 11)
NEWER = ("python3.13", "python3.12", "python3.11")
UV_VERSION = "0.13.7"
TOP = Path(__file__).resolve().parent
VENV = TOP / ".venv"
BIN = VENV / "bin"
PEERS = VENV / "peers"
DOCS = VENV / "docs"
RUN, DEV = "requirements.lock", "requirements-dev.lock"
FOR_DOCS, FOR_PEERS = "requirements-docs.lock", "benchmarks/peers.lock"
# Both locks hold what builds the project, so the build fetches nothing.
BUILD = b"hatchling\neditables\n"
# What a browser fetches by itself; a link that a person may follow is none.
FETCHED = re.compile(r"""<(?:script|link|img|iframe)[^>]*?(?:src|href)=["']?(https?://[^"'> ]+)""")
ADDRESSES = re.compile(r"https?:|file:|--(extra-)?index|--find-links")
CACHES = (".mypy_cache", ".ruff_cache", ".pytest_cache", ".import_linter_cache", ".hypothesis")
# Many tests wait for the programs they started, so there is room for more than one a core.
AT_ONCE = (os.cpu_count() or 1) * 5 // 2
# The plugin of Hypothesis searches all modules for constants, in each process; tests need it not.
TESTS = ("-q", "--workers", str(AT_ONCE), "-p", "no:hypothesispytest")
# What they write is made from the code; tests compare it.
GENERATORS = ("yaoki.formats.plan.shape_table", "tests.reference")
# Tests that are not in the folder of the package that they hold, by its file.
ELSEWHERE = {"src/yaoki/views/documents.py": "tests/acceptance/test_cli_output.py"}
STORM = "tests/security/test_kill_storm.py"
INSTALL_BROWSER = ("python", "tests/tools/browser.py", str(VENV / "browsers"))
INSTALL_AGENTS = ("python", "tests/tools/agents/install.py", str(VENV / "agents"))
# `full` tries four with every fault, and the other two in the night of a whole run: they start
# slowly.  `real` tries all with every fault.
MAIN_AGENTS = ("claude", "codex", "gemini", "pi")
NIGHT_AGENTS = ("opencode", "aider")
# Folders of tests in memory: most of a test's time on a disk is waiting for the disk.
MEMORY, MEMORY_MIN = Path("/dev/shm"), 8 << 30
# Without the name of the product: tests look for it in the paths that a check sees.
MEMORY_PREFIX = "dev-py-tests-"
# mypy makes no garbage worth the search: without it the types take a tenth less time.
MYPY = "import gc, runpy; gc.disable(); runpy.run_module('mypy', run_name='__main__')"
TYPES = ("python", "-c", MYPY)
CONTRACTS = ("lint-imports", "--no-logo")


# ------------------------------------------------------------------ commands


def help_() -> None:
    """show this list"""
    for name, (does, _) in COMMANDS.items():
        print(f"  python3 dev.py {name:9} {does.__doc__}")


def demo(*more: str) -> None:
    """watch a plan run to a proven end: no key, no network"""
    call("yaoki", "demo", *more)


def test(*more: str) -> None:
    """every promise once: what must hold before a commit"""
    style()
    # The types of the tests are half of that work, and no promise: `lint` and `full` have them.
    run_suite(*("--quick", "-m", "not agents and not registries"), more=more, types=(*TYPES, "src"))
    call("python", "-m", "tests.spec_coverage")


def near(since: str = "HEAD", *more: str) -> None:
    """lint, the tests of the docs, and those near your changes; `near origin/main`: since there"""
    lint()
    found = near_tests(TOP, changed_files(since))
    run_tests(*TESTS, "--quick", "-m", "not agents and not registries", *found, *more)


def generate() -> None:
    """write again what is made from the code: pages of the reference, shapes of the plan"""
    for module in GENERATORS:
        call("python", "-m", module)


def real(*more: str) -> None:
    """all real agent programs, all real repositories, all of HumanEval, long storms of kills"""
    os.environ["YAOKI_TEST_KILLS"] = "80"
    try_agents()
    run_tests(*TESTS, "-m", "agents", *more)
    if not more:
        run_tests(*TESTS, "tests/real_repositories", "tests/human_eval", STORM)


def full(*more: str) -> None:
    """everything: all cases, six real agents, storms of kills, twelve real repositories"""
    os.environ["YAOKI_TEST_PROGRAMS"] = " ".join(MAIN_AGENTS)
    os.environ["YAOKI_TEST_MAIN_REPOSITORIES"] = "1"
    style()
    try_agents(*MAIN_AGENTS, *NIGHT_AGENTS)
    docs()
    run_suite(more=more)
    call("python", "-m", "tests.spec_coverage")


def mutants(*more: str) -> None:
    """change the core in small ways; its tests must notice (--help: a part, a sample)"""
    call("python", "-m", "tests.mutants", *more)


def postgres(*more: str) -> None:
    """the acceptance tests once more, with the store on a server"""
    run_tests(*TESTS, "-m", "not agents", "--store", "postgresql", "tests/acceptance", *more)


def lint() -> None:
    """style, types and import contracts"""
    style()
    for words in (TYPES, CONTRACTS):
        call(*words)


def style() -> None:
    call("ruff", "check")
    call("ruff", "format", "--check")


def format_() -> None:
    """let ruff repair what it can"""
    call("ruff", "check", "--fix")
    call("ruff", "format")


def chromium() -> None:
    """a browser for the tests of the page: the installed one, else one below .venv"""
    call(*INSTALL_BROWSER)


def agents(*names: str) -> None:
    """install the real agent programs that tests drive, below .venv; fails if one is missing"""
    call(*INSTALL_AGENTS, *names)


def try_agents(*names: str) -> None:
    """Without those that cannot be installed here, which are named; a build server has all."""
    words = [str(BIN / INSTALL_AGENTS[0]), *INSTALL_AGENTS[1:], *names]
    done = subprocess.call(words, cwd=str(TOP))
    if done and os.environ.get("CI"):
        sys.exit(done)


def bench(*more: str) -> None:
    """measure against bare limits and other queues; dist/bench.json, .svg"""
    peers()
    (TOP / "dist").mkdir(exist_ok=True)
    files = ("--json", "dist/bench.json", "--svg", "dist/bench.svg")
    call("python", "-m", "benchmarks", *files, *more)


def docs(*more: str) -> None:
    """build the documentation site into dist/site; a dead link fails"""
    if not separate(FOR_DOCS, DOCS):
        stop("the site builder could not be installed; it needs the network once")
    # An old page must not stay, nor a cached one: only a page that is read again is checked.
    shutil.rmtree(TOP / "dist" / "site", ignore_errors=True)
    call(str(DOCS / "bin" / "zensical"), "build", "--strict", "--clean", *more)
    for page in (TOP / "dist" / "site").rglob("*.html"):
        found = FETCHED.search(page.read_text(encoding="utf-8"))
        if found:
            stop(f"{page.relative_to(TOP)} needs the network: {found[1]}")
    print("the site: dist/site/index.html")


def lock(*more: str) -> None:
    """write the lock files anew from pyproject.toml; needs the network; --upgrade for the newest"""
    form = ("--universal", "--python-version", "3.11", "--generate-hashes", *more)
    words = ("pip", "compile", "-q", *form, "--custom-compile-command", "python3 dev.py lock")
    call("uv", *words, "--group", "dev", "pyproject.toml", "-", "-o", DEV, given=BUILD)
    call("uv", *words, "-c", DEV, "pyproject.toml", "-", "-o", RUN, given=BUILD)
    # Without a source file only the group counts: the site does not need yaoki.
    call("uv", *words, "--group", "docs", "-o", FOR_DOCS)
    call("uv", *words, "benchmarks/peers.in", "-o", FOR_PEERS)
    for name in (DEV, RUN, FOR_DOCS, FOR_PEERS):
        told = [line for line in (TOP / name).read_text().splitlines() if ADDRESSES.search(line)]
        if told:
            stop(f"{name} tells where a package was fetched: {told[0]}")


def release(*more: str) -> None:
    """prepare the release VERSION: build, try and test both distributions; no upload"""
    call("python", "-m", "tests.packaging.release", *more)


def setup() -> None:
    """only make the environment for development"""


def clean() -> None:
    """remove the environment and every cache"""
    for name in (".venv", "dist", *CACHES):
        shutil.rmtree(TOP / name, ignore_errors=True)
    for below in ("src", "tests", "benchmarks"):
        for folder in list((TOP / below).rglob("__pycache__")):
            shutil.rmtree(folder, ignore_errors=True)


# ------------------------------------------------------------------ what changed


def changed_files(since: str, top: Path = TOP) -> list[str]:
    """Changed since that commit, or not yet known to git."""
    words = (
        ["git", "diff", "--name-only", "--diff-filter=d", "-z", since],
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
    )
    listed = [subprocess.run(one, cwd=str(top), capture_output=True, check=False) for one in words]
    if any(done.returncode for done in listed):
        stop(listed[0].stderr.decode().strip() or "git could not list the changed files")
    return sorted({name for done in listed for name in done.stdout.decode().split("\0") if name})


def near_tests(top: Path, changed: Sequence[str]) -> list[str]:
    """The tests of the docs, every changed test file, and the tests of every changed package or
    file.
    """
    docs_tests = (top / "tests" / "architecture").glob("test_docs*.py")
    found = {str(file.relative_to(top)) for file in docs_tests}
    for name in map(Path, changed):
        if name.parts[0] == "tests" and name.match("test_*.py"):
            found.add(str(name))
        elif name.parts[:2] == ("src", "yaoki"):
            found.update(tests_of_package(top, name.parent))
    found.update(tests for file, tests in ELSEWHERE.items() if file in changed)
    return sorted(found)


def tests_of_package(top: Path, package: Path) -> list[str]:
    """`tests` mirrors `src/yaoki`: the folder of that name, or of the package around it."""
    parts = package.parts[2:]
    folders = [Path("tests", *parts[:end]) for end in range(len(parts), 0, -1)]
    folder = next((one for one in folders if (top / one).is_dir()), None)
    # A folder of folders has the tests of many packages, and none of this one.
    return [str(folder)] if folder and any((top / folder).glob("test_*.py")) else []


# ------------------------------------------------------------------ the environment


def nothing() -> None:
    """No environment is needed."""


def for_running() -> None:
    """What yaoki itself needs; an environment for development has more, and keeps it."""
    if not (VENV / ".dev").exists():
        ready(RUN, VENV / ".run")
    else:
        for_development()


def for_development() -> None:
    ready(DEV, VENV / ".dev")


def ready(locked: str, stamp: Path) -> None:
    """Installed from the lock, once for each state of it."""
    held = hashlib.sha256()
    for name in (locked, "pyproject.toml"):
        held.update((TOP / name).read_bytes())
    state = f"{UV_VERSION} {held.hexdigest()}"
    if stamp.exists() and stamp.read_text() == state and (BIN / "yaoki").exists():
        return
    print(f"setting up .venv from {locked} ...", flush=True)
    uv()
    # Compiled once: where no bytecode is written, every program would read its packages anew.
    at = ("-q", "--compile-bytecode", "--python", str(BIN / "python"))
    # Not `sync`: for a moment that takes away what is in use, yaoki itself before all else.
    call("uv", "pip", "install", *at, "--require-hashes", "-r", locked)
    call("uv", "pip", "install", *at, "--no-deps", "--no-build-isolation", "-e", ".")
    stamp.write_text(state)


def uv() -> None:
    if (BIN / "uv").exists():
        return
    try:
        import ensurepip  # noqa: F401 - Debian leaves it out
        import venv
    except ImportError:
        stop("this Python cannot make environments; on Debian or Ubuntu: apt install python3-venv")
    # An environment that works is added to, never emptied: somebody may be using it right now.
    works = (BIN / "python").exists() and subprocess.call([str(BIN / "python"), "-c", ""]) == 0
    venv.create(VENV, with_pip=True, clear=not works, symlinks=True)
    pip = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps")
    call("python", *pip, f"uv=={UV_VERSION}")


def peers() -> None:
    """What the benchmarks measure yaoki beside; what cannot be installed is shown as missing."""
    if not separate(FOR_PEERS, PEERS):
        print("the peers could not be installed; they are shown as missing", file=sys.stderr)


def separate(locked: str, folder: Path) -> bool:
    """An environment apart from ours, installed from its lock once for each state of it."""
    stamp = folder / ".done"
    state = hashlib.sha256((TOP / locked).read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == state:
        return True
    call("uv", "venv", "-q", "--clear", "--python", str(BIN / "python"), str(folder))
    at = ("-q", "--compile-bytecode", "--python", str(folder / "bin" / "python"))
    words = (str(BIN / "uv"), "pip", "sync", *at, "--require-hashes", locked)
    if subprocess.call(words, cwd=str(TOP)) != 0:
        return False
    stamp.write_text(state)
    return True


# ------------------------------------------------------------------ how they are called

COMMANDS = {
    "help": (help_, nothing),
    "demo": (demo, for_running),
    "test": (test, for_development),
    "near": (near, for_development),
    "generate": (generate, for_development),
    "real": (real, for_development),
    "full": (full, for_development),
    "mutants": (mutants, for_development),
    "postgres": (postgres, for_development),
    "lint": (lint, for_development),
    "format": (format_, for_development),
    "chromium": (chromium, for_development),
    "agents": (agents, for_development),
    "bench": (bench, for_development),
    "docs": (docs, uv),
    "lock": (lock, uv),
    "release": (release, for_development),
    "clean": (clean, nothing),
    "setup": (setup, for_development),
}


def call(
    program: str,
    *words: str,
    given: bytes | None = None,
    **variables: str,
) -> None:
    """A program of the environment, in this folder; when it fails, so do we, with its code."""
    env = {**environment(), **variables}
    done = subprocess.run(
        [str(BIN / program), *words], cwd=str(TOP), input=given, env=env, check=False
    )
    if done.returncode:
        sys.exit(done.returncode if done.returncode > 0 else 128 - done.returncode)


def environment() -> dict[str, str]:
    """Several processes read the same tests: what the first one compiled serves the others."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_suite(*selection: str, more: Sequence[str], types: Sequence[str] = TYPES) -> None:
    """The types and the tests, which hold the import contracts; `more` may name some of the tests.

    Tests of the page come late, and wait for the browser if it is still being installed.
    """
    with beside(INSTALL_BROWSER, types):
        run_tests(*TESTS, *selection, *more)


def run_tests(*words: str) -> None:
    """With their folders in memory, if it has room; those of a failed test stay until the next run.

    A test may still run for an earlier process, so only folders without one are removed.
    """
    for folder in MEMORY.glob(f"{MEMORY_PREFIX}[0-9]*"):
        if not Path("/proc", folder.name[len(MEMORY_PREFIX) :]).exists():
            shutil.rmtree(folder, ignore_errors=True)
    if not has_room(MEMORY):
        call("pytest", *words)
        return
    folder = MEMORY / f"{MEMORY_PREFIX}{os.getpid()}"
    folder.mkdir()
    # A short path: the address of a socket has at most 107 characters.
    call("pytest", "--basetemp", str(folder / "t"), *words, TMPDIR=str(folder))
    shutil.rmtree(folder, ignore_errors=True)


def has_room(folder: Path) -> bool:
    """Space enough, and programs may be executed there, which containers often forbid."""
    if not os.access(str(folder), os.W_OK) or not Path("/proc/self").exists():
        return False
    status = os.statvfs(str(folder))
    return status.f_bavail * status.f_frsize >= MEMORY_MIN and not status.f_flag & os.ST_NOEXEC


@contextmanager
def beside(*commands: Sequence[str]) -> Iterator[None]:
    """Programs that run beside what the block does; their output comes after it."""
    running = [
        subprocess.Popen(
            [str(BIN / words[0]), *words[1:]],
            cwd=str(TOP),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
        )
        for words in commands
    ]
    try:
        yield
    finally:
        outputs = [process.communicate()[0].decode() for process in running]
        print("".join(outputs), end="", flush=True)
    for process in running:
        if process.returncode:
            sys.exit(process.returncode)


def stop(words: str) -> None:
    sys.exit(f"yaoki: {words}")


def young_enough() -> None:
    """Go on with a Python that is new enough, if this one is not."""
    if sys.version_info >= OLDEST:
        return
    for name in NEWER:
        found = shutil.which(name)
        if found and subprocess.call([found, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            os.execv(found, [found, *sys.argv])
    this = sys.version.split()[0]
    stop(f"Python 3.11 or newer is needed, this is {this}; name one: python3.12 dev.py test")


def main(words: list[str]) -> None:
    young_enough()
    name, more = (words[0], words[1:]) if words else ("help", [])
    if name not in COMMANDS:
        stop(f"there is no command {name!r}; python3 dev.py help")
    does, needs = COMMANDS[name]
    needs()
    try:
        does(*more)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main(sys.argv[1:])
