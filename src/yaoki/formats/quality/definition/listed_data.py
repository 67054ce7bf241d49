"""Data that tests find by listing a folder: `for file in Path("data").glob("*.json")`.

No test names such a file, so an edited, moved or deleted case is easy to miss.  Whether the case is
still made cannot be read from the text: the check must also pass with the base's version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from posixpath import basename, dirname

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality import loosened_settings
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.product import CODE, Product
from yaoki.formats.quality.definition.reached_files import FileRole
from yaoki.formats.quality.definition.references import string_literals
from yaoki.formats.quality.definition.roles import file_ending
from yaoki.formats.quality.suites import is_test_path

READERS_MAX = 2_000
_LISTS = lazy_compile(
    r"\b(?:i?glob|rglob|listdir|iterdir|scandir|walk|readdir(?:Sync)?|globSync|opendir(?:Sync)?|fg"
    r"|Glob|ReadDir|WalkDir|Walk|read_dir|scandir|list_?[fF]iles|newDirectoryStream)\b"
    r"|\bDir(?:\[|\.(?:each|children|entries))|\bFiles\.(?:list|walk)|\bfor\s+\w+\s+in\s[^\n;]*\*"
)
_READS = lazy_compile(
    r"\bopen\b|\bPath\b|read|[gG]lob|join|resource|include_str|embed|listdir|iterdir|package_data|fetch"
)
_WILD = lazy_compile(r"[\w.$\{}()/-]*/[\w.*?\[\]-]*\*[\w.*?/-]*")
_PROSE = frozenset({"md", "rst", "adoc", "lock"})
_ROLES = (FileRole.TEST, FileRole.SUPPORT, FileRole.SCRIPT)


def find_listed_data(changed: Iterable[str], product: Product) -> frozenset[str]:
    """The changed data of the base that tests find by listing their folder."""
    base = product.base
    data = {path for path in changed if path in base.paths and _may_be_case(path)}
    if not data:
        return frozenset()
    found: set[str] = set()
    for path, folders in _listings(product):
        if product.runs_program(path):
            found |= {one for one in data if _is_below(one, folders)}
    parts = _parts_in_program(product) if found else frozenset()
    return frozenset(
        one
        for one in found
        if parts.isdisjoint((basename(one), basename(dirname(one)))) and not product.is_named(one)
    )


def _may_be_case(path: str) -> bool:
    is_code = CODE.search(path) is not None or is_test_path(basename(path))
    is_prose = file_ending(path) in _PROSE or basename(path).startswith(".")
    return not (is_code or is_prose or loosened_settings.knows_settings(path))


def _listings(product: Product) -> Iterator[tuple[str, frozenset[str]]]:
    """The tests and scripts that list files, each with the folders that it names."""
    roles, base = product.reach.roles, product.base
    readers = {path for path, role in roles.items() if role in _ROLES}
    readers |= {path for path in base.paths if is_test_path(path)}
    for path in sorted(one for one in readers if _is_program(one))[:READERS_MAX]:
        text = base.text(path)
        if _LISTS.search(text):
            yield path, frozenset(_folders(text, path, base))


def _is_program(path: str) -> bool:
    return CODE.search(path) is not None or not file_ending(path)


def _folders(text: str, path: str, base: FileIndex) -> Iterator[str]:
    """The folders that the text names, also as the start of a pattern."""
    for word in {*string_literals(text), *(hit[0] for hit in _WILD.finditer(text))}:
        fixed = word.partition("*")[0].rpartition("/")[0] if "*" in word else word.rstrip("/")
        if folder := base.find_folder(fixed, (dirname(path), "")):
            yield folder


def _is_below(path: str, folders: Collection[str]) -> bool:
    above = dirname(path)
    while above and above not in folders:
        above = dirname(above)
    return bool(above)


def _parts_in_program(product: Product) -> frozenset[str]:
    """The names in the paths that the program reads: such data is no case of the tests."""
    texts = (text for text in product.program_texts() if _READS.search(text))
    return frozenset(
        part for text in texts for one in string_literals(text) for part in _split(one)
    )


def _split(literal: str) -> list[str]:
    return literal.split("/") if len(literal) < 200 else []
