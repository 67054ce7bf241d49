"""What an agent does in its first hour in the sandbox: it commits, installs, serves."""

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

from tests.acceptance.project import Project
from tests.acceptance.test_sandbox import why_no_sandbox

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
HOURS = ("committed", "installed", "served", "refused")


def why_not_sandboxed() -> str:
    """The reason why no agent can have this hour here; empty if it can."""
    if Path(sys.executable).is_relative_to(tempfile.gettempdir()):
        return "this environment lies in the folder of temporaries, which the sandbox hides"
    return why_no_sandbox()


def hour_variables(index: str) -> dict[str, str]:
    """What the commands use."""
    uv = Path(sys.executable).with_name("uv")
    return {"UV": str(uv), "PYTHON": sys.executable, "INDEX": index}


def assert_hour_passed(project: Project, said: str) -> None:
    """All of it worked in the sandbox, and nothing was changed outside."""
    assert "outside a sandbox" not in said
    assert "CHECKOUT_CHANGED" not in project.event_names("add")
    hour = project.show(project.status()["run_branch"], "hour.txt").splitlines()
    assert [word for word in hour if word in HOURS] == list(HOURS), hour
    assert "mine: a first try" in project.git("log", "--all", "--format=%s").splitlines()
    assert not (project.folder / "agent-home" / "planted").exists()


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
