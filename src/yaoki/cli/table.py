"""Every command by name, with its one-line help: all that `yaoki --help` needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Listed(NamedTuple):
    """Where a command stands, and what it is for."""

    where: str
    help: str


SECTIONS: Mapping[str, Mapping[str, Listed]] = {
    "Begin": {
        "init": Listed("yaoki.cli.init:init", "write a first yaoki.toml"),
        "doctor": Listed("yaoki.cli.doctor:doctor", "check git, the store, the disk and the runs"),
        "trust": Listed("yaoki.cli.trust:trust", "say yes to what a repository would run"),
        "demo": Listed("yaoki.demo:command", "watch a rehearsal: no key, no network"),
    },
    "Plan and run": {
        "validate": Listed("yaoki.cli.plans:validate", "say everything that is wrong with a plan"),
        "plan": Listed("yaoki.cli.plans:plan", "show a plan and its worst number of agent runs"),
        "run": Listed("yaoki.cli.run:run", "carry a plan to a proven end"),
        "resume": Listed("yaoki.cli.run:resume", "go on with a run that was stopped"),
        "cancel": Listed("yaoki.cli.cancel:cancel", "end a run or a task; its work is kept"),
    },
    "Workers": {
        "up": Listed("yaoki.cli.up:up", "keep a background worker for this store"),
        "down": Listed("yaoki.cli.up:down", "stop the background worker; nothing is lost"),
        "worker": Listed("yaoki.cli.worker:worker", "serve every run of a store, here"),
    },
    "Look": {
        "status": Listed("yaoki.cli.status:status", "show how a run stands"),
        "watch": Listed("yaoki.cli.run:watch", "follow a run until it rests"),
        "ui": Listed("yaoki.cli.ui:ui", "serve the page on this machine"),
        "why": Listed("yaoki.cli.why:why", "explain where a task stands, rule by rule"),
        "trace": Listed("yaoki.cli.trace:trace", "show the journal of a task or a run"),
        "logs": Listed("yaoki.cli.logs:logs", "show what an agent or a check wrote"),
        "diff": Listed("yaoki.cli.diff:diff", "show what a task changed"),
        "report": Listed("yaoki.cli.report:report", "tell what became of a run, with its proof"),
        "metrics": Listed("yaoki.cli.metrics:metrics", "print what Prometheus scrapes"),
        "verify": Listed("yaoki.cli.verify:verify", "hold a run's receipt against git alone"),
    },
    "Decide": {
        "answer": Listed("yaoki.cli.answer:answer", "answer a task that asks a person"),
        "retry": Listed("yaoki.cli.answer:retry", "let a task that asks try again"),
        "merge": Listed("yaoki.cli.merge:merge", "move the base branch to a run's work"),
        "undo": Listed("yaoki.cli.merge:undo", "take a landed task back off the run branch"),
    },
    "Recover": {
        "recover": Listed("yaoki.cli.recover:recover", "list or branch off any attempt's work"),
        "snapshots": Listed("yaoki.cli.recover:snapshots", "list the snapshots of worktrees"),
        "restore": Listed("yaoki.cli.recover:restore", "put a worktree back to a snapshot"),
        "dead": Listed("yaoki.cli.dead:dead", "list tasks that no worker brought back; revive"),
        "prune": Listed("yaoki.cli.prune:prune", "archive finished runs that are old or many"),
    },
    "For agents": {
        "result": Listed("yaoki.cli.result:result", "say how an attempt ended; never a proof"),
        "mcp": Listed("yaoki.mcp.command:mcp", "serve the tools for agents over MCP"),
    },
    "Reference": {
        "hook": Listed("yaoki.cli.hook:hook", "check an agent of your own session when it stops"),
        "agents": Listed("yaoki.cli.agents:agents", "show the known agents and try one"),
        "notify": Listed("yaoki.cli.notify:notify", "try the channels that notices go through"),
        "config": Listed("yaoki.cli.config:config", "show every setting and where it comes from"),
        "prompts": Listed("yaoki.cli.prompts:prompts", "show, copy and try the words for agents"),
        "stats": Listed("yaoki.cli.stats:stats", "show which prompt cured which failure"),
        "schema": Listed("yaoki.cli.plans:schema", "print a JSON Schema: plan or status"),
    },
}

COMMANDS: Mapping[str, Listed] = {
    name: listed for section in SECTIONS.values() for name, listed in section.items()
}
