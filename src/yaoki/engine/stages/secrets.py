"""Keeps secret values that agents were given out of commits."""

from __future__ import annotations

from yaoki.core.leaks import SECRETS_CHECK, LeakSearch, leak_finding
from yaoki.core.model import AgentSpec, Finding, Run, Task
from yaoki.core.model.spec import list_chain
from yaoki.ports import Candidate, Checker, Workspace


def passed_variables(run: Run, task: Task) -> tuple[str, ...]:
    """The variables passed to the run's agents; their values may show up in check output."""
    agents = (*run.catalogue.agents.values(), *task.spec.agents)
    return tuple(sorted({name for agent in agents for name in _passed_to(agent)}))


def _passed_to(agent: AgentSpec) -> tuple[str, ...]:
    return tuple(name for one in agent.list_by_account() for name in one.passed_variables)


class SecretGuard:
    """Used by a verification before anything else runs."""

    def __init__(self, workspace: Workspace, checker: Checker) -> None:
        self._workspace, self._checker = workspace, checker

    def findings(self, run: Run, task: Task, candidate: Candidate) -> tuple[Finding, ...]:
        """A finding about leaked secrets, if any.  A value that the run branch already contains is
        no secret.
        """
        if SECRETS_CHECK in task.waivers:
            return ()
        agents = (*run.catalogue.agents.values(), *task.spec.agents)
        configured = {
            name: value for agent in list_chain(agents) for name, value in agent.env.items()
        }
        variables = self._checker.confidential_variables(passed_variables(run, task), configured)
        search = LeakSearch(variables)
        if not search:
            return ()
        leaks = self._workspace.contents.find_leaks(candidate.onto, candidate.commit, search)
        known = {
            name
            for name in {leak.variable for leak in leaks}
            if self._workspace.contents.contains_text(candidate.onto, variables[name])
        }
        new = tuple(leak for leak in leaks if leak.variable not in known)
        return (leak_finding(new, f"yaoki recover {task.id}"),) if new else ()
