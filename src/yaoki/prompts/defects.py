"""Everything that is wrong with a folder of templates, said before a run needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from yaoki.core.nearest import did_you_mean
from yaoki.errors import TemplateInvalid
from yaoki.prompts.engine import Template, load, render, unused
from yaoki.prompts.place import STEM, Hit, adaptation_of
from yaoki.prompts.samples import sample
from yaoki.prompts.values import PARAMS, values

FILES_MAX = 1_000


def check_tree(
    folder: Path,
    languages: Iterable[str] = ("en", "ja"),
    patterns: Iterable[str] = (),
    stem: Sequence[str] = STEM,
) -> tuple[str, ...]:
    """Defects, ready to print: `file:line: why`.  `patterns` are names besides the shipped ones."""
    places = {Path(*stem), *(Path(language, *stem) for language in languages)}
    own = frozenset(patterns)
    return tuple(
        f"{folder / defect}"
        for file in _files(folder)
        for defect in _of_file(folder, file.relative_to(folder), places, own)
    )


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.rglob("*") if not file.is_dir())[:FILES_MAX]


def _of_file(folder: Path, file: Path, places: set[Path], own: frozenset[str]) -> Iterator[str]:
    name = adaptation_of(file.name)
    if file.parent not in places or name is None:
        where = " or ".join(sorted(f"{place.as_posix()}/f_failed_NAME.md" for place in places))
        yield f"{file}:1: is never looked for; templates stand at {where}"
        return
    if name not in PARAMS and name not in own:
        near = did_you_mean(name, (*filter(None, PARAMS), *own))
        yield f"{file}:1: no failure is called {name!r}{near}"
    try:
        template = load(Hit(file.as_posix(), folder / file, folder))
    except TemplateInvalid as error:
        yield error.sentence
        return
    yield from _of_params(template, name)
    if name in PARAMS:
        yield from _on_trial(template, name)


def _of_params(template: Template, name: str) -> Iterator[str]:
    label, declared = template.source.label, template.source.params
    for param in unused(template):
        yield f"{label}:{declared[param]}: param {param!r} is declared but never used"
    for param, line in declared.items():
        if name in PARAMS and param not in PARAMS[name]:
            near = did_you_mean(param, PARAMS[name])
            yield f"{label}:{line}: {name or 'a failure'} gives no param {param!r}{near}"


def _on_trial(template: Template, name: str) -> Iterator[str]:
    """Once with everything, once with nothing: neither may break a run."""
    for failure in (sample(name), sample(name, {})):
        try:
            render(template, values(failure, template.source.params))
        except TemplateInvalid as error:
            yield error.sentence
            return
