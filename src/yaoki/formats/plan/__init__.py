"""Plan files: a text becomes specs, or is refused with every defect at once.

The reader and its models are imported when a plan is read, so that other commands stay quick.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from yaoki.core.settings.settings import Settings
from yaoki.errors import PlanInvalid, SettingsInvalid
from yaoki.formats.plan.plan import Plan, PlanEnvironment, PromptRequirements

if TYPE_CHECKING:
    from yaoki.formats.plan.defects import Defects
    from yaoki.formats.plan.draft import JudgedDraft

    DraftReader = Callable[[Any, Settings, Defects, PlanEnvironment], JudgedDraft]

__all__ = [
    "Plan",
    "PlanEnvironment",
    "PromptRequirements",
    "check_settings",
    "load_plan",
    "parse_plan",
    "plan_schema",
    "read_document",
    "read_plan_file",
    "read_plan_stream",
]

EMPTY_ENVIRONMENT = PlanEnvironment()


def load_plan(
    path: Path, settings: Settings, environment: PlanEnvironment = EMPTY_ENVIRONMENT
) -> Plan:
    """The plan in a file; `PlanInvalid` names everything that is wrong with it."""
    return parse_plan(read_plan_file(path), str(path), settings, environment)


def read_document(text: str, name: str) -> tuple[Any, list[str]]:
    """Plain data of YAML or JSON, and what is wrong with it as it stands."""
    from yaoki.formats.plan.source import read_plan_data

    data, defects = read_plan_data(text, name)
    return data, list(defects.lines())


def read_plan_file(path: Path) -> str:
    """The text of a plan in a file."""
    try:
        with path.open("rb") as file:
            return read_plan_stream(file, str(path))
    except OSError as fault:
        reason = (fault.strerror or str(fault)).lower()
        look = f"look what is there: ls -l {shlex.quote(str(path.parent))}"
        raise PlanInvalid(f"{path} cannot be read: {reason}", hint=look) from fault


def read_plan_stream(stream: BinaryIO, name: str) -> str:
    """The text of a plan, within its bound; `name` stands before each defect."""
    from yaoki.formats.plan.source import BYTES_MAX

    raw = stream.read(BYTES_MAX + 1)
    if len(raw) > BYTES_MAX:
        raise _refused(name, [f"{name}: more than the limit of {BYTES_MAX} bytes"])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        column = fault.start - raw.rfind(b"\n", 0, fault.start)
        defect = f"{name}:{line}:{column}: byte 0x{raw[fault.start]:02x} is not UTF-8"
        raise _refused(name, [defect]) from fault


def parse_plan(
    text: str, name: str, settings: Settings, environment: PlanEnvironment = EMPTY_ENVIRONMENT
) -> Plan:
    """The plan in a text, native, a steps registry, or by its name a playbook; `name` stands
    before each defect.
    """
    from yaoki.formats.plan.build import build_plan

    raw, defects = _read(text, name)
    if raw is None and not defects.entries:
        defects.add_at((), "the plan is empty", (1, 1))
    if raw is None:
        raise _refused(name, defects.lines(), len(defects.entries))
    made = _choose_reader(raw, name)(raw, settings, defects, environment)
    prompts = environment.prompt_defects(made.prompt_requirements)
    below = made.draft.settings_defects
    if number := len(defects.entries) + len(below.entries) + len(prompts):
        raise _refused(name, (*defects.lines(), *below.lines(), *prompts), number)
    return made.finish(
        replace(build_plan(made.draft, text), prompt_requirements=made.prompt_requirements)
    )


def _is_markdown(name: str) -> bool:
    """Only playbooks are written in Markdown."""
    return PurePath(name).suffix.lower() in (".md", ".markdown")


def _read(text: str, name: str) -> tuple[Any, Defects]:
    if _is_markdown(name):
        from yaoki.formats.playbook import read_markdown

        return read_markdown(text, name)
    from yaoki.formats.plan.source import read_plan_data

    return read_plan_data(text, name)


def _choose_reader(raw: Any, name: str) -> DraftReader:
    """The models of the other two forms are slow to import, and most plans are native."""
    from yaoki.formats.plan.model import PlanModel
    from yaoki.formats.plan.native import read_native

    if _is_markdown(name):
        from yaoki.formats.playbook import read_playbook

        return read_playbook
    if isinstance(raw, dict) and not all(key in PlanModel.model_fields for key in raw):
        from yaoki.formats.registry import is_registry, read_registry

        return read_registry if is_registry(raw) else read_native
    return read_native


def _refused(name: str, lines: Sequence[str], number: int = 1) -> PlanInvalid:
    return PlanInvalid(
        f"{name}: {_counted(number)}, nothing was stored",
        hint=f"yaoki validate {name}",
        defects=lines,
    )


def _counted(number: int) -> str:
    return "1 defect" if number == 1 else f"{number} defects"


def check_settings(settings: Settings) -> None:
    """Refuse agents and checks of the settings that no plan could use."""
    from yaoki.formats.plan.defects import Defects
    from yaoki.formats.plan.draft import make_draft
    from yaoki.formats.plan.rules import judge_plan

    made = make_draft({}, settings, Defects(""))
    judge_plan(made)
    if made.settings_defects.entries:
        sentence = (
            f"{settings.source}: {_counted(len(made.settings_defects.entries))}, "
            f"nothing was started"
        )
        raise SettingsInvalid(
            sentence, hint=f"mend {settings.source}", defects=made.settings_defects.lines()
        )


def plan_schema() -> dict[str, Any]:
    """The shape of a plan as JSON Schema, in words that draft 7 knows."""
    from yaoki.formats.plan.schema import build_schema

    return build_schema()
