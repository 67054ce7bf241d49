"""Hidden checks: their folders are read when a plan is submitted, and from the store afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.system.hidden_files import (
    HiddenContent,
    HiddenFilesRefused,
    read_hidden_folder,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec, HiddenFiles
from yaoki.errors import PlanInvalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yaoki.formats.plan import Plan
    from yaoki.ports import HiddenFileStore

GUIDE = "docs/reference/quality.md"


class HiddenChecks:
    """`private` folders (the repository, its worktrees, the store) may not hold hidden files, nor
    may a hidden folder hold one of them.
    """

    def __init__(
        self, store: Callable[[], HiddenFileStore], top: Path, private: Sequence[Path]
    ) -> None:
        """`store` opens the store, which `validate` does not need."""
        self._store, self._top, self._private = store, top, private

    def freeze(self, plan: Plan) -> Plan:
        """The plan with the digests of its hidden files, whose content is in the store now."""
        checks = {name: self._frozen(spec) for name, spec in plan.catalogue.checks.items()}
        if checks == plan.catalogue.checks:
            return plan
        specs = tuple(
            replace(spec, checks=tuple(checks[check.name] for check in spec.checks))
            for spec in plan.specs
        )
        return replace(plan, catalogue=replace(plan.catalogue, checks=checks), specs=specs)

    def refuse_defects(self, plan: Plan) -> None:
        """Raise `PlanInvalid` with every folder that cannot be used; nothing is stored."""
        defects = []
        for name, spec in plan.catalogue.checks.items():
            try:
                self._read(spec)
            except HiddenFilesRefused as refused:
                defects.append(f"checks.{name}.hidden: {refused}")
        if defects:
            raise PlanInvalid(defects[0], hint=GUIDE, defects=defects)

    def find(self, hidden: HiddenFiles) -> HiddenContent | None:
        """The files as they were frozen; a store that was restored may have lost them, and then the
        folder counts if it is unchanged.
        """
        text = self._store().hidden_files(hidden.digest)
        if text is not None:
            content = HiddenContent.from_text(text)
            return content if content.digest == hidden.digest else None
        try:
            content = read_hidden_folder(Path(hidden.folder))
        except (HiddenFilesRefused, OSError):
            return None
        return content if content.digest == hidden.digest else None

    def find_now(self, hidden: HiddenFiles) -> HiddenContent | None:
        """The files as they are in their folder, for a plan that is not submitted."""
        try:
            return read_hidden_folder(self._resolve(hidden.folder))
        except (HiddenFilesRefused, OSError):
            return None

    def _frozen(self, spec: CheckSpec) -> CheckSpec:
        content = self._read(spec)
        if spec.hidden is None or content is None:
            return spec
        folder, digest = str(self._resolve(spec.hidden.folder)), content.digest
        self._store().save_hidden_files(digest, folder, content.to_text())
        return replace(spec, hidden=HiddenFiles(folder, digest, len(content.files)))

    def _read(self, spec: CheckSpec) -> HiddenContent | None:
        if spec.hidden is None or not spec.hidden.folder:
            return None
        folder = self._resolve(spec.hidden.folder)
        for private in self._private:
            if folder.is_relative_to(private) or private.is_relative_to(folder):
                raise HiddenFilesRefused(
                    f"{folder} is not apart from {private}; agents would see its files"
                )
        try:
            return read_hidden_folder(folder)
        except OSError as error:
            raise HiddenFilesRefused(f"{folder}: {error.strerror or error}") from error

    def _resolve(self, folder: str) -> Path:
        return (self._top / Path(folder).expanduser()).resolve()
