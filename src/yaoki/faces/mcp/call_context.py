"""Where a call is carried out: the repository, the run, and the caller that must still count."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.core.counting import count
from yaoki.errors import NotNow, PlanInvalid
from yaoki.faces.cli.context import opened
from yaoki.faces.mcp.caller import Caller, admit, caller_of

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run
    from yaoki.ports import PlanAnswer


@dataclass(frozen=True, slots=True)
class Desk:
    """The store is opened for each call and closed after it: a killed server holds nothing."""

    repo: Path
    environ: Mapping[str, str]

    @property
    def caller(self) -> Caller | None:
        return caller_of(self.environ)

    @contextmanager
    def opened(self, call: str, *, create: bool = False) -> Iterator[App]:
        caller = self.caller
        with opened(self.repo, create=create and caller is None) as app:
            if caller is not None:
                admit(app, caller, call)
            yield app

    @contextmanager
    def attempt(self) -> Iterator[tuple[App, Caller]]:
        """For what only an agent at work may say."""
        caller = self.calling_attempt()
        with opened(self.repo) as app:
            yield app, caller

    def calling_attempt(self) -> Caller:
        if (caller := self.caller) is None:
            raise NotNow(
                "no attempt calls here: YAOKI_TASK is not set",
                hint="only an agent that yaoki started has a result; pass YAOKI_* on to this call",
            )
        return caller

    def run(self, app: App, named: str) -> Run:
        """The caller's own run, whatever is newer; a foreign one is refused."""
        caller = self.caller
        if caller is None:
            return app.naming.run(named or self.environ.get("YAOKI_RUN", ""))
        own = app.store.run(app.store.task(caller.task_id).run_id)
        if named and app.naming.run(named).id != own.id:
            raise NotNow(f"{named} is not the run you work for", hint=f"leave it out, or {own.id}")
        return own


@contextmanager
def as_file(document: Mapping[str, Any], name: str) -> Iterator[Path]:
    """For the readers of files.  What they find wrong is told without the folder."""
    with tempfile.TemporaryDirectory(prefix="yaoki-mcp-") as folder:
        file = Path(folder) / name
        file.write_text(json.dumps(document), encoding="utf-8")
        try:
            yield file
        except PlanInvalid as bad:
            defects = [line.replace(f"{folder}/", "") for line in bad.defects]
            sentence = bad.sentence.replace(f"{folder}/", "")
            raise PlanInvalid(sentence, hint="mend it and call again", defects=defects) from bad


def tasks_in(app: App, run: Run, tasks: list[dict[str, Any]]) -> PlanAnswer:
    """Tasks held against the run like a planner's answer."""
    answer = app.tasks_of(run, json.dumps({"tasks": tasks}), "tasks.json")
    if answer.defects:
        words = f"{count(len(answer.defects), 'defect')}, nothing was stored"
        raise PlanInvalid(words, hint="mend it and call again", defects=answer.defects)
    return answer
