"""Everything that is wrong with a folder of templates, said before a run needs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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
    TemplateFile,
    adaptation_of,
    template_path,
)
from yaoki.formats.prompts.samples import sample_failure
from yaoki.formats.prompts.values import COMMON_PARAMS, PARAMS, template_values

FILES_MAX = 1_000

# What each pattern of a plan gives besides; None: nobody can say.
ParamsByPattern = Mapping[str, Collection[str] | None]


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """What a file is looked for: a failure, its params (None: not known), and a sample of it."""

    name: str
    params: frozenset[str] | None
    sample_name: str | None = None


def check_templates(
    folder: Path,
    languages: Iterable[str] = ("en", "ja"),
    patterns: Iterable[str] = (),
    files: Iterable[PromptFiles] = (),
    params: ParamsByPattern | None = None,
) -> tuple[str, ...]:
    """Defects, ready to print: `file:line: why`.

    `patterns` are names besides the shipped ones, `files` where a plan looks besides the usual
    place, `given` the params of its patterns.
    """
    params = {**dict.fromkeys(patterns), **(params or {})}
    uses: dict[Path, dict[str, TemplateUse]] = {Path(*STEM): _usual(STEM, params)}
    # Thousands of steps may say the same of their files.
    for one in {(one.stem, tuple(sorted(one.names.items()))): one for one in files}.values():
        _add(uses, one, params)
    homes = (Path(), *(Path(language) for language in languages))
    placed = {home / place: held for place, held in uses.items() for home in homes}
    return tuple(
        f"{folder / defect}"
        for file in _files(folder)
        for defect in _of_file(folder, file.relative_to(folder), placed)
    )


def _usual(stem: Iterable[str], given: ParamsByPattern) -> dict[str, TemplateUse]:
    """The files of any task: its kinds, every pattern, and the rest."""
    found = {}
    for name in dict.fromkeys((*PARAMS, *given)):
        path = template_path(name, tuple(stem)).rpartition("/")[2]
        found[path] = TemplateUse(name, _params(name, given), name if name in PARAMS else None)
    return found


def _params(name: str, given: ParamsByPattern) -> frozenset[str] | None:
    """What a failure of this name gives; what a plan adds counts besides."""
    more = given.get(name, ())
    if name not in PARAMS and more is None:
        return None
    return frozenset((*PARAMS.get(name, COMMON_PARAMS), *(more or ())))


def _add(
    uses: dict[Path, dict[str, TemplateUse]], files: PromptFiles, given: ParamsByPattern
) -> None:
    stem = files.stem or STEM
    place = Path(*stem)
    if place not in uses:
        uses[place] = _usual(stem, given)
    held = uses[place]
    for pattern, (edition, adaptation) in files.names.items():
        named = (adaptation, pattern), ("", f"any failure of edition {edition!r}")
        for part, words in named if edition != EDITION else named[:1]:
            path = template_path(part, stem, edition).rpartition("/")[2]
            params = _params(pattern, given) if part else frozenset(COMMON_PARAMS)
            held[path] = _both(held.get(path), TemplateUse(words, params))


def _both(one: TemplateUse | None, other: TemplateUse) -> TemplateUse:
    """A file that serves two patterns may use only what both give."""
    if one is None or one.name == other.name:
        return one or other
    known = [use.params for use in (one, other) if use.params is not None]
    return TemplateUse(one.name, frozenset.intersection(*known) if known else None, one.sample_name)


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.rglob("*") if not file.is_dir())[:FILES_MAX]


def _of_file(
    folder: Path, file: Path, placed: Mapping[Path, Mapping[str, TemplateUse]]
) -> Iterator[str]:
    uses = placed.get(file.parent)
    if uses is None and _of_others(file, placed):
        return
    if uses is None or not (file.name in uses or adaptation_of(file.name) is not None):
        where = " or ".join(sorted(f"{place.as_posix()}/f_failed_NAME.md" for place in placed))
        yield f"{file}:1: is never looked for; templates stand at {where}"
        return
    use = uses.get(file.name)
    if use is None:
        name = adaptation_of(file.name) or ""
        near = did_you_mean(name, sorted(filter(None, (use.name for use in uses.values()))))
        yield f"{file}:1: no failure is called {name!r}{near}"
    try:
        template = load_template(TemplateFile(file.as_posix(), folder / file, folder))
    except TemplateInvalid as error:
        yield error.sentence
        return
    yield from _of_params(template, use or TemplateUse("", None))


def _of_others(file: Path, placed: Iterable[Path]) -> bool:
    """A file `steps/C2/C3/f_NAME.md` of a folder that this plan never looks in: another plan's."""
    homes = {place.parts[: -len(STEM)] for place in placed}
    fits = file.name.startswith("f_") and file.suffix == SUFFIX and len(file.parts) > len(STEM)
    head, stem = file.parts[: -len(STEM) - 1], file.parts[-len(STEM) - 1 : -1]
    return fits and head in homes and stem[0] == STEM[0]


def _of_params(template: Template, use: TemplateUse) -> Iterator[str]:
    label, declared = template.source.label, template.source.params
    for param in unused_params(template):
        yield f"{label}:{declared[param]}: param {param!r} is declared but never used"
    known = declared if use.params is None else use.params
    for param, line in declared.items():
        if param not in known:
            near = did_you_mean(param, sorted(known))
            yield f"{label}:{line}: {use.name or 'a failure'} gives no param {param!r}{near}"
    # Nobody knows what a value of an own extractor looks like, so only the usual ones are tried.
    if use.sample_name is not None and set(declared) <= {*PARAMS[use.sample_name]}:
        yield from _on_trial(template, use.sample_name)


def _on_trial(template: Template, name: str) -> Iterator[str]:
    """Once with everything, once with nothing: neither may break a run.

    With everything at hand it must say something.
    """
    for failure in (sample_failure(name), sample_failure(name, {})):
        try:
            words = render_template(template, template_values(failure, template.source.params))
        except TemplateInvalid as error:
            yield error.sentence
            return
        if is_blank(words) and failure.params:
            yield f"{template.source.label}:1: says nothing, although there is something to say"
            return
