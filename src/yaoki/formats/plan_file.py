"""Plan files of every format: reads the text, picks the format, and returns the plan.

A plan is native YAML or JSON, a steps registry, or a Markdown playbook.  The readers are imported
when a plan is read, so that other commands start fast.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from yaoki.core.lazy_dataclass import replace
from yaoki.core.text import format_count, nearest
from yaoki.errors import PlanInvalid
from yaoki.formats.plan import Plan, PlanEnvironment

if TYPE_CHECKING:
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.plan.defects import Defects
    from yaoki.formats.plan.draft import JudgedDraft

    DraftReader = Callable[[Any, Settings, Defects, PlanEnvironment], JudgedDraft]

EMPTY_ENVIRONMENT = PlanEnvironment()
NO_PLAN = (
    "this is no plan: a plan is YAML or JSON with the keys goal and tasks; "
    'to have a goal planned: yaoki run "GOAL"'
)


def load_plan(
    path: Path, settings: Settings, environment: PlanEnvironment = EMPTY_ENVIRONMENT
) -> Plan:
    """The plan in a file; `PlanInvalid` lists every problem."""
    return parse_plan(read_plan_file(path), str(path), settings, environment)


def read_plan_file(path: Path) -> str:
    """The text of a plan file."""
    try:
        with path.open("rb") as file:
            return read_plan_stream(file, str(path))
    except OSError as error:
        reason = f"{(error.strerror or str(error)).lower()}{_similar_file(path)}"
        hint = f"list the folder: ls -l {shlex.quote(str(path.parent))}"
        raise PlanInvalid(f"{path} cannot be read: {reason}", hint=hint) from error


def _similar_file(path: Path) -> str:
    """The file of the same folder that was probably meant, such as plan.yaml for plan.yml."""
    if path.exists() or not path.parent.is_dir():
        return ""
    files = [file.name for file in path.parent.iterdir() if file.is_file()]
    near = next((name for name in files if PurePath(name).stem == path.name), "")
    near = near or nearest(path.name, files)
    return f"; did you mean {str(path.with_name(near))!r}?" if near else ""


def read_plan_stream(stream: BinaryIO, name: str) -> str:
    """The text of a plan, up to the size limit; each problem is prefixed with `name`."""
    from yaoki.formats.plan.source import BYTES_MAX

    raw = stream.read(BYTES_MAX + 1)
    if len(raw) > BYTES_MAX:
        raise _invalid(name, [f"{name}: more than the limit of {BYTES_MAX} bytes"])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        defect = f"{name}:{line}:{column}: byte 0x{raw[error.start]:02x} is not UTF-8"
        raise _invalid(name, [defect]) from error


def parse_plan(
    text: str, name: str, settings: Settings, environment: PlanEnvironment = EMPTY_ENVIRONMENT
) -> Plan:
    """The plan in a text; `name` selects the playbook format and prefixes each problem."""
    from yaoki.formats.plan.build import build_plan

    raw, defects = _read(text, name)
    if raw is None and not defects.entries:
        defects.add_at((), "the plan is empty", (1, 1))
    if isinstance(raw, str):
        # YAML reads plain text, and most of TOML, as one value.
        defects.add_at((), NO_PLAN, (1, 1))
        raw = None
    if raw is None:
        raise _invalid(name, defects.lines(), len(defects.entries))
    reading = _choose_reader(raw, name)(raw, settings, defects, environment)
    prompts = environment.prompt_defects(reading.prompt_requirements)
    below = reading.draft.settings_defects
    if number := len(defects.entries) + len(below.entries) + len(prompts):
        if _is_checklist(text, name):
            # Nobody needs the list of what a checklist lacks as a playbook.
            hint = f"make a plan of it: yaoki plan import {shlex.quote(name)}"
            raise PlanInvalid(f"{name} is a checklist, not a plan", hint=hint)
        lines = (*defects.lines(), *below.lines(), *prompts)
        lacks = reading.draft.defects.lacks_settings
        raise _invalid(name, lines, number, lacks_settings=lacks)
    plan = build_plan(reading.draft, text)
    return reading.finish(replace(plan, prompt_requirements=reading.prompt_requirements))


def _is_markdown(name: str) -> bool:
    """Only playbooks are written in Markdown."""
    return PurePath(name).suffix.lower() in (".md", ".markdown")


def _is_checklist(text: str, name: str) -> bool:
    """People name their list of tasks as the plan; it has to be imported first."""
    if not _is_markdown(name):
        return False
    from yaoki.formats.imports.checklist import is_playbook, looks_like

    return looks_like(text) and not is_playbook(text)


def _read(text: str, name: str) -> tuple[Any, Defects]:
    if _is_markdown(name):
        from yaoki.formats.playbook import read_markdown

        return read_markdown(text, name)
    from yaoki.formats.plan.source import read_plan_data

    return read_plan_data(text, name)


def _choose_reader(raw: Any, name: str) -> DraftReader:
    """The models of the other two formats are slow to import, and most plans are native."""
    from yaoki.formats.plan.native import read_native
    from yaoki.formats.plan.quick_part import load_shapes

    if _is_markdown(name):
        from yaoki.formats.playbook import read_playbook

        return read_playbook
    if isinstance(raw, dict) and not all(key in load_shapes()["PlanModel"] for key in raw):
        from yaoki.formats.registry import is_registry, read_registry

        return read_registry if is_registry(raw) else read_native
    return read_native


def _invalid(
    name: str, lines: Sequence[str], number: int = 1, *, lacks_settings: bool = False
) -> PlanInvalid:
    return PlanInvalid(
        f"{name}: {format_count(number, 'problem')} found",
        hint=f"yaoki validate {shlex.quote(name)}",
        defects=lines,
        lacks_settings=lacks_settings,
    )
