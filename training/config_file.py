"""Settings from a YAML file and the command line, and back into a file.

A file is read as plain data: no tags, no anchors, no key twice. All that is wrong is told at once, each with file,
line, key and what is allowed.
"""

from __future__ import annotations

import argparse
import difflib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from training.config import RunConfig

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
MAX_BYTES = 1 << 18
MAX_DEPTH = 20

Key = tuple[str, ...]
_UNREADABLE = object()


class ConfigError(ValueError):
    """What is wrong with the settings: one line a problem."""


def read_config(path: Path, overrides: Mapping[str, str] | None = None) -> RunConfig:
    """Return the settings of a YAML file, some of them replaced by the command line's.

    Args:
        path: the file.
        overrides: text of a value (YAML) by dotted key, as ``{"learner.batch": "256"}``.

    Raises:
        ConfigError: with a line for every problem.
    """
    problems: list[str] = []
    places: dict[Key, str] = {}
    data = _read_file(path, places, problems)
    for dotted, text in (overrides or {}).items():
        key = tuple(dotted.split("."))
        places[key] = f"--{dotted}"
        section = data
        for name in key[:-1]:
            if section.get(name) is None:
                section[name] = {}
            section = section[name]
            if not isinstance(section, dict):
                break  # what is wrong with it is told below
        if not isinstance(section, dict):
            continue
        try:
            section[key[-1]] = text if "string" in _types(_schema(key)) else _option_value(text)
        except ValueError:
            problems.append(f"--{dotted}: {_show(text)} cannot be read as a value; {_allowed(key)}")
    try:
        config = RunConfig.model_validate(data, strict=True)
        if not problems:
            return config
    except ValidationError as error:
        problems += [_explain(dict(e), places, path) for e in error.errors()]
    raise ConfigError("\n".join(sorted(dict.fromkeys(problems), key=_line_number)))


def config_text(config: RunConfig) -> str:
    """Return `config` as YAML, which `read_config` reads back to an equal one."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # pyright: ignore[reportAttributeAccessIssue]
    stream = io.StringIO()
    yaml.dump(config.model_dump(mode="json"), stream)
    return stream.getvalue()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add one option ``--section.key VALUE`` for every setting; values stay text, under the dotted key."""
    groups: dict[Key, argparse._ArgumentGroup] = {}
    for key, field in leaves(RunConfig):
        if key[:-1] not in groups:
            title = f"settings: {'.'.join(key[:-1])}" if key[1:] else "settings"
            groups[key[:-1]] = parser.add_argument_group(title, _section_help(key[:-1]))
        default = "" if field.is_required() else f"; built-in default {_show(field.default)}"
        text = f"{field.description or ''} [{_allowed(key).removeprefix('allowed: ')}{default}]"
        groups[key[:-1]].add_argument(
            "--" + ".".join(key), dest=".".join(key), metavar="VALUE", help=text.replace("%", "%%").strip()
        )


def given_overrides(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the settings that the command line gave, text by dotted key."""
    values = vars(arguments)
    keys = (".".join(key) for key, _ in leaves(RunConfig))
    return {key: values[key] for key in keys if values.get(key) is not None}


def refuse_unknown(options: Sequence[str]) -> NoReturn:
    """Raise for options that the command line has beyond the known ones."""
    known = [".".join(key) for key, _ in leaves(RunConfig)]
    lines = []
    for option in options:
        if not option.startswith("--"):
            lines.append(f"{option!r} belongs to no option; settings are given as --section.key value")
            continue
        name = option[2:].split("=")[0]
        lines.append(f"unknown option --{name}{_suggest(name, known) or '; train.py --help lists them all'}")
    # A value that follows an unknown option is no second problem.
    raise ConfigError("\n".join([line for line in lines if line.startswith("unknown")] or lines))


def leaves(model: type[BaseModel], prefix: Key = ()) -> Iterator[tuple[Key, FieldInfo]]:
    """Yield the key and the field of every setting, in order."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from leaves(field.annotation, (*prefix, name))
        else:
            yield (*prefix, name), field


def _read_file(path: Path, places: dict[Key, str], problems: list[str]) -> dict[str, Any]:
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path}: not a regular file")
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path}: too large for a config (more than {MAX_BYTES >> 10} kB)")
        text = path.read_text(encoding="utf-8")
    except ConfigError:
        raise
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config; the project's own are in {CONFIGS}: {_own_configs()}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file in UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ConfigError(f"{str(path)!r}: no name of a file ({error})") from None
    try:
        if refused := _refused(text):
            raise ConfigError(f"{path}:{refused}")
        root = YAML(typ="safe", pure=True).compose(text)
        if not isinstance(root, MappingNode):
            raise ConfigError(f"{path}: holds no settings; it should be lines like 'game: brandubh'")
        return _plain(root, (), path, places, problems)
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {error.problem or error.context}") from None
    except (YAMLError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from None


def _refused(text: str) -> str | None:
    """Return line and reason where YAML holds more than plain data, or is nested too deeply to be a config."""
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        line = event.start_mark.line + 1
        if getattr(event, "anchor", None) is not None:
            return f"{line}: anchors (&name) and aliases (*name) are not allowed here"
        if getattr(event, "tag", None) is not None:
            return f"{line}: tags (!name) are not allowed here"
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH:
            return f"{line}: nested too deeply for a config"
    return None


def _option_value(text: str) -> Any:
    """Return the value that an option's text (YAML) stands for.

    Raises:
        ValueError: where it stands for none.
    """
    try:
        if len(text) > MAX_BYTES or _refused(text):
            raise ValueError
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ArithmeticError, TypeError):
        raise ValueError from None
    if value is None and text.strip() not in ("null", "Null", "NULL", "~"):
        raise ValueError  # nothing is written there
    return value


def _plain(node: Node, key: Key, path: Path, places: dict[Key, str], problems: list[str]) -> Any:
    """Return a composed node as plain data; note where every key stands and which stand twice."""
    if not isinstance(node, MappingNode):
        try:
            return YAML(typ="safe", pure=True).constructor.construct_object(node, deep=True)
        except (YAMLError, ValueError, ArithmeticError, TypeError):
            text = _show(str(node.value)) if isinstance(node, ScalarNode) else "what is written there"
            place = f"{path}:{node.start_mark.line + 1}: {'.'.join(key)}"
            problems.append(f"{place}: {text} cannot be read as a value; {_allowed(key)}")
            return _UNREADABLE
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        name = str(key_node.value) if isinstance(key_node, ScalarNode) else "?"
        inner = (*key, name)
        here = f"{path}:{key_node.start_mark.line + 1}"
        if name in data:
            problems.append(f"{here}: {'.'.join(inner)} is set twice (first in line {places[inner].rsplit(':', 1)[1]})")
            continue
        places[inner] = here
        value = _plain(value_node, inner, path, places, problems)
        if value is _UNREADABLE:
            continue
        # A section whose lines are all commented out is an empty one.
        data[name] = {} if value is None and _is_section(inner) else value
    return data


def _explain(error: dict[str, Any], places: Mapping[Key, str], path: Path) -> str:
    key = tuple(str(part) for part in error["loc"])
    while key and key[-1] in ("[key]",):
        key = key[:-1]
    place = next((places[key[:end]] for end in range(len(key), 0, -1) if key[:end] in places), str(path))
    name = ".".join(key)
    subject = f"{place}: {name}" if not place.startswith("--") else place
    match error["type"]:
        case "extra_forbidden":
            siblings = list(_properties(key[:-1]))
            hint = _suggest(key[-1], siblings) or _elsewhere(key[-1])
            known = f"known {'in ' + key[-2] if key[1:] else 'at the top'}: {', '.join(siblings)}"
            return f"{subject}: unknown key{hint}; {known}"
        case "missing":
            return f"{place}: {name} is missing; {_allowed(key)}"
        case "value_error":
            reason = str(error["ctx"]["error"])
            if not key and any(each.startswith("--") for each in places.values()):
                place += ", with what the command line says"
            return f"{subject}: {reason}" if key else f"{place}: {reason}"
        case _:
            return f"{subject} is {_written(error['input'])}; {_allowed(key)}"


def _line_number(problem: str) -> int:
    """Return the line of the file that a problem is in, 0 for one of the command line."""
    found = re.match(r"[^-].*?:(\d+): ", problem)
    return int(found[1]) if found else 0


def _suggest(name: str, known: Sequence[str]) -> str:
    close = [key for key in known if _shortens(name, key)] or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def _shortens(name: str, key: str) -> bool:
    """Return whether `name` is a short form of `key`, as learner.lr and learner.learning of learner.learning_rate."""
    (section, _, short), (home, _, word) = name.rpartition("."), key.rpartition(".")
    initials = "".join(part[:1] for part in word.split("_"))
    return section == home and len(short) > 1 and (short == initials or word.startswith(short))


def _elsewhere(name: str) -> str:
    homes = [".".join(key) for key, _ in leaves(RunConfig) if key[-1] == name]
    return f" (did you mean {homes[0]}?)" if homes else ""


def _schema(key: Key) -> dict[str, Any]:
    """Return the JSON schema of a setting, or {} where there is none."""
    root = _root_schema()
    schema: dict[str, Any] = root
    for name in key:
        free = [s["additionalProperties"] for s in schema.get("anyOf", [schema]) if s.get("additionalProperties")]
        schema = schema.get("properties", {}).get(name) or (free[0] if free else {})
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


@cache
def _root_schema() -> dict[str, Any]:
    return RunConfig.model_json_schema()


def _properties(key: Key) -> dict[str, Any]:
    return _schema(key).get("properties", {})


def _is_section(key: Key) -> bool:
    return bool(_properties(key))


def _section_help(key: Key) -> str | None:
    return str(_schema(key).get("description", "")).split("\n\n")[0] or None if key else None


def _types(schema: Mapping[str, Any]) -> list[str]:
    return [str(s.get("type")) for s in schema.get("anyOf", [schema])]


def _allowed(key: Key) -> str:
    """Return what may stand at `key`, in words."""
    schema = _schema(key)
    return "allowed: " + " or ".join(_words(option) for option in schema.get("anyOf", [schema]))


def _words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema or "const" in schema:
        return "one of " + ", ".join(str(v) for v in schema.get("enum", [schema.get("const")]))
    kind = str(schema.get("type", ""))
    if "properties" in schema:
        return "a section of settings"
    if kind == "object":
        return f"names, each with {_words(schema.get('additionalProperties', {}))}"
    noun = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}
    words = noun.get(kind, kind or "a value")
    if "multipleOf" in schema:
        words += f" in steps of {schema['multipleOf']:g}"
    if "minimum" in schema and "maximum" in schema:
        return f"{words} from {_show(schema['minimum'])} to {_show(schema['maximum'])}"
    signs = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    bounds = [f"{sign} {_show(schema[name])}" for name, sign in signs.items() if name in schema]
    return f"{words} {' and '.join(bounds)}".strip()


def _written(value: Any) -> str:
    """Return a value as in a file, where 1.0 is not 1."""
    return repr(value) if isinstance(value, float) else _show(value)


def _show(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    try:
        text = repr(value[:100]) if isinstance(value, str) else str(value)
    except ValueError:  # Python refuses to write out whole numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def _own_configs() -> str:
    return ", ".join(sorted(file.name for file in CONFIGS.glob("*.yaml")))
