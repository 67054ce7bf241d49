"""A repository with its store and settings, opened for a while."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from yaoki.app.build import App
from yaoki.core.lazy_dataclass import replace
from yaoki.errors import PlanInvalid, Unknown
from yaoki.faces.api.run import RunHandle

if TYPE_CHECKING:
    from yaoki.core.trust import FileCommands
    from yaoki.formats.plan import Plan


class Repository:
    """A repository with its store.  Use it in a `with` block, or call `close` at the end."""

    def __init__(self, where: str | Path = ".", *, store: str = "", trust: bool = False) -> None:
        """`store` is a file or a postgresql:// address instead of the one in yaoki.toml.

        The API asks no questions: untrusted commands raise `Untrusted`.  With `trust` they are
        accepted, and this is stored.
        """
        self._app = App(Path(where).absolute(), create=True, store=store)
        self._trust = trust
        if trust:
            self._require_trust()
        self._carried: list[RunHandle] = []

    def submit(
        self,
        plan: str | Path | Mapping[str, Any],
        *,
        base: str = "",
        agents: Sequence[str] = (),
        parallel: int = 0,
    ) -> RunHandle:
        """Store a plan, given as a file or as plain data, as a run; no worker runs it yet."""
        from yaoki.app.command_inventory import list_plan_contents
        from yaoki.app.submit import submit_plan

        parsed = self._plan(plan, agents)
        self._require_trust(
            *(list_plan_contents(Path(plan), parsed) if isinstance(plan, str | Path) else ())
        )
        return RunHandle(self._app, submit_plan(self._app, parsed, base=base, parallel=parallel))

    def run(
        self,
        plan: str | Path | Mapping[str, Any],
        *,
        base: str = "",
        agents: Sequence[str] = (),
        parallel: int = 0,
    ) -> RunHandle:
        """Submit a plan and run it in the background of this process: see `Run.wait`."""
        run = self.submit(plan, base=base, agents=agents, parallel=parallel)
        run.start()
        self._carried.append(run)
        return run

    def find(self, run: str = "") -> RunHandle:
        """A run by its id; by default the newest."""
        return RunHandle(self._app, self._app.lookup.find_run(run))

    def runs(self) -> list[RunHandle]:
        """All runs, oldest first."""
        return [RunHandle(self._app, run) for run in self._app.reads.runs()]

    def close(self) -> None:
        """Runs of this process stop when their active agents have finished."""
        for run in self._carried:
            run.leave()
        self._app.close()

    def __enter__(self) -> Repository:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _require_trust(self, *contents: FileCommands) -> None:
        from yaoki.app.trust import make_untrusted_error

        if (question := self._app.trust.find_question(*contents)) is None:
            return
        if not self._trust:
            raise make_untrusted_error(question)
        self._app.trust.accept(question)

    def _plan(self, plan: str | Path | Mapping[str, Any], agents: Sequence[str]) -> Plan:
        from yaoki.formats.plan_file import load_plan, parse_plan

        settings = self._app.settings
        if unknown := [name for name in agents if name not in settings.agents]:
            raise Unknown(f"the settings have no agent {unknown[0]!r}", hint="yaoki agents list")
        if agents:
            settings = replace(settings, agent=tuple(agents))
        if isinstance(plan, str | Path):
            return load_plan(Path(plan), settings, self._app.preflight.known_names)
        try:
            return parse_plan(_text(plan), "the plan", settings, self._app.preflight.known_names)
        except PlanInvalid as refused:
            if refused.defects:
                refused.hint = "fix the mapping"
            raise


def _text(plan: object) -> str:
    """Plain data as the text of a plan."""
    if not isinstance(plan, Mapping):
        words = f"a plan is a file or a mapping, not {type(plan).__name__}"
        raise PlanInvalid(words, hint="pass the name of a plan file")
    try:
        return json.dumps(plan)
    except (TypeError, ValueError) as fault:
        words = f"the plan contains values that are not plain data: {fault}"
        raise PlanInvalid(words, hint="use strings, numbers, lists and mappings") from fault
