"""Changes that an agent without the sandbox makes outside its worktree are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.13", "14.3")]


def run_script(project: Project, script: str) -> tuple[str, str, list[str]]:
    """One task whose agent does this; the run's output, and what CHECKOUT_CHANGED names."""
    act: dict[str, Any] = {"run": ["sh", "-ec", script]}
    plan = a_plan({"a": [[*writes("a.txt"), act]]}, [{"id": "a"}], {"a": file_contains("a.txt")})
    done = project.yaoki("run", project.plan(plan), "--base", "main")
    assert done.code == 0, done.out + done.err
    entries = [e["data"] for e in project.events("a") if e["event"] == "CHECKOUT_CHANGED"]
    assert len(entries) <= 1
    message, what = (entries[0]["message"], entries[0]["what"]) if entries else ("", [])
    return done.out, message, what


@pytest.mark.full
@pytest.mark.spec("14.2")
def test_moved_refs_new_tags_pushes_and_agent_settings_are_reported_by_name(
    project: Project, tmp_path: Path
) -> None:
    """Unverified work leaves the worktree while the user has another branch checked out.  Agent
    settings are at home, and in a folder that a variable names.
    """
    project.git("init", "-q", "--bare", str(project.folder / "origin"))
    project.git("remote", "add", "origin", str(project.folder / "origin"))
    project.git("push", "-q", "origin", "main")
    project.git("checkout", "-q", "-b", "dev")
    was = project.git("rev-parse", "main")
    home, folder = tmp_path / "person", tmp_path / "conf"
    files = [home / ".codex" / "config.toml", folder / "settings.json"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("{}")
    project.env |= {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(folder)}
    commit = f"git add .; git {' '.join(GIT_IDENTITY)} commit -qm x"
    moves = "git update-ref refs/heads/main HEAD; git tag t1; git push -q origin HEAD:main"
    edits = "; ".join(f"echo '{{\"hooks\": {{}}}}' > {file}" for file in files)

    said, message, what = run_script(project, f"{commit}; {moves}; {edits}")

    refs = [
        f"refs/heads/main (was {was[:12]})",
        f"refs/remotes/origin/main (was {was[:12]})",
        "refs/tags/t1 (new)",
    ]
    assert {f"checkout/{ref}" for ref in refs} <= set(what)
    named = message.partition("while the agent was at work: ")[2].partition(";")[0]
    assert set(named.split(", ")) == {*refs, "~/.codex/config.toml", f"{folder}/settings.json"}
    assert "your refs, your checkout or your own settings changed while the agent" in message
    for face in (said, project.query("report").out, project.query("why", "a").out):
        assert "refs/tags/t1" in "".join(face.split("\n")), face


def test_new_untracked_files_in_the_checkout_are_noted_by_name(project: Project) -> None:
    """People write notes while agents work: that is no warning."""
    (project.repo / "mine.txt").write_text("there before\n")

    said, _, what = run_script(
        project, f"echo x > {project.repo}/stray.txt; mkdir {project.repo}/new"
    )

    note = (
        "new, stray.txt appeared in your checkout while attempt 1 ran; if that was not you: "
        "git status"
    )
    assert what == []
    assert noted(project, "a") == [["new", "stray.txt"]]
    assert " ".join(said.split()).count(f"note: {note}") == 1, said
    assert "warning: " not in said
    assert note in " ".join(project.query("report").out.split())


@pytest.mark.full
def test_other_changes_of_untracked_files_stay_a_warning(project: Project) -> None:
    """A hidden file is new, others are changed and deleted; what ignored files and the agent's own
    commits change is not reported at all.
    """
    (project.repo / "mine.txt").write_text("there before\n")
    (project.repo / "other.txt").write_text("there before\n")
    (project.repo / ".gitignore").write_text("*.log\n")
    project.git("add", ".gitignore")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    here, commit = project.repo, f"git add .; git {' '.join(GIT_IDENTITY)} commit -qm x"
    acts = {
        "ignored": (f"echo x > {here}/a.log; {commit}; git pack-refs --all", []),
        "three": (
            f"echo x > {here}/.mcp.json; echo x >> {here}/mine.txt; rm {here}/other.txt",
            [f"checkout/untracked {name}" for name in (".mcp.json", "mine.txt", "other.txt")],
        ),
        "tagged": (
            f"echo x > {here}/new.txt; git tag t1",
            ["checkout/refs/tags/t1 (new)", "checkout/untracked new.txt"],
        ),
    }
    script = {
        name: [[*writes(f"{name}.txt"), {"run": ["sh", "-ec", act]}]]
        for name, (act, _) in acts.items()
    }
    tasks = [{"id": name, "checks": [name]} for name in acts]
    plan = a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in acts})

    done = project.yaoki("run", project.plan(plan), "--parallel", "1")
    watched, once = project.yaoki("watch"), project.yaoki("watch", "--once")

    assert done.code == 0, done.out + done.err
    assert done.out.count("  warning: ") == 4, "while it runs, and at its end"
    assert (watched.out.count("  warning: "), once.out.count("  warning: ")) == (2, 0)
    for name, (_, what) in acts.items():
        told = [e["data"] for e in project.events(name) if e["event"] == "CHECKOUT_CHANGED"]
        assert [sorted(data["what"]) for data in told] == ([what] if what else []), name
        assert all("changed while the agent was at work" in data["message"] for data in told)
        assert noted(project, name) == []


@pytest.mark.full
def test_a_change_is_reported_by_one_of_the_tasks_that_are_active(project: Project) -> None:
    """Agents `a` and `b` are at work when the file appears, `c` and `d` when README changes.  After
    them `e` changes README back, and `f` again to the same content.
    """
    here, stray, readme = project.folder, project.repo / "stray.txt", project.repo / "README"
    waits = "until test -e {}; do sleep 0.05; done"
    edits = f"cp {readme} {here}/before; echo x > {readme}; touch {here}/edited"
    acts = {
        "a": f"{waits.format(here / 'b-works')}; echo x > {stray}",
        "b": f"touch {here}/b-works; {waits.format(stray)}",
        "c": f"{waits.format(here / 'd-works')}; {edits}",
        "d": f"touch {here}/d-works; {waits.format(here / 'edited')}",
        "e": f"cp {here}/before {readme}",
        "f": f"echo x > {readme}",
    }
    needs = {"c": ["a", "b"], "d": ["a", "b"], "e": ["c", "d"], "f": ["e"]}
    plan = a_plan(
        {n: [[*writes(f"{n}.txt"), {"run": ["sh", "-ec", act]}]] for n, act in acts.items()},
        [{"id": name, "checks": [name], "needs": needs.get(name, [])} for name in acts],
        {name: file_contains(f"{name}.txt") for name in acts},
    )

    done = project.yaoki("run", project.plan(plan), "--parallel", "2")

    assert done.code == 0, done.out + done.err
    assert [*noted(project, "a"), *noted(project, "b")] == [["stray.txt"]]
    changed = {name: noted(project, name, "CHECKOUT_CHANGED") for name in acts}
    assert [*changed["c"], *changed["d"]] == [["checkout/files (README)"]]
    assert (len(changed["e"]), len(changed["f"])) == (1, 1), "each is another change"


def noted(project: Project, task: str, event: str = "CHECKOUT_FILES_ADDED") -> list[list[str]]:
    return [e["data"]["what"] for e in project.events(task) if e["event"] == event]
