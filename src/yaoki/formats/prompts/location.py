"""Finds template files: `{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md`, the project's first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

SHIPPED_FOLDER = Path(__file__).parent / "shipped"
STEM = ("steps", "retry", "issue")
EDITION = "failed"
SUFFIX = ".md"
# The last step of a search that found no file.
BUILT_IN = "built-in words"
# The project's own templates, relative to the top of the repository.
PROJECT_FOLDER = ".yaoki/prompts"
# No part may leave its folder or be hidden: it begins with a letter or a digit.
PART = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

# `f_failed_NAME+WORD.md` is a further template for NAME.  No pattern has this character.
VARIANT_MARK = "+"
VARIANTS_MAX = 8

# Edition and adaptation; an empty adaptation means the edition's own file.
TemplateName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A template file; `label` names it without a path of this machine."""

    label: str
    file: Path
    folder: Path


def template_path(adaptation: str = "", stem: Sequence[str] = STEM, edition: str = EDITION) -> str:
    """The path below a template folder; an empty adaptation means the edition's own file."""
    parts = (*stem, edition, *([adaptation] if adaptation else []))
    bad = next((part for part in parts if not PART.fullmatch(part)), None)
    assert bad is None, f"{bad!r} cannot be part of a path"
    return "/".join((*stem, f"f_{'_'.join(parts[len(stem) :])}{SUFFIX}"))


def adaptation_of(name: str, edition: str = EDITION) -> str | None:
    """The adaptation in a file name: empty for the edition's own file, None for other names."""
    stem = name.removesuffix(SUFFIX)
    if stem == name or not stem.startswith(f"f_{edition}"):
        return None
    rest = stem.removeprefix(f"f_{edition}")
    if not rest:
        return ""
    return rest[1:] if rest[0] == "_" and PART.fullmatch(rest[1:]) else None


def variant_of(name: str, edition: str = EDITION) -> str | None:
    """The adaptation that a further template is for; None for other file names."""
    base, mark, word = name.removesuffix(SUFFIX).partition(VARIANT_MARK)
    if not mark or not name.endswith(SUFFIX) or not PART.fullmatch(word):
        return None
    return adaptation_of(base + SUFFIX, edition)


def find_variants(
    project: Path | None, language: str, stem: Sequence[str], adaptation: str
) -> list[TemplateFile]:
    """The further templates for a pattern; of a name in both folders, that of the language."""
    if project is None:
        return []
    found: dict[str, TemplateFile] = {}
    for home in (f"{language}/", ""):
        folder = project.joinpath(home, *stem)
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            if variant_of(file.name) == adaptation:
                label = f"{PROJECT_FOLDER}/{home}{'/'.join(stem)}/{file.name}"
                found.setdefault(file.name, TemplateFile(label, file, project))
    return list(found.values())[:VARIANTS_MAX]


class TemplateSearch:
    """Searches for a template and records each step."""

    def __init__(self, project: Path | None, language: str, stem: Sequence[str] = STEM) -> None:
        self._project, self._language, self._stem = project, language, stem
        self.steps: list[str] = []

    def find(self, levels: Iterable[Sequence[TemplateName]]) -> TemplateFile | None:
        """The first file that exists, level by level; on a level the project's files come first."""
        for level in levels:
            for hit in self._candidates([name for name in level if self._is_valid(name)]):
                exists = _exists(hit.file)
                self.steps.append(f"{hit.label}: {'used' if exists else 'absent'}")
                if exists:
                    return hit
        self.steps.append(f"{BUILT_IN}: used")
        return None

    def _is_valid(self, name: TemplateName) -> bool:
        bad = next((part for part in name if part and not PART.fullmatch(part)), None)
        if bad is not None:
            self.steps.append(f"{bad[:80]!r} cannot be part of a path")
        return bad is None

    def _candidates(self, level: Sequence[TemplateName]) -> Iterator[TemplateFile]:
        for edition, adaptation in level:
            path = template_path(adaptation, self._stem, edition)
            for below in (f"{self._language}/{path}", path):
                if self._project is not None:
                    yield TemplateFile(
                        f"{PROJECT_FOLDER}/{below}", self._project / below, self._project
                    )
        for edition, adaptation in level:
            path = f"{self._language}/{template_path(adaptation, STEM, edition)}"
            yield TemplateFile(f"shipped/{path}", SHIPPED_FOLDER / path, SHIPPED_FOLDER)


def _exists(file: Path) -> bool:
    """A file that cannot be examined counts as existing, so that reading it reports the reason."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
