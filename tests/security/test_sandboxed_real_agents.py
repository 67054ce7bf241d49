"""Real agent programs in the sandbox: they commit, install, serve, and remember."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.acceptance.real_agents import RealAgentRun, RealAgentRuns, real_agent_runs
from tests.acceptance.test_real_agents import (
    FURTHER,
    FURTHER_OVER_ACP,
    GOALS,
    RESUMING,
    TESTS,
    CompletedRun,
    false_claim_and_fix,
    only_first_task,
    the_plan,
)
from tests.acceptance.test_real_agents_each import unlimited
from tests.acceptance.test_sandbox import needs_bubblewrap

__all__ = ["real_agent_runs"]

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.agents,
    pytest.mark.timeout(400),
]
# Codex over ACP has a sandbox of its own, which cannot start inside another one.
OVER_ACP = ("opencode-acp", "gemini-acp", *(set(FURTHER_OVER_ACP) - {"codex-acp"}))
SANDBOXED = sorted((*RESUMING, *FURTHER, *OVER_ACP))
# Ordinary commands of an agent; each one that worked adds a line to its file.
HOUR = """\
{
git add -A && git -c user.name=a -c user.email=a@example.org commit -qm 'mine: a first try' \
    && echo committed
"$UV" pip install -q --python "$PYTHON" --target .deps --index-url "$INDEX/simple" greet \
    && test -n "$(ls "$UV_CACHE_DIR")" && echo installed
"$PYTHON" -m http.server --bind 127.0.0.1 "$YAOKI_PORT_BASE" >/dev/null 2>&1 &
server=$!
"$PYTHON" - <<'END'
import os, time, urllib.request
for _ in range(100):
    try:
        urllib.request.urlopen("http://127.0.0.1:" + os.environ["YAOKI_PORT_BASE"], timeout=2)
    except OSError:
        time.sleep(0.1)
    else:
        print("served")
        break
END
kill $server
touch "$HOME/planted" 2>/dev/null || echo refused
} > hour.txt 2>&1
"""


@contextmanager
def package_index(folder: Path) -> Iterator[str]:
    """A registry of one package, on loopback."""
    pages = folder / "simple" / "greet"
    pages.mkdir(parents=True)
    name = "greet-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pages / name, "w") as wheel:
        wheel.writestr("greet.py", "HELLO = 1\n")
        about = "greet-1.0.dist-info/"
        wheel.writestr(f"{about}METADATA", "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{about}WHEEL", tags)
        wheel.writestr(f"{about}RECORD", "greet.py,,\n")
    (pages / "index.html").write_text(f'<a href="{name}">{name}</a>')
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Discarded."""


def run_first_hour(agent_run: RealAgentRun) -> CompletedRun:
    agent_run.commit_files(**TESTS, hour__sh=HOUR)
    agent_run.project.env["YAOKI_SANDBOX_MODE"] = "auto"
    (lie, say), fix = false_claim_and_fix(agent_run)
    worked = agent_run.program.ran("sh ./hour.sh")[0]
    with (
        package_index(agent_run.project.folder / "index") as index,
        agent_run.model({GOALS["add"]: (lie, worked, say, *fix)}) as model,
    ):
        tools = {"UV": str(Path(sys.executable).with_name("uv")), "PYTHON": sys.executable}
        agent = unlimited(agent_run.agent(model))
        agent["env"] = {**agent.get("env", {}), **tools, "INDEX": index}
        return CompletedRun(agent_run.run(only_first_task(the_plan(agent))), model)


@pytest.mark.spec("16.13", "14.3", "12.8", "3.7", "11.9")
@pytest.mark.parametrize("name", SANDBOXED)
def test_a_sandboxed_real_agent_works_and_continues_its_conversation(
    real_agent_runs: RealAgentRuns, name: str
) -> None:
    needs_bubblewrap()
    if Path(sys.executable).is_relative_to(tempfile.gettempdir()):
        pytest.skip("this environment lies in the folder of temporaries, which the sandbox hides")
    real_agent_runs.run_each((name,), run_first_hour, assert_fix_landed, "sandbox")


def assert_fix_landed(agent_run: RealAgentRun, played: CompletedRun) -> None:
    project = agent_run.project
    assert played.done.code == 0, played.done.out
    assert "outside a sandbox" not in played.done.out
    add = project.task("add")
    assert (add["state"], add["attempt"]) == ("DONE", 2)
    goes_on = GOALS["add"] not in project.prompt(add, 2)
    assert goes_on is (agent_run.name != "gemini-acp"), "which loads no conversation"
    assert "CHECKOUT_CHANGED" not in project.event_names("add")
    branch = project.status()["run_branch"]
    hour = project.show(branch, "hour.txt").splitlines()
    assert [word for word in hour if word in HOURS] == list(HOURS), hour
    assert "mine: a first try" in project.git("log", "--all", "--format=%s").splitlines()
    assert not (project.folder / "agent-home" / "planted").exists()


HOURS = ("committed", "installed", "served", "refused")
