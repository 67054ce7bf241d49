"""Names of span attributes on the wire.

The `gen_ai` names come from OpenTelemetry's semantic conventions for generative AI, which may still
change; the `yaoki` attributes hold the same values and are stable.
"""

from __future__ import annotations

RUN, GOAL, TASKS, STATUS = "yaoki.run.id", "yaoki.run.goal", "yaoki.run.tasks", "yaoki.run.status"
TASK, TASK_NAME = "yaoki.task.id", "yaoki.task.name"
ATTEMPT, CONTINUED = "yaoki.attempt", "yaoki.attempt.continued"
OUTCOME, KIND, PATTERN = "yaoki.outcome", "yaoki.failure.kind", "yaoki.failure.pattern"
STAGE, CHECK, CHECK_OUTCOME = "yaoki.stage", "yaoki.check.name", "yaoki.check.outcome"
WAIT = "yaoki.wait.cause"
COMMIT, COST, TOKENS = "yaoki.commit", "yaoki.cost.usd", "yaoki.tokens"
ENDED_BY, EXIT_CODE = "yaoki.agent.ended_by", "process.exit.code"

OPERATION, AGENT, TOOL = "gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.tool.name"
WORKFLOW, INVOKE_AGENT, EXECUTE_TOOL = "invoke_workflow", "invoke_agent", "execute_tool"
