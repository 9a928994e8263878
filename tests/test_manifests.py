"""The files from which agents are installed: the MCP registry's, Claude Code's, Codex's, the skill and the links."""

import base64
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
import yaml

import framesift as fs
from helpers.sample_data import SAMPLE_DATA

ROOT = Path(__file__).parents[1]
SERVER, PLUGIN, MARKETPLACE = "server.json", ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"
CODEX = ".codex-plugin/plugin.json"
COMMAND = ["uvx", "--from", "framesift[mcp]", "framesift", "mcp"]


def read(name):
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_versions_are_the_packages():
    server = read(SERVER)
    (package,) = server["packages"]
    (extra,) = package["runtimeArguments"]
    assert {server["version"], package["version"], read(PLUGIN)["version"], read(CODEX)["version"]} == {fs.__version__}
    assert extra["value"] == f"framesift[mcp]=={fs.__version__}"


def test_registry_finds_its_mark_in_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- mcp-name: {read(SERVER)['name']} -->" in readme


@pytest.mark.sample_data
def test_files_follow_their_published_schemas():
    if not (folder := SAMPLE_DATA / "schemas").exists():
        pytest.skip(f"{folder} is not there")
    for name, schema in (
        (SERVER, "mcp-server.json"),
        (PLUGIN, "claude-code-plugin-manifest.json"),
        (MARKETPLACE, "claude-code-marketplace.json"),
    ):
        jsonschema.validate(read(name), json.loads((folder / schema).read_text(encoding="utf-8")))


def test_files_follow_the_rules_that_their_documentation_states():
    server, codex, (listed,) = read(SERVER), read(CODEX), read(MARKETPLACE)["plugins"]
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]) and len(server["description"]) <= 100
    for argument in server["packages"][0]["packageArguments"]:
        assert argument["type"] == "positional" and ("value" in argument or "valueHint" in argument)
    assert listed["source"] == "./" and listed["name"] == read(PLUGIN)["name"] == codex["name"] == "framesift"
    fields = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords", "skills"}
    assert codex.keys() == fields | {"mcpServers", "interface"}  # any other is refused
    assert len(codex["interface"]["defaultPrompt"]) <= 3 and max(map(len, codex["interface"]["defaultPrompt"])) <= 128


def test_plugins_have_the_command_and_the_skill():
    for name in (PLUGIN, CODEX):
        server = read(name)["mcpServers"]["framesift"]
        assert [server["command"], *server["args"]] == [*COMMAND, "."]
    (skill,) = (ROOT / read(CODEX)["skills"]).glob("*/SKILL.md")
    facts = yaml.safe_load(skill.read_text(encoding="utf-8").split("---")[1])
    assert facts["name"] == skill.parent.name and len(facts["description"]) <= 1024


def test_install_links_hold_the_command():
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    links = [urlsplit(link) for link in re.findall(r"https://[\w./]+/(?:mcp/install|install-mcp)\?[^)\s]+", page)]
    vs_code, cursor = (parse_qs(link.query, strict_parsing=True) for link in links)
    configs = json.loads(vs_code["config"][0]), json.loads(base64.b64decode(cursor["config"][0], validate=True))
    assert vs_code["name"] == cursor["name"] == ["framesift"]
    for config in configs:
        assert [config["command"], *config["args"]] == [*COMMAND, "${workspaceFolder}"]
