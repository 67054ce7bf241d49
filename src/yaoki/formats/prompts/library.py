"""The prompt library: the text about a failure, its template, and copies of templates to edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CONTENT_KINDS, Failure, FailureKind, PromptFiles
from yaoki.core.model.patterns import PATTERNS
from yaoki.core.prompt import describe_failure
from yaoki.core.settings.settings import LANGUAGES
from yaoki.core.text import did_you_mean
from yaoki.errors import Fault, TemplateInvalid, Unknown
from yaoki.formats.prompts.engine import is_blank, load_template, render_template
from yaoki.formats.prompts.location import (
    BUILT_IN,
    EDITION,
    PART,
    STEM,
    TemplateFile,
    TemplateName,
    TemplateSearch,
    adaptation_of,
    find_variants,
    template_path,
)
from yaoki.formats.prompts.samples import sample_failure
from yaoki.formats.prompts.template_source import read_template
from yaoki.formats.prompts.values import KINDS, template_values

SearchLevels = Sequence[Sequence[TemplateName]]
_ANY: SearchLevels = [[(EDITION, "")]]


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The text, its template, the steps of the search, and the fault if there was one.

    If `path` is empty the text is the built-in one, so a bad template never stops an attempt.
    """

    text: str
    path: str
    steps: tuple[str, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class TemplateView:
    """A template and the steps of the search for it."""

    text: str
    path: str
    steps: tuple[str, ...]
    params: tuple[str, ...]


class PromptLibrary:
    """Templates for one language: the project's folder (`.yaoki/prompts`) over the shipped ones.

    Files are read for each attempt, so an edit takes effect at the next one.  `files` are the
    names that a plan gives them.
    """

    def __init__(
        self, project: Path | None, language: str = "en", files: PromptFiles | None = None
    ) -> None:
        assert language in LANGUAGES, f"there are no templates in {language!r}"
        self._project, self._language = project, language
        self._files = files or PromptFiles()
        self._stem = self._files.stem or STEM

    def write(
        self, failure: Failure, hints: Mapping[FailureKind, str], template: str = ""
    ) -> RenderedPrompt:
        """The text about a failure; empty for a kind that repeats the identical prompt.

        `template` is one of the further templates for its pattern, by its label.
        """
        if failure.kind not in CONTENT_KINDS:
            return RenderedPrompt("", "", (f"{failure.kind.value} repeats the identical prompt",))
        further = next((hit for hit in self._variants(failure) if hit.label == template), None)
        prompt = (
            self._render_file(further, failure, hints, [f"{further.label}: drawn"])
            if further
            else self._render(self._all_levels(failure), failure, hints)
        )
        hint = hints.get(failure.kind, "")
        # The hint of the settings comes first; the built-in text already contains it.
        if not (hint and prompt.path):
            return prompt
        return replace(prompt, text=f"{hint}\n\n{prompt.text}")

    def fitting_templates(self, failure: Failure) -> tuple[str, ...]:
        """The usual template for a failure and the further ones of the project for its pattern.

        Empty where only the usual one fits.
        """
        variants = self._variants(failure) if failure.kind in CONTENT_KINDS else []
        usual = self._search().find(self._all_levels(failure)) if variants else None
        return (usual.label, *(hit.label for hit in variants)) if usual else ()

    def _variants(self, failure: Failure) -> list[TemplateFile]:
        if not failure.pattern:
            return []
        return find_variants(self._project, self._language, self._stem, failure.pattern)

    def _all_levels(self, failure: Failure) -> SearchLevels:
        return [*self._plan_levels(failure), *_levels(failure)]

    def try_template(self, name: str, failure: Failure, also: Iterable[str] = ()) -> RenderedPrompt:
        """Render the template of this name for a failure."""
        return self._render(self._levels_of(name, also), failure, {})

    def names(self) -> tuple[str, ...]:
        """The names of all templates: kinds, patterns, the project's own, and `failed`."""
        return tuple(dict.fromkeys((*KINDS, *PATTERNS, *self._own_names(), EDITION)))

    def view_template(self, name: str, also: Iterable[str] = ()) -> TemplateView:
        """The template of this name; `also` are further valid names, with or without a file."""
        search = self._search()
        source = read_template(_always(search.find(self._levels_of(name, also))))
        return TemplateView(source.text, source.label, tuple(search.steps), tuple(source.params))

    def copy_shipped(
        self, target: Path, names: Iterable[str] = (), also: Iterable[str] = ()
    ) -> tuple[Path, ...]:
        """Copy shipped templates to edit them; existing files are not overwritten."""
        chosen = list(names) or [*KINDS, *PATTERNS, EDITION]
        copies = [(self._shipped(name, also), target / self._path(name)) for name in chosen]
        return tuple(file for text, file in copies if _write_new(file, text))

    def _search(self) -> TemplateSearch:
        return TemplateSearch(self._project, self._language, self._stem)

    def _render(
        self, levels: SearchLevels, failure: Failure, hints: Mapping[FailureKind, str]
    ) -> RenderedPrompt:
        search = self._search()
        hit = search.find(levels)
        if hit is None:
            return RenderedPrompt(describe_failure(failure, hints), "", tuple(search.steps))
        return self._render_file(hit, failure, hints, search.steps)

    def _render_file(
        self,
        hit: TemplateFile,
        failure: Failure,
        hints: Mapping[FailureKind, str],
        steps: Sequence[str],
    ) -> RenderedPrompt:
        try:
            template = load_template(hit)
            words = render_template(template, template_values(failure, template.source.params))
            if is_blank(words):
                pattern = failure.pattern or "this failure"
                raise TemplateInvalid(hit.label, 1, f"renders an empty text for {pattern}")
        except TemplateInvalid as error:
            steps = (*steps, f"{BUILT_IN}: used")
            return RenderedPrompt(describe_failure(failure, hints), "", steps, error.sentence)
        return RenderedPrompt(words, hit.label, tuple(steps))

    def _levels_of(self, name: str, also: Iterable[str]) -> SearchLevels:
        known = {*self.names(), *also}
        if name not in known or not PART.fullmatch(name):
            raise Unknown(
                f"there is no prompt {name[:80]!r}{did_you_mean(name, sorted(known))}",
                hint="yaoki prompts list; name your own patterns in yaoki.toml",
            )
        return _ANY if name == EDITION else _levels(sample_failure(name))

    def _plan_levels(self, failure: Failure) -> SearchLevels:
        """The names that the plan gives the template of this pattern, if any."""
        edition, adaptation = self._files.names.get(failure.pattern, (EDITION, failure.pattern))
        if (edition, adaptation) == (EDITION, failure.pattern):
            return []
        own = [[(edition, adaptation)]]
        return own if edition == EDITION else [*own, [(edition, "")]]

    def _path(self, name: str) -> str:
        return template_path("" if name == EDITION else name, self._stem)

    def _shipped(self, name: str, also: Iterable[str]) -> str:
        """The text to copy; for a project's own pattern, the generic template."""
        levels = self._levels_of(name, also)
        exact = name in {*KINDS, *PATTERNS, EDITION}
        return read_template(
            _always(TemplateSearch(None, self._language).find(levels if exact else _ANY))
        ).text

    def _own_names(self) -> list[str]:
        if self._project is None:
            return []
        folders = [self._project.joinpath(*self._stem)]
        folders.append(self._project.joinpath(self._language, *self._stem))
        names = {
            adaptation_of(file.name)
            for folder in folders
            if folder.is_dir()
            for file in folder.iterdir()
        }
        return sorted(name for name in names if name)


def _levels(failure: Failure) -> SearchLevels:
    """The template of the pattern; else that of the kind, or of any failure."""
    kind = next(name for name, kind in KINDS.items() if kind is failure.kind)
    exact: SearchLevels = [[(EDITION, failure.pattern)]] if failure.pattern else []
    return [*exact, [(EDITION, kind), (EDITION, "")]]


def _always(hit: TemplateFile | None) -> TemplateFile:
    assert hit is not None, "there is a shipped template for any failure"
    return hit


def _write_new(file: Path, text: str) -> bool:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}"
        raise Fault(message, transient=False, hint="make its folder writable") from error
    return True
