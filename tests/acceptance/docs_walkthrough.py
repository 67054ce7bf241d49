"""Executes a page of the docs as a reader would: saves its files, runs its commands.

The HTML comment above a fenced block says what to do with it: `<!-- file=PATH -->` saves it,
`<!-- run -->` types it (`<!-- run exit=4 -->` is the exit code), `<!-- serve -->` types it and
interrupts it once the next block was seen.  A block of `text` after one of them holds lines that
must be seen, in this order; `…` stands for anything.  `RUN` is the newest run.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

from tests.acceptance.forked_cli import call_yaoki, start_server
from tests.acceptance.project import wait_until
from tests.documents import Block, blocks
from tests.trusted_folders import trust_folder

BOUND_S = 90
EMPTY = Block("", (), "", 0)
# A `yaoki` that asks the fork server: pages call it often, and each interpreter takes its time.
# A server must get signals, so it is started as usual.
FORKED = """\
#!{python} -IS
import json, os, socket, sys

if sys.argv[1:2] == ["ui"]:
    os.execv({python!r}, [{python!r}, "-m", "yaoki", *sys.argv[1:]])
asked = {{"words": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "stdin": os.devnull}}
with socket.socket(socket.AF_UNIX) as line, line.makefile("rw") as talk:
    line.connect({address!r})
    print(json.dumps(asked), file=talk, flush=True)
    told = json.loads(talk.readline())
sys.stderr.write(told["err"])
sys.stderr.flush()
sys.stdout.write(told["out"])
sys.exit(told["code"])
"""
LINK = re.compile(r"http://127\.0\.0\.1:\S+")


class Walkthrough:
    """A working folder and a home folder for one page."""

    def __init__(self, folder: Path, pycache: Path) -> None:
        self.home, self.cwd = folder / "home", folder / "work"
        self.cwd.mkdir(parents=True)
        (self.home / "bin").mkdir(parents=True)
        self._folder_file = folder / "here"
        drop = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "YAOKI_CONFIG", "NO_COLOR")
        around = {name: value for name, value in os.environ.items() if name not in drop}
        path = f"{self.home / 'bin'}:{Path(sys.executable).parent}:{around['PATH']}"
        own = {"YAOKI_HOME": str(folder / "state"), "PYTHONPYCACHEPREFIX": str(pycache)}
        self.env = {**around, **own, "HOME": str(self.home), "PATH": path}
        # A reader sits at a terminal and says yes.
        trust_folder(folder / "state", folder)

    def fork_yaoki(self) -> None:
        """Let `yaoki` be a fork; a program that the page kills must be one of its own."""
        program = self.home / "bin" / "yaoki"
        address = start_server(self.env["PYTHONPYCACHEPREFIX"])
        program.write_text(FORKED.format(python=sys.executable, address=address))
        program.chmod(0o755)

    def walk(self, text: str) -> int:
        """Run every marked block; returns their number."""
        typed = 0
        for block, after in pairwise((*blocks(text), EMPTY)):
            shown = after.text.splitlines() if after.language == "text" else []
            if where := block.mark("file"):
                self.save(where, block.text)
            elif "run" in block.marks:
                self.run_block(block, shown)
                typed += 1
            elif "serve" in block.marks:
                self.run_server_block(block, shown)
                typed += 1
        return typed

    def save(self, where: str, text: str) -> None:
        named = where.startswith("~/")
        file = self.home / where.removeprefix("~/") if named else self.cwd / where
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_block(self, block: Block, shown: Sequence[str]) -> None:
        words = f"trap 'pwd > {self._folder_file}' EXIT\n{self._with_run_id(block.text)}"
        done = subprocess.run(
            ("bash", "-e", "-o", "pipefail", "-c", words),
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        self.cwd = Path(self._folder_file.read_text().strip())
        output = f"line {block.line}:\n{block.text}\n{done.stdout}"
        assert done.returncode == int(block.mark("exit") or 0), (
            f"exit {done.returncode} at {output}"
        )
        missing = first_missing_line(shown, done.stdout)
        assert not missing, f"not seen: {missing!r} at {output}"

    def shell_output(self, words: str, cwd: Path) -> str:
        """The output of a shell command in another folder."""
        return subprocess.run(
            ("bash", "-e", "-c", words),
            cwd=cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=True,
        ).stdout

    def run_server_block(self, block: Block, shown: Sequence[str]) -> None:
        """Start a server, request its link, and end it with Ctrl-C."""
        process = subprocess.Popen(
            ("bash", "-c", f"exec {block.text.strip()} --port 0"),
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        told: list[str] = []
        assert process.stdout is not None
        reader = threading.Thread(target=_read, args=(process.stdout, told))
        reader.start()
        try:
            wait_until(
                lambda: not first_missing_line(shown, "".join(told)), f"{shown} is shown", BOUND_S
            )
            wait_until(lambda: LINK.search("".join(told)), "a link is shown", BOUND_S)
            found = LINK.search("".join(told))
            assert found, told
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with browser.open(found[0], timeout=BOUND_S) as answer:
                assert answer.status == 200
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(BOUND_S)
            reader.join(BOUND_S)
            process.stdout.close()
        assert code == 0, told

    def _with_run_id(self, text: str) -> str:
        if not re.search(r"\bRUN\b", text):
            return text
        _, out, _ = call_yaoki(("status", "--json"), self.cwd, self.env)
        return re.sub(r"\bRUN\b", json.loads(out)["run"], text)


def _read(stream: IO[str], told: list[str]) -> None:
    for line in stream:
        told.append(line)


def first_missing_line(shown: Sequence[str], out: str) -> str:
    """The first line that does not follow the previous one in the output; empty if all do."""
    lines = iter(out.splitlines())
    for wanted in shown:
        pattern = ".*".join(re.escape(part) for part in wanted.strip().split("…"))
        if not any(re.search(pattern, line) for line in lines):
            return wanted
    return ""
