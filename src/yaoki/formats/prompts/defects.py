"""Checks a folder of templates before a run needs them, and reports every defect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import PromptFiles
from yaoki.core.text import did_you_mean
from yaoki.errors import TemplateInvalid
from yaoki.formats.prompts.engine import (
    Template,
    is_blank,
    load_template,
    render_template,
    unused_params,
)
from yaoki.formats.prompts.location import (
    EDITION,
    STEM,
    SUFFIX,
    VARIANT_MARK,
    TemplateFile,
    adaptation_of,
    template_path,
    variant_of,
)
from yaoki.formats.prompts.samples import sample_failure
from yaoki.formats.prompts.values import COMMON_PARAMS, PARAMS, template_values

FILES_MAX = 1_000

# The extra params of each pattern of a plan; None: unknown.
ParamsByPattern = Mapping[str, Collection[str] | None]


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """The failure that a file is for, its params (None: unknown), and the name of a sample."""

    name: str
    params: frozenset[str] | None
    sample_name: str | None = None


def check_templates(
    folder: Path,
    languages: Iterable[str] = ("en", "ja"),
    patterns: Iterable[str] = (),
    files: Iterable[PromptFiles] = (),
    params: ParamsByPattern | None = None,
    *,
    ignore_plan_files: bool = False,
) -> tuple[str, ...]:
    """The defects, ready to print: `file:line: reason`.

    `patterns` are names besides the shipped ones, `files` the additional places of a plan,
    `params` the params of its patterns.  With `ignore_plan_files` an unused `f_NAME.md` is no
    defect: a plan that is not known here may use it.
    """
    params = {**dict.fromkeys(patterns), **(params or {})}
    uses: dict[Path, dict[str, TemplateUse]] = {Path(*STEM): _default_uses(STEM, params)}
    # Thousands of steps may name the same files.
    for one in {(one.stem, tuple(sorted(one.names.items()))): one for one in files}.values():
        _add(uses, one, params)
    homes = (Path(), *(Path(language) for language in languages))
    placed = {home / place: files for place, files in uses.items() for home in homes}
    return tuple(
        f"{folder / defect}"
        for file in _files(folder)
        for defect in _file_defects(
            folder, file.relative_to(folder), placed, ignore_plan_files=ignore_plan_files
        )
    )


def _default_uses(stem: Iterable[str], plan_params: ParamsByPattern) -> dict[str, TemplateUse]:
    """The files of any task: one for each kind and pattern, and the generic one."""
    uses = {}
    for name in dict.fromkeys((*PARAMS, *plan_params)):
        path = template_path(name, tuple(stem)).rpartition("/")[2]
        uses[path] = TemplateUse(name, _params(name, plan_params), name if name in PARAMS else None)
    return uses


def _params(name: str, plan_params: ParamsByPattern) -> frozenset[str] | None:
    """The params of a failure of this name, including those that a plan adds."""
    more = plan_params.get(name, ())
    if name not in PARAMS and more is None:
        return None
    return frozenset((*PARAMS.get(name, COMMON_PARAMS), *(more or ())))


def _add(
    uses: dict[Path, dict[str, TemplateUse]], files: PromptFiles, plan_params: ParamsByPattern
) -> None:
    stem = files.stem or STEM
    place = Path(*stem)
    if place not in uses:
        uses[place] = _default_uses(stem, plan_params)
    known = uses[place]
    for pattern, (edition, adaptation) in files.names.items():
        named = (adaptation, pattern), ("", f"any failure of edition {edition!r}")
        for part, words in named if edition != EDITION else named[:1]:
            path = template_path(part, stem, edition).rpartition("/")[2]
            params = _params(pattern, plan_params) if part else frozenset(COMMON_PARAMS)
            known[path] = _merge(known.get(path), TemplateUse(words, params))


def _merge(one: TemplateUse | None, other: TemplateUse) -> TemplateUse:
    """A file for two patterns may use only the params of both."""
    if one is None or one.name == other.name:
        return one or other
    known = [use.params for use in (one, other) if use.params is not None]
    return TemplateUse(one.name, frozenset.intersection(*known) if known else None, one.sample_name)


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.rglob("*") if not file.is_dir())[:FILES_MAX]


def _file_defects(
    folder: Path,
    file: Path,
    placed: Mapping[Path, Mapping[str, TemplateUse]],
    *,
    ignore_plan_files: bool,
) -> Iterator[str]:
    uses = _with_variant(placed.get(file.parent), file.name)
    if uses is None and _belongs_to_another_plan(file, placed):
        return
    if uses is None or not (file.name in uses or adaptation_of(file.name) is not None):
        if ignore_plan_files and file.name.startswith("f_"):
            return
        where = " or ".join(sorted(f"{place.as_posix()}/f_failed_NAME.md" for place in placed))
        yield f"{file}:1: is never used; templates are at {where}"
        return
    use = uses.get(file.name)
    if use is None:
        name = adaptation_of(file.name) or ""
        near = did_you_mean(name, sorted(filter(None, (use.name for use in uses.values()))))
        yield f"{file}:1: there is no failure {name!r}{near}"
    try:
        template = load_template(TemplateFile(file.as_posix(), folder / file, folder))
    except TemplateInvalid as error:
        yield error.sentence
        return
    yield from _param_defects(template, use or TemplateUse("", None))


def _with_variant(
    uses: Mapping[str, TemplateUse] | None, name: str
) -> Mapping[str, TemplateUse] | None:
    """A further template for a pattern has the params of the first one."""
    base = name.partition(VARIANT_MARK)[0] + SUFFIX
    if uses is None or not variant_of(name) or base not in uses:
        return uses
    return {**uses, name: uses[base]}


def _belongs_to_another_plan(file: Path, placed: Iterable[Path]) -> bool:
    """A file `steps/C2/C3/f_NAME.md` in a folder that this plan does not use."""
    homes = {place.parts[: -len(STEM)] for place in placed}
    fits = file.name.startswith("f_") and file.suffix == SUFFIX and len(file.parts) > len(STEM)
    head, stem = file.parts[: -len(STEM) - 1], file.parts[-len(STEM) - 1 : -1]
    return fits and head in homes and stem[0] == STEM[0]


def _param_defects(template: Template, use: TemplateUse) -> Iterator[str]:
    label, declared = template.source.label, template.source.params
    for param in unused_params(template):
        yield f"{label}:{declared[param]}: param {param!r} is declared but never used"
    known = declared if use.params is None else use.params
    for param, line in declared.items():
        if param not in known:
            near = did_you_mean(param, sorted(known))
            yield f"{label}:{line}: {use.name or 'a failure'} has no param {param!r}{near}"
    # Values of a plan's own extractors are unknown, so only the built-in params are tried.
    if use.sample_name is not None and set(declared) <= {*PARAMS[use.sample_name]}:
        yield from _render_defects(template, use.sample_name)


def _render_defects(template: Template, name: str) -> Iterator[str]:
    """Render with all values and with none; neither may fail.

    With all values, the text must not be empty.
    """
    for failure in (sample_failure(name), sample_failure(name, {})):
        try:
            words = render_template(template, template_values(failure, template.source.params))
        except TemplateInvalid as error:
            yield error.sentence
            return
        if is_blank(words) and failure.params:
            yield f"{template.source.label}:1: renders an empty text for a sample failure"
            return
