"""The scripted agent: a real child process that plays a scenario, for rehearsals and tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from yaoki.adapters.agents.command import CommandAgent
from yaoki.adapters.agents.command_line import build_agent_environment, write_prompt
from yaoki.adapters.agents.scenario import check_scenario
from yaoki.core.model import AgentSpec
from yaoki.core.redact import secret_values
from yaoki.errors import FatalCode, Fault, PlanInvalid
from yaoki.ports import AttemptRequest, Launch

SCENARIO = "scenario.json"
PLAYER = Path(__file__).with_name("scenario_player.py")


class ScriptedAgent(CommandAgent):
    """A scripted agent, whose output is read like that of any other command."""

    def preflight(self, spec: AgentSpec) -> None:
        try:
            check_scenario(spec.options)
        except PlanInvalid as fault:
            raise Fault(
                f"agent {spec.name!r}: {fault.sentence}",
                transient=False,
                code=FatalCode.RESOURCE_NOT_FOUND,
                hint="; ".join(fault.defects[1:]) or fault.hint,
            ) from fault

    def build_launch(self, order: AttemptRequest) -> Launch:
        passed_names = order.agent.passed_variables
        write_prompt(order, self._environ, passed_names)
        env = build_agent_environment(order, self._environ)
        script = order.folder / SCENARIO
        script.write_text(json.dumps(check_scenario(order.agent.options)), encoding="utf-8")
        return Launch(
            # By path and without site packages: it starts fast, and the worktree cannot affect it.
            argv=(sys.executable, "-I", "-S", str(PLAYER), str(script)),
            cwd=str(order.worktree),
            env=env,
            deadline=order.timeout,
            hang=order.hang,
            lease=order.lease,
            output_bytes_max=order.output_bytes_max,
            secrets=secret_values(env, passed_names),
        )
