"""The files of the page: read once, and kept by browsers for as long as they are the same."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

INDEX = "index.html"
ASKED_AGAIN = "no-cache"
# Below an address that names the content of all files nothing ever changes.
FOR_GOOD = "public, max-age=31536000, immutable"
MEDIA = {".js": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json"}


@dataclass(frozen=True, slots=True)
class File:
    body: bytes
    media: str
    tag: str


class Files:
    """Everything below one folder; what is not there at the start is not served."""

    def __init__(self, folder: Path) -> None:
        places = sorted(place for place in folder.rglob("*") if place.is_file())
        self._held = {place.relative_to(folder).as_posix(): _read(place) for place in places}
        told = "".join(f"{name} {file.tag}\n" for name, file in self._held.items())
        self.seal = hashlib.sha256(told.encode()).hexdigest()[:16]
        page = self._held[INDEX]
        named = page.body.replace(b'"/static/', f'"/static/{self.seal}/'.encode())
        self._index = File(named, page.media, f'{page.tag[:-1]}-{self.seal}"')

    def index(self, known: str) -> Response:
        return _answer(self._index, known, ASKED_AGAIN)

    def answer(self, name: str, known: str) -> Response | None:
        """`known` is what the browser says it has; None for what is not there."""
        plain = name.removeprefix(f"{self.seal}/")
        file = self._held.get(plain)
        return _answer(file, known, ASKED_AGAIN if plain == name else FOR_GOOD) if file else None


def _read(place: Path) -> File:
    body = place.read_bytes()
    kind = MEDIA.get(place.suffix) or mimetypes.guess_type(place.name)[0]
    tag = hashlib.sha256(body).hexdigest()[:16]
    return File(body, kind or "application/octet-stream", f'"{tag}"')


def _answer(file: File, known: str, kept: str) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": kept}
    if file.tag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers=headers, media_type=file.media)
