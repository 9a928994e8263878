"""A scripted MCP client: it stands in for an agent, and answers a question about a video with cited times.

    python mcp_client.py [FOLDER]

`pip install 'framesift[offline,mcp]'`
"""

import asyncio
import os
import re
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from framesift.demo.video import sample_video

QUESTION = "Why was the launch put off?"


async def answer(folder: Path) -> None:
    command = [sys.executable, "-m", "framesift", "mcp", str(folder)]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server) as client:

        async def call(tool: str, **arguments: object) -> str:
            print(f"→ {tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})")
            result = await client.call_tool(tool, arguments)
            lines = [block.text if block.type == "text" else "(image)" for block in result.content]
            print("\n".join(lines), end="\n\n")
            return "\n".join(lines)

        print(f"User: {QUESTION}\n")
        listed = await call("list_videos")
        video = re.findall(r"<data>(.+?)</data> \d", listed)[0]
        reply = await call("watch", video=video, question=QUESTION, budget=4)
        while "Not ready yet" in reply:  # the index takes longer than a call may wait
            reply = await call("watch", video=video, question=QUESTION, budget=4)
        words = await call("read_transcript", video=video, contains="put off")
        cues = re.findall(r"^(\d+:\d\d) \(([\d.]+) s\) (.+)$", words, flags=re.MULTILINE)
        await call("look", video=video, times_s=[float(cues[0][1])], max_side=640)
        # A model would write this from the frames and words; the script quotes the cues.
        print("Agent:", " ".join(f"“{text}” [{time}]" for time, _, text in cues))


folder = Path(sys.argv[1]) if len(sys.argv) > 1 else sample_video(Path("demo")).parent
asyncio.run(answer(folder))
