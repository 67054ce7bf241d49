"""The door: which words an agent gets for a failure, where they come from, and copies to edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from yaoki.core.model import CONTENT_KINDS, Failure, FailureKind, PromptFiles
from yaoki.core.prompt import describe_failure
from yaoki.core.settings.settings import LANGUAGES, PATTERNS
from yaoki.core.text import did_you_mean
from yaoki.errors import Fault, TemplateInvalid, Unknown
from yaoki.formats.prompts.engine import is_blank, load_template, render_template
from yaoki.formats.prompts.location import (
    EDITION,
    PART,
    STEM,
    TemplateFile,
    TemplateName,
    TemplateSearch,
    adaptation_of,
    template_path,
)
from yaoki.formats.prompts.samples import sample_failure
from yaoki.formats.prompts.template_source import read_template
from yaoki.formats.prompts.values import KINDS, template_values

SearchLevels = Sequence[Sequence[TemplateName]]
_ANY: SearchLevels = [[(EDITION, "")]]


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The words, the file they come from, each step of the search, and what went wrong if anything.

    Without a file (`path` is empty) the words are the built-in ones; so the attempt goes on
    whatever a template does.
    """

    text: str
    path: str
    steps: tuple[str, ...]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class TemplateView:
    """A template as it stands."""

    text: str
    path: str
    steps: tuple[str, ...]
    params: tuple[str, ...]


class PromptLibrary:
    """Templates for one language: the project's folder (`.yaoki/prompts`) over the shipped ones.

    Files are read when they are asked for, so an edit counts from the next attempt on.  `files`
    is what a plan says of their names.
    """

    def __init__(
        self, project: Path | None, language: str = "en", files: PromptFiles | None = None
    ) -> None:
        assert language in LANGUAGES, f"no words are shipped in {language!r}"
        self._project, self._language = project, language
        self._files = files or PromptFiles()
        self._stem = self._files.stem or STEM

    def write(self, failure: Failure, hints: Mapping[FailureKind, str]) -> RenderedPrompt:
        """The words about a failure; none for a kind that repeats the identical prompt."""
        if failure.kind not in CONTENT_KINDS:
            return RenderedPrompt("", "", (f"{failure.kind.value} repeats the identical prompt",))
        told = self._told([*self._called(failure), *_levels(failure)], failure, hints)
        own = hints.get(failure.kind, "")
        # The words of the settings go before ours; the built-in ones hold them already.
        return replace(told, text=f"{own}\n\n{told.text}") if own and told.path else told

    def try_template(self, name: str, failure: Failure, also: Iterable[str] = ()) -> RenderedPrompt:
        """What the template of this name makes of a failure."""
        return self._told(self._named(name, also), failure, {})

    def names(self) -> tuple[str, ...]:
        """What has a template: kinds, patterns, the project's own, and `failed` for the rest."""
        return tuple(dict.fromkeys((*KINDS, *PATTERNS, *self._own_names(), EDITION)))

    def view_template(self, name: str, also: Iterable[str] = ()) -> TemplateView:
        """The template of this name; `also` are names that need no file of their own."""
        search = self._search()
        source = read_template(_always(search.find(self._named(name, also))))
        return TemplateView(source.text, source.label, tuple(search.steps), tuple(source.params))

    def copy_shipped(
        self, target: Path, names: Iterable[str] = (), also: Iterable[str] = ()
    ) -> tuple[Path, ...]:
        """Copies of the shipped templates to edit; what stands there already is left alone."""
        chosen = list(names) or [*KINDS, *PATTERNS, EDITION]
        copies = [(self._shipped(name, also), target / self._path(name)) for name in chosen]
        return tuple(file for text, file in copies if _written(file, text))

    # -------------------------------------------------------------- inside

    def _search(self) -> TemplateSearch:
        return TemplateSearch(self._project, self._language, self._stem)

    def _told(
        self, levels: SearchLevels, failure: Failure, hints: Mapping[FailureKind, str]
    ) -> RenderedPrompt:
        search = self._search()
        hit = search.find(levels)
        if hit is None:
            return RenderedPrompt(describe_failure(failure, hints), "", tuple(search.steps))
        try:
            template = load_template(hit)
            words = render_template(template, template_values(failure, template.source.params))
            if is_blank(words):
                raise TemplateInvalid(hit.label, 1, f"says nothing of {failure.pattern or 'this'}")
        except TemplateInvalid as error:
            steps = (*search.steps, "built-in words: used")
            return RenderedPrompt(describe_failure(failure, hints), "", steps, error.sentence)
        return RenderedPrompt(words, hit.label, tuple(search.steps))

    def _named(self, name: str, also: Iterable[str]) -> SearchLevels:
        known = {*self.names(), *also}
        if name not in known or not PART.fullmatch(name):
            raise Unknown(
                f"there is no prompt {name[:80]!r}{did_you_mean(name, sorted(known))}",
                hint="yaoki prompts list; patterns of your own are named in yaoki.toml",
            )
        return _ANY if name == EDITION else _levels(sample_failure(name))

    def _called(self, failure: Failure) -> SearchLevels:
        """What the plan calls the words of this pattern; another edition has its own file."""
        edition, adaptation = self._files.names.get(failure.pattern, (EDITION, failure.pattern))
        if (edition, adaptation) == (EDITION, failure.pattern):
            return []
        own = [[(edition, adaptation)]]
        return own if edition == EDITION else [*own, [(edition, "")]]

    def _path(self, name: str) -> str:
        return template_path("" if name == EDITION else name, self._stem)

    def _shipped(self, name: str, also: Iterable[str]) -> str:
        """A pattern of one's own begins as a copy of the generic words."""
        levels = self._named(name, also)
        exact = name in {*KINDS, *PATTERNS, EDITION}
        return read_template(
            _always(TemplateSearch(None, self._language).find(levels if exact else _ANY))
        ).text

    def _own_names(self) -> list[str]:
        if self._project is None:
            return []
        folders = [self._project.joinpath(*self._stem)]
        folders.append(self._project.joinpath(self._language, *self._stem))
        found = {
            adaptation_of(file.name)
            for folder in folders
            if folder.is_dir()
            for file in folder.iterdir()
        }
        return sorted(name for name in found if name)


def _levels(failure: Failure) -> SearchLevels:
    """The pattern's own words; else those of its kind or of any failure."""
    kind = next(name for name, kind in KINDS.items() if kind is failure.kind)
    exact: SearchLevels = [[(EDITION, failure.pattern)]] if failure.pattern else []
    return [*exact, [(EDITION, kind), (EDITION, "")]]


def _always(hit: TemplateFile | None) -> TemplateFile:
    assert hit is not None, "words for any failure are shipped"
    return hit


def _written(file: Path, text: str) -> bool:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return False
    except OSError as error:
        words = f"{file} cannot be written: {error.strerror}"
        raise Fault(words, transient=False, hint="make its folder writable") from error
    return True
