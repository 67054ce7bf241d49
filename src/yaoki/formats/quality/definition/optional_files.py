"""New files that a check of the base reads if they exist: environment files, sourced scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.product import Product
from yaoki.formats.quality.definition.reached_files import FileRole, ReachedFiles
from yaoki.formats.quality.model import Change

# Many programs read these without an option: just, docker compose, pipenv, bun, vite, mise.
_ENVIRONMENT = lazy_compile(
    r"(?:^|/)(?:\.env(?:\.[\w.-]+)?|[\w-]+\.env|\.envrc|\.flaskenv|\.?mise(?:\.local)?\.toml"
    r"|(?:docker-)?compose\.override\.ya?ml)$"
)
# People copy these; no program reads them.
_TEMPLATE = lazy_compile(r"\.(?:example|sample|template|dist)$")
_READING = frozenset(FileRole) - {FileRole.DATA, FileRole.PROGRAM}


def find_optional_files(
    changes: Sequence[Change], before: ReachedFiles, after: ReachedFiles, product: Product
) -> Iterator[str]:
    """Without them the check must pass, too.  A file that the goal names is the work itself."""
    for change in changes:
        path = change.path
        if change.before is not None or product.is_named(path, literally=True):
            continue
        environment = _ENVIRONMENT.search(path) and not _TEMPLATE.search(path)
        if environment or (path in after.sourced_files and _reads(path, before, product.base)):
            yield path


def _reads(path: str, before: ReachedFiles, base: FileIndex) -> bool:
    """Do the commands or scripts of the base name the file, which they do not have?"""
    name = path.rsplit("/", 1)[-1]
    files = (base.text(one) for one, role in before.roles.items() if role in _READING)
    return any(name in text for text in (*before.commands, *files))
