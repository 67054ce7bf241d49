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
        "init": Listed("yaoki.faces.cli.commands.init:init", "write a first yaoki.toml"),
        "doctor": Listed(
            "yaoki.faces.cli.commands.doctor:doctor", "check git, the store, the disk and the runs"
        ),
        "trust": Listed(
            "yaoki.faces.cli.commands.trust:trust", "say yes to what a repository would run"
        ),
        "demo": Listed("yaoki.faces.demo:command", "watch a rehearsal: no key, no network"),
    },
    "Plan and run": {
        "validate": Listed(
            "yaoki.faces.cli.commands.plans:validate", "say everything that is wrong with a plan"
        ),
        "plan": Listed(
            "yaoki.faces.cli.commands.plans:plan", "show a plan and its worst number of agent runs"
        ),
        "run": Listed("yaoki.faces.cli.commands.run:run", "carry a plan to a proven end"),
        "resume": Listed(
            "yaoki.faces.cli.commands.run:resume", "go on with a run that was stopped"
        ),
        "cancel": Listed(
            "yaoki.faces.cli.commands.cancel:cancel", "end a run or a task; its work is kept"
        ),
    },
    "Workers": {
        "up": Listed("yaoki.faces.cli.commands.up:up", "keep a background worker for this store"),
        "down": Listed(
            "yaoki.faces.cli.commands.up:down", "stop the background worker; nothing is lost"
        ),
        "worker": Listed(
            "yaoki.faces.cli.commands.worker:worker", "serve every run of a store, here"
        ),
    },
    "Look": {
        "status": Listed("yaoki.faces.cli.commands.status:status", "show how a run stands"),
        "watch": Listed("yaoki.faces.cli.commands.run:watch", "follow a run until it rests"),
        "ui": Listed("yaoki.faces.cli.commands.ui:ui", "serve the page on this machine"),
        "why": Listed(
            "yaoki.faces.cli.commands.why:why", "explain where a task stands, rule by rule"
        ),
        "trace": Listed(
            "yaoki.faces.cli.commands.trace:trace", "show the journal of a task or a run"
        ),
        "logs": Listed("yaoki.faces.cli.commands.logs:logs", "show what an agent or a check wrote"),
        "diff": Listed("yaoki.faces.cli.commands.diff:diff", "show what a task changed"),
        "report": Listed(
            "yaoki.faces.cli.commands.report:report", "tell what became of a run, with its proof"
        ),
        "metrics": Listed(
            "yaoki.faces.cli.commands.metrics:metrics", "print what Prometheus scrapes"
        ),
        "verify": Listed(
            "yaoki.faces.cli.commands.verify:verify", "hold a run's receipt against git alone"
        ),
    },
    "Decide": {
        "answer": Listed(
            "yaoki.faces.cli.commands.answer:answer", "answer a task that asks a person"
        ),
        "retry": Listed("yaoki.faces.cli.commands.answer:retry", "let a task that asks try again"),
        "merge": Listed(
            "yaoki.faces.cli.commands.merge:merge", "move the base branch to a run's work"
        ),
        "undo": Listed(
            "yaoki.faces.cli.commands.merge:undo", "take a landed task back off the run branch"
        ),
    },
    "Recover": {
        "recover": Listed(
            "yaoki.faces.cli.commands.recover:recover", "list or branch off any attempt's work"
        ),
        "snapshots": Listed(
            "yaoki.faces.cli.commands.recover:snapshots", "list the snapshots of worktrees"
        ),
        "restore": Listed(
            "yaoki.faces.cli.commands.recover:restore", "put a worktree back to a snapshot"
        ),
        "dead": Listed(
            "yaoki.faces.cli.commands.dead:dead", "list tasks that no worker brought back; revive"
        ),
        "prune": Listed(
            "yaoki.faces.cli.commands.prune:prune", "archive finished runs that are old or many"
        ),
    },
    "For agents": {
        "result": Listed(
            "yaoki.faces.cli.commands.result:result", "say how an attempt ended; never a proof"
        ),
        "mcp": Listed("yaoki.faces.mcp.command:mcp", "serve the tools for agents over MCP"),
    },
    "Reference": {
        "hook": Listed(
            "yaoki.faces.cli.commands.hook:hook", "check an agent of your own session when it stops"
        ),
        "agents": Listed(
            "yaoki.faces.cli.commands.agents:agents", "show the known agents and try one"
        ),
        "notify": Listed(
            "yaoki.faces.cli.commands.notify:notify", "try the channels that notices go through"
        ),
        "config": Listed(
            "yaoki.faces.cli.commands.config:config", "show every setting and where it comes from"
        ),
        "prompts": Listed(
            "yaoki.faces.cli.commands.prompts:prompts", "show, copy and try the words for agents"
        ),
        "stats": Listed(
            "yaoki.faces.cli.commands.stats:stats", "show which prompt cured which failure"
        ),
        "schema": Listed(
            "yaoki.faces.cli.commands.plans:schema", "print a JSON Schema: plan or status"
        ),
    },
}

COMMANDS: Mapping[str, Listed] = {
    name: listed for section in SECTIONS.values() for name, listed in section.items()
}
