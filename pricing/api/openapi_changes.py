"""What of a newer OpenAPI file breaks a client of an older one, each with a label.

    python -m pricing.api.openapi_changes OLD.json NEW.json

What a client sends must still be taken, and what it reads must still be there. Additions break
nothing: answers may gain fields, so clients ignore those that they do not know.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]
DEPTH_MAX: Final = 8  # deeper than any schema of ours
LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems")
MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")


@dataclass(frozen=True, slots=True)
class Breaking:
    """One change that breaks clients. operation: "GET /v1/usage"."""

    operation: str
    label: str
    what: str

    def __str__(self) -> str:
        return f"{self.operation}: {self.label}: {self.what}"


def breaking_changes(old: Json, new: Json) -> list[Breaking]:
    """Every breaking change of `new` over `old`, in the order of the routes."""
    found = []
    for path, operations in sorted(old["paths"].items()):
        for method, operation in sorted(operations.items()):
            name = f"{method.upper()} {path}"
            now = new["paths"].get(path, {}).get(method)
            if now is None:
                found.append(Breaking(name, "route removed", path))
                continue
            pair = _Pair(old, new)
            found += [Breaking(name, *each) for each in pair.operation(operation, now)]
    return found


Found = Iterator[tuple[str, str]]  # label, what


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two files, each with its own components."""

    old: Json
    new: Json

    def operation(self, old: Json, new: Json) -> Found:
        before, after = old.get("x-permission"), new.get("x-permission")
        if before != after:
            yield "permission changed", f"{before} → {after}"
        yield from self._parameters(old, new)
        was, now = old.get("requestBody"), new.get("requestBody")
        if now is not None:
            if now.get("required") and not (was or {}).get("required"):
                yield "body required", "a body must be sent now"
            yield from self._contents(was or {}, now, "body", sent=True)
        for status, answer in old["responses"].items():
            if status.startswith("2"):
                if status not in new["responses"]:
                    yield "status removed", status
                else:
                    yield from self._contents(answer, new["responses"][status], status, sent=False)

    def _parameters(self, old: Json, new: Json) -> Found:
        known, now = ({(p["in"], p["name"]): p for p in each["parameters"]} for each in (old, new))
        for key, parameter in known.items():
            if key not in now:
                yield "parameter removed", key[1]
            else:
                yield from self._schema(parameter["schema"], now[key]["schema"], key[1], sent=True)
        for key, parameter in now.items():
            if parameter.get("required") and not known.get(key, {}).get("required"):
                yield "parameter required", key[1]

    def _contents(self, old: Json, new: Json, where: str, *, sent: bool) -> Found:
        old, new = _resolved(old, self.old), _resolved(new, self.new)
        for kind, media in old.get("content", {}).items():
            now = new.get("content", {}).get(kind)
            if now is None:
                yield "media type removed", f"{where} {kind}"
            else:
                schemas = media.get("schema", {}), now.get("schema", {})
                yield from self._schema(*schemas, where, sent=sent)

    def _schema(self, old: Json, new: Json, where: str, *, sent: bool, depth: int = 0) -> Found:
        """Of two schemas of one place. sent: by the client, else read by it."""
        if depth > DEPTH_MAX:
            return
        old, new = _resolved(old, self.old), _resolved(new, self.new)
        yield from _values(old, new, where, sent=sent)
        for key, place in (("items", f"{where}[]"), ("additionalProperties", f"{where}.*")):
            if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
                yield from self._schema(old[key], new[key], place, sent=sent, depth=depth + 1)
        fields, now = old.get("properties", {}), new.get("properties", {})
        for name, field in fields.items():
            if name not in now:
                yield "field removed", f"{where}.{name}"
            else:
                place = f"{where}.{name}"
                yield from self._schema(field, now[name], place, sent=sent, depth=depth + 1)
        if sent:
            for name in sorted(set(new.get("required", [])) - set(old.get("required", []))):
                yield "field required", f"{where}.{name}"
        else:
            for name in sorted(set(old.get("required", [])) - set(new.get("required", []))):
                if name in now:
                    yield "field no longer always there", f"{where}.{name}"


def _resolved(schema: Json, document: Json) -> Json:
    """The schema itself: behind its reference, and without null and the list of chosen fields."""
    nullable = False
    while True:
        if "$ref" in schema:
            found: Any = document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        elif "anyOf" in schema:
            rest = [each for each in schema["anyOf"] if each.get("type") != "null"]
            nullable |= len(rest) < len(schema["anyOf"])
            schema = rest[0]
        else:
            return schema | {"nullable": True} if nullable else schema


def _values(old: Mapping[str, Any], new: Mapping[str, Any], where: str, *, sent: bool) -> Found:
    """Which values are allowed: fewer break who sends them, others who reads them."""
    if old.get("type") != new.get("type"):
        yield "type changed", f"{where}: {old.get('type')} → {new.get('type')}"
    if old.get("format") != new.get("format") and not sent:
        yield "format changed", f"{where}: {old.get('format')} → {new.get('format')}"
    before, after = old.get("enum"), new.get("enum")
    if sent and after is not None:
        gone = [v for v in before if v not in after] if before is not None else ["any other value"]
        if gone:
            yield "value no longer taken", f"{where}: {', '.join(map(str, gone))}"
    if not sent and new.get("nullable") and not old.get("nullable"):
        yield "may be null now", where
    if sent and old.get("nullable") and not new.get("nullable"):
        yield "null no longer taken", where
    for name in (*LEAST, *MOST) if sent else ():
        was, now = old.get(name), new.get(name)
        if now is not None and (was is None or (now > was if name in LEAST else now < was)):
            yield "limit tightened", f"{where}: {name} {was} → {now}"


def main() -> int:
    """Print what breaks; 1 if anything does."""
    old, new = (json.loads(Path(name).read_text("utf-8")) for name in sys.argv[1:3])
    found = breaking_changes(old, new)
    sys.stdout.writelines(f"{each}\n" for each in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
