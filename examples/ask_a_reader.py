"""Select frames and ask a vision-language model.

python ask_a_reader.py                                      the similarity reader: no model, weak answers
python ask_a_reader.py http://localhost:8000/v1             vLLM, SGLang, llama.cpp, Ollama, …
python ask_a_reader.py "https://api.openai.com/v1#MODEL"    with OPENAI_API_KEY set
python ask_a_reader.py local:qwen2.5-vl-7b                  after `framesift pull qwen2.5-vl-7b`
"""

import sys
from pathlib import Path

import framesift as fs
from framesift.demo.video import QUESTION, sample_video

reader = sys.argv[1] if len(sys.argv) > 1 else "similarity"
video = sample_video(Path("demo"))
selection = fs.select(fs.index(video), QUESTION, events=fs.find_events(video), budget=16)
exhibit = fs.exhibit(video, selection, size=360)

# The same frames with and without the text of the events rendered on them.
for text_mode in ("none", "aligned"):
    answer = fs.ask(exhibit, QUESTION, reader=reader, text_mode=text_mode)
    print(f"{text_mode:<8} {answer.letter}: {answer.text}")
    if answer.note:
        print(f"         {answer.note}")
