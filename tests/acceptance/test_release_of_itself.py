"""A project whose dependencies contain a release of the project itself, as minimist's do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_init import a_program, commit_files, programs
from tests.acceptance.test_setup_settings import a_plan_for, count_installs

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.1")]

CODE = "module.exports = function minimist(args) { return parse(args.slice(0)); };\n"
FILES = {
    "index.js": CODE,
    "package.json": '{"name": "minimist", "version": "1.2.8"}',
    "package-lock.json": "{}",
    ".gitignore": "node_modules\n",
}
RECORD = {"packages": {"node_modules/minimist": {"version": "1.2.8", "integrity": "sha512-x"}}}
# The release is what the project was when it was published; npm writes its record last.
NPM = """\
echo "$PWD" >> "{folder}/npm.log"
mkdir -p node_modules/minimist
cp {folder}/release/* node_modules/minimist
sleep 0.05
printf '%s' '{record}' > node_modules/.package-lock.json
"""
CHANGE = "echo 'module.exports.more = 1;' >> index.js"


def a_project(project: Project) -> tuple[dict[str, str], Path]:
    commit_files(project, FILES)
    release = project.folder / "release"
    release.mkdir()
    for name in ("index.js", "package.json"):
        (release / name).write_text(FILES[name])
    env = programs(project, "mkdir", "cp", "cmp", "test")
    npm = NPM.format(folder=project.folder, record=json.dumps(RECORD))
    a_program(project.folder / "bin" / "npm", npm)
    return env, project.folder / "npm.log"


def test_a_release_of_the_project_itself_is_installed_once(project: Project) -> None:
    env, log = a_project(project)
    plan = a_plan_for(
        {"code": CHANGE, "readme": "echo more >> README.md"},
        setup=[["npm", "ci"]],
        checks={"c": {"run": ["test", "-f", "node_modules/minimist/index.js"]}},
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", env=env)

    assert done.code == 0, done.out + done.err
    assert count_installs(log) == 1


def test_sources_that_set_up_copies_over_the_release_are_never_stale(project: Project) -> None:
    """The check fails with the copy of another commit."""
    env, log = a_project(project)
    over = "npm ci && cp index.js node_modules/minimist"
    plan = a_plan_for(
        {"code": CHANGE},
        setup=[["sh", "-c", over]],
        checks={"same": {"run": ["cmp", "index.js", "node_modules/minimist/index.js"]}},
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", env=env)

    assert done.code == 0, done.out + done.err
    assert count_installs(log) >= 2
    reasons = [file.read_text() for file in project.folder.rglob("reason.txt")]
    assert reasons
    assert all(re.fullmatch(r"set-up reads index\.js, which changed", one) for one in reasons)


@pytest.mark.full
def test_the_reason_of_another_set_up_names_the_copied_file(project: Project) -> None:
    env, log = a_project(project)
    script = project.folder / "bin" / "build"
    a_program(script, "npm ci && cp index.js node_modules/minimist")
    plan = a_plan_for(
        {"code": CHANGE},
        setup=[["build"]],
        checks={"same": {"run": ["cmp", "index.js", "node_modules/minimist/index.js"]}},
    )

    done = project.yaoki("run", project.plan(plan), "--quiet", env=env)

    assert done.code == 0, done.out + done.err
    assert count_installs(log) >= 3
    reasons = {file.read_text() for file in project.folder.rglob("reason.txt")}
    words = "set-up output contains a copy of index.js: node_modules/minimist/index.js"
    assert reasons == {words}
