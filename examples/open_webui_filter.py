"""
title: framesift
description: Sends the videos of a chat to the model, which is behind framesift proxy.
"""

import json
from typing import Any


class Filter:
    """A function of Open WebUI (Admin Panel, Functions), which itself sends no videos to a model."""

    async def inlet(self, body: dict[str, Any]) -> dict[str, Any]:
        """Put the uploaded videos of the chat into its last message, by their paths on the server's disk."""
        from open_webui.models.files import Files

        files = body.get("files") or []
        videos = [file for file in files if (file.get("content_type") or "").startswith("video/")]
        paths = [(await Files.get_file_by_id(file["id"])).path for file in videos]
        parts = [{"type": "video_url", "video_url": {"url": f"file://{path}"}} for path in paths]
        last = next(message for message in reversed(body["messages"]) if message["role"] == "user")
        content = last["content"]
        last["content"] = [*parts, *([{"type": "text", "text": content}] if isinstance(content, str) else content)]
        body["files"] = [file for file in files if file not in videos]
        return body


if __name__ == "__main__":
    print(json.dumps({"install": "paste this file into Open WebUI: Admin Panel, Functions, New function"}))
