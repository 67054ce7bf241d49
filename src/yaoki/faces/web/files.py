"""The files of the page, read once and cached by browsers until they change."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path

from starlette.responses import Response

from yaoki.core.lazy_dataclass import dataclass

INDEX = "index.html"
REVALIDATE = "no-cache"
# The address contains a hash of all files, so its content never changes.
IMMUTABLE = "public, max-age=31536000, immutable"
MEDIA = {".js": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json"}


@dataclass(frozen=True, slots=True)
class PageFile:
    body: bytes
    media_type: str
    etag: str


class PageFiles:
    """The files below one folder; only files present at the start are served."""

    def __init__(self, folder: Path) -> None:
        places = sorted(place for place in folder.rglob("*") if place.is_file())
        self._held = {place.relative_to(folder).as_posix(): _read(place) for place in places}
        etags = "".join(f"{name} {file.etag}\n" for name, file in self._held.items())
        self.version = hashlib.sha256(etags.encode()).hexdigest()[:16]
        page = self._held[INDEX]
        named = page.body.replace(b'"/static/', f'"/static/{self.version}/'.encode())
        self._index = PageFile(named, page.media_type, f'{page.etag[:-1]}-{self.version}"')

    def serve_index(self, known: str) -> Response:
        return _answer(self._index, known, REVALIDATE)

    def serve(self, name: str, known_etags: str) -> Response | None:
        """`known_etags` are those of the browser; returns None for a file that does not exist."""
        plain = name.removeprefix(f"{self.version}/")
        file = self._held.get(plain)
        return (
            _answer(file, known_etags, REVALIDATE if plain == name else IMMUTABLE) if file else None
        )


def _read(place: Path) -> PageFile:
    body = place.read_bytes()
    kind = MEDIA.get(place.suffix) or mimetypes.guess_type(place.name)[0]
    tag = hashlib.sha256(body).hexdigest()[:16]
    return PageFile(body, kind or "application/octet-stream", f'"{tag}"')


def _answer(file: PageFile, known: str, cache_control: str) -> Response:
    headers = {"ETag": file.etag, "Cache-Control": cache_control}
    if file.etag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers=headers, media_type=file.media_type)
