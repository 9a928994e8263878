"""Which program an OpenAI-type server is, and what it accepts beyond the common protocol."""

from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from framesift.readers.message_parts import IdField

VLLM, SGLANG = "vllm", "sglang"  # the owners in their lists of models
OLDEST_VIDEO = Version("0.20.0")  # of vLLM: before, a video of JPEG frames had no times


@dataclass(frozen=True)
class ServerProgram:
    """A server's program. owner: of its models. version: of vLLM; empty for any other, or if it is not reported."""

    owner: str = ""
    version: str = ""

    @property
    def id_field(self) -> IdField | None:
        """The field for the id of an image; None for a server without one."""
        if self.owner == VLLM:
            return "uuid"
        return "content_hash" if self.owner == SGLANG else None

    @property
    def why_no_video(self) -> str:
        """Why frames with times can't be sent as one video; empty if they can."""
        if self.owner != VLLM:
            return "it is not vLLM"
        try:
            is_new = Version(self.version) >= OLDEST_VIDEO
        except InvalidVersion:
            return "the version of vLLM is unknown"
        return "" if is_new else f"it is vLLM {self.version}, and videos with times need {OLDEST_VIDEO}"


def find_program(client: Any, owner: str) -> ServerProgram:
    """Find out which program a server is. client: of the openai package; owner: of the model in the server's list."""
    if owner != VLLM:
        return ServerProgram(owner)
    # vLLM reports its version beside the API, not in it.
    root = str(client.base_url).rstrip("/").removesuffix("/v1")
    try:
        reply = client.with_options(base_url=f"{root}/", max_retries=0).get("version", cast_to=object)
        return ServerProgram(owner, str(reply["version"]))
    except Exception:  # of a proxy that lacks or changes this page, which is optional
        return ServerProgram(owner)
