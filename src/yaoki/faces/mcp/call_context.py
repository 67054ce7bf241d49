"""The context of one call: the repository, the run, and the calling attempt."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.app.open_app import open_app
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_count
from yaoki.errors import NotNow, PlanInvalid
from yaoki.faces.mcp.caller import CallingAttempt, calling_attempt, require_current

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.ports import PlannerAnswer


@dataclass(frozen=True, slots=True)
class CallContext:
    """Opens the store for each call and closes it, so that a killed server holds nothing open."""

    repo: Path
    environ: Mapping[str, str]

    @property
    def caller(self) -> CallingAttempt | None:
        return calling_attempt(self.environ)

    @contextmanager
    def open_app(self, call: str, *, create: bool = False) -> Iterator[App]:
        caller = self.caller
        with open_app(self.repo, create=create and caller is None) as app:
            if caller is not None:
                require_current(app, caller, call)
            yield app

    @contextmanager
    def open_for_attempt(self) -> Iterator[tuple[App, CallingAttempt]]:
        """Open the store for a call that only a running agent may make."""
        caller = self.require_caller()
        with open_app(self.repo) as app:
            yield app, caller

    def require_caller(self) -> CallingAttempt:
        if (caller := self.caller) is None:
            raise NotNow(
                "this call is not part of an attempt: YAOKI_TASK is not set",
                hint="only an agent that yaoki started can report; pass it the YAOKI_* variables",
            )
        return caller

    def find_run(self, app: App, named: str) -> Run:
        """The caller's own run, even if another is newer; any other run is refused."""
        caller = self.caller
        if caller is None:
            return app.lookup.find_run(named or self.environ.get("YAOKI_RUN", ""))
        own = app.reads.run(app.reads.task(caller.task_id).run_id)
        if named and app.lookup.find_run(named).id != own.id:
            raise NotNow(f"{named} is not your run", hint=f"leave the run out, or pass {own.id}")
        return own


@contextmanager
def write_temporary_file(document: Mapping[str, Any], name: str) -> Iterator[Path]:
    """A file for parsers that read files; their errors are reported without its folder."""
    with tempfile.TemporaryDirectory(prefix="yaoki-mcp-") as folder:
        file = Path(folder) / name
        file.write_text(json.dumps(document), encoding="utf-8")
        try:
            yield file
        except PlanInvalid as bad:
            defects = [line.replace(f"{folder}/", "") for line in bad.defects]
            sentence = bad.sentence.replace(f"{folder}/", "")
            raise PlanInvalid(sentence, hint="fix it and call again", defects=defects) from bad


def read_tasks(app: App, run: Run, tasks: list[dict[str, Any]]) -> PlannerAnswer:
    """Validate tasks against the run like a planner's answer."""
    answer = app.services.plan_answers.read_text(run, json.dumps({"tasks": tasks}), "tasks.json")
    if answer.defects:
        words = f"{format_count(len(answer.defects), 'problem')} found; nothing was stored"
        raise PlanInvalid(words, hint="fix it and call again", defects=answer.defects)
    return answer
