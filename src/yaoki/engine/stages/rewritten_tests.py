"""Runs a check that passed once more, with other texts of its Python test files (rule 17.9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import join, normpath

from yaoki.core.commands.test_runners import find_test_runners
from yaoki.core.decide.integrity import has_test_count
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckRunPurpose, CheckSpec, Finding, OnFailure
from yaoki.core.model.check_definition import TreeView
from yaoki.core.scope import is_in_scope
from yaoki.engine.stages.proof_room import ProofCheck
from yaoki.ports import CheckFacts, QualityCriteria

FILES_MAX = 2_000
UNREADABLE = "\ufffd"
PYTHON_RUNNERS = frozenset({"pytest", "unittest"})

# The new text of the file with this path and text; None for a file that stays as it is.
TestRewrite = Callable[[str, str], str | None]


def runs_tests(spec: CheckSpec, normal: Finding) -> bool:
    """A linter has no tests that could fail."""
    return has_test_count(normal) or runs_python_tests(spec)


def runs_python_tests(spec: CheckSpec) -> bool:
    return bool(PYTHON_RUNNERS.intersection(find_test_runners(spec.argv, spec.shell)))


def name_files(spec: CheckSpec, normal: Finding) -> tuple[str, ...]:
    """The files of the tests that the result names as `path::test`."""
    names = (name.partition("::") for name in normal.passing_tests)
    paths = (normpath(join(spec.cwd, path)) for path, _, _ in names)
    return tuple(dict.fromkeys(paths))


class RewrittenTests:
    """The test files of one commit."""

    def __init__(self, quality: QualityCriteria, tree: TreeView, facts: CheckFacts) -> None:
        self._quality, self._tree, self._facts = quality, tree, facts

    def files(self, spec: CheckSpec, normal: Finding, rewrite: TestRewrite) -> dict[str, str]:
        """The new texts by their paths, also of other files whose tests the result names."""
        named = set(name_files(spec, normal))
        paths = [
            path
            for path in sorted(self._tree.paths)
            if (path in named or self._quality.is_python_test_file(path))
            and (not spec.inputs or is_in_scope(path, spec.inputs))
        ]
        # Those with tests that the check names first, where there are too many.
        paths.sort(key=lambda path: path not in named)
        texts = ((path, self.text(path)) for path in paths[:FILES_MAX])
        made = ((path, rewrite(path, text)) for path, text in texts)
        return {path: text for path, text in made if text is not None}

    def text(self, path: str) -> str:
        """A file that is no text is as unreadable as one with other characters than UTF-8."""
        found = self._tree.read(path)
        return UNREADABLE if found is None else found

    def unread(
        self, spec: CheckSpec, normal: Finding, is_unread: Callable[[str, str, bool], bool]
    ) -> tuple[str, ...]:
        """The test files that the check runs and that are not in the commit, or that `is_unread`
        says of their path, their text, and whether the check names them.
        """
        named = [path for path in name_files(spec, normal) if path.endswith(".py")]
        made = (path for path in named if path not in self._tree.paths)
        shown = (path for path in self._tree.paths if self._quality.is_python_test_file(path))
        there = sorted(self._tree.paths.intersection(named) if named else shown)
        read = (path for path in there[:FILES_MAX] if is_unread(path, self.text(path), bool(named)))
        return (*made, *read)

    def run(
        self, check: ProofCheck, files: Mapping[str, str], rewrite: TestRewrite, suffix: str
    ) -> Finding:
        """Hidden files are rewritten before they are laid over the commit."""

        def rewrite_hidden(path: str, text: str) -> str:
            made = rewrite(path, text)
            return text if made is None else made

        # A failure that the plan tolerates would be reported as skipped.
        strict = replace(check, spec=replace(check.spec, on_failure=OnFailure.RETRY))
        return strict.run_with(
            self._facts.commit,
            replace(self._facts, rewrite_hidden=rewrite_hidden),
            files,
            suffix,
            purpose=CheckRunPurpose.COMPARISON,
        )
