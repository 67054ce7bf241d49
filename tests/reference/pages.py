"""The pages that are made from the code, wholly or in part."""

from __future__ import annotations

from pathlib import Path

from tests.reference import events, exit_codes, lists, schema, state_machine
from tests.security import attacks_page
from yaoki.adapters.store.schema_files import WHOLE_SCHEMA

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
IMAGES = FOLDER.parent / "images"


def generated_pages() -> dict[Path, str]:
    return {
        FOLDER / "attacks.md": attacks_page.page(),
        FOLDER / "events.md": events.page(),
        FOLDER / "exit-codes.md": exit_codes.page(),
        FOLDER / "state-machine.md": state_machine.page(),
        IMAGES / "states.svg": state_machine.states_image(),
        IMAGES / "stages.svg": state_machine.stages_image(),
        WHOLE_SCHEMA: schema.whole_schema(),
        **lists.pages(),
    }
