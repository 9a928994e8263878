"""Give the tools to an agent: LangChain, LlamaIndex, smolagents, OpenAI's Agents SDK, or plain function calling.

    python agent_tools.py [FOLDER]

`pip install 'framesift[offline]'`; frameworks that are not installed are left out.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import framesift as fs
from framesift.demo.video import sample_video

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else sample_video(Path("demo")).parent
tools = fs.agent_tools(folder)  # list_videos, watch, read_transcript, look, search_library, video_info

# Called as functions: text and image blocks, as chat APIs take them.
by_name = {tool.__name__: tool for tool in tools}
print(by_name["list_videos"]()[0]["text"])
video = next(folder.glob("*.mp4")).name
for block in by_name["watch"](video, "Why was the launch put off?", budget=2, max_side=512):
    print(block["text"] if block["type"] == "text" else f"({len(block['image_url']['url'])} characters of JPEG)")

if find_spec("langchain_core"):
    from langchain_core.tools import StructuredTool

    # Blocks become the content of the ToolMessage, so a model that sees images sees the frames.
    chain_tools = [StructuredTool.from_function(tool, parse_docstring=True) for tool in tools]
    call = {"type": "tool_call", "id": "1", "name": "look", "args": {"video": video, "times_s": [3]}}
    message = next(tool for tool in chain_tools if tool.name == "look").invoke(call)
    print("LangChain:", [block["type"] for block in message.content])

if find_spec("llama_index"):
    import base64
    import functools

    from llama_index.core.base.llms.types import ImageBlock, TextBlock
    from llama_index.core.tools import FunctionTool

    def as_block(block):
        if block["type"] == "text":
            return TextBlock(text=block["text"])
        return ImageBlock(
            image=base64.b64decode(block["image_url"]["url"].partition(",")[2]), image_mimetype="image/jpeg"
        )

    def as_function_tool(tool):
        @functools.wraps(tool)
        def call(*args, **options):
            return [as_block(block) for block in tool(*args, **options)]

        return FunctionTool.from_defaults(call)

    index_tools = {tool.__name__: as_function_tool(tool) for tool in tools}
    output = index_tools["look"].call(video=video, times_s=[3])
    print("LlamaIndex:", [type(block).__name__ for block in output.blocks])

if find_spec("smolagents"):
    from smolagents import tool as as_tool

    # smolagents passes a tool's result on as text: the words, times and reasons without the images.
    text_tools = [as_tool(tool) for tool in fs.agent_tools(folder, output="text")]
    print("smolagents:", text_tools[2](video=video, contains="launch").splitlines()[-2])

if find_spec("agents"):
    from agents import Agent, function_tool

    # A model that sees images sees the frames.
    agent = Agent(name="viewer", tools=[function_tool(t) for t in fs.agent_tools(folder, output="openai-agents")])
    print("OpenAI Agents SDK:", [tool.name for tool in agent.tools])
