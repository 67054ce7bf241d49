"""The OpenAPI 3.1 document, made from the table of routes."""

from __future__ import annotations

from collections.abc import Iterable

from yaoki import __version__
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.faces.web.parameters import Parameter
from yaoki.faces.web.routes import BASE, Route
from yaoki.faces.web.schema_parts import schema_reference
from yaoki.faces.web.schemas import SCHEMAS
from yaoki.views.documents import Document

PATH_PART = lazy_compile(r"{(\w+)}")
PATH_PARTS = {
    "run": ({"type": "string"}, "A run's id or a prefix of it."),
    "task": ({"type": "string"}, "A task's id."),
    "attempt": ({"type": "integer"}, "The number of an attempt."),
    "seq": ({"type": "integer"}, "The number of a journal entry."),
}


def openapi_document(routes: Iterable[Route]) -> Document:
    paths: dict[str, Document] = {}
    for route in routes:
        paths.setdefault(BASE + route.path, {})[route.method.lower()] = _operation(route)
    schemes = {
        "cookie": {"type": "apiKey", "in": "cookie", "name": "yaoki-PORT"},
        "token": {"type": "http", "scheme": "bearer"},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "yaoki", "version": __version__, "license": {"name": "Apache-2.0"}},
        "security": [{"cookie": []}, {"token": []}],
        "paths": paths,
        "components": {"schemas": dict(SCHEMAS), "securitySchemes": schemes},
    }


def _operation(route: Route) -> Document:
    operation: Document = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "parameters": [*map(_part, PATH_PART.findall(route.path)), *map(_parameter, route.query)],
        "responses": {**_answer(route), "default": _content("An error.", "Error")},
    }
    if route.body is not None:
        operation["requestBody"] = _body(route.body)
    return operation


def _answer(route: Route) -> Document:
    if not route.media_types:
        return {"204": {"description": route.summary}}
    if route.response_schema:
        return {"200": _content(route.summary, route.response_schema)}
    content = {media: {"schema": {"type": "string"}} for media in route.media_types}
    return {"200": {"description": route.summary, "content": content}}


def _content(words: str, schema: str) -> Document:
    return {
        "description": words,
        "content": {"application/json": {"schema": schema_reference(schema)}},
    }


def _part(name: str) -> Document:
    schema, words = PATH_PARTS[name]
    return {"name": name, "in": "path", "required": True, "description": words, "schema": schema}


def _parameter(param: Parameter) -> Document:
    words = param.help + (" Several values are separated by commas." if param.is_list else "")
    commas = {"style": "form", "explode": False} if param.is_list else {}
    named = {"name": param.name, "in": "query", "description": words}
    return {**named, **commas, "schema": param.schema}


def _body(fields: Iterable[Parameter]) -> Document:
    fields = list(fields)
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {field.name: {**field.schema, "description": field.help} for field in fields},
        "required": [field.name for field in fields if field.default is None],
    }
    return {"required": True, "content": {"application/json": {"schema": schema}}}
