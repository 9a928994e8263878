"""A tiny lmms-eval task: a synthetic video, its subtitles, four questions, and the task directory."""

import json

import numpy as np
from PIL import Image, ImageOps

from helpers.clips import write_frames

SECONDS, FPS, SIZE = 12, 5, (160, 96)  # of each scene
SCENES = ("coffee.png", "chelsea.png", "rocket.jpg", "moon.png")
SUBTITLES = (
    (14.0, 17.0, "The cat has the window to herself."),
    (27.0, 31.0, "The launch was put off because of the wind."),
)
PRE, POST = "Look at the video.\n", "\nAnswer with the letter only."
QUESTIONS = (
    ("Why was the launch put off?", ("The rain", "The wind", "A strike"), "B"),
    ("What stands on the table?", ("A lamp", "A cup of coffee", "A vase"), "B"),
    ("Who has the window to herself?", ("The cat", "The dog", "Nobody"), "A"),
    ("What is seen in the night sky?", ("A comet", "The moon", "A kite"), "B"),
)
MAX_NEW_TOKENS = 7

YAML = """\
task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
{inputs}
doc_to_target: answer
process_results: !function {module}.process_results
generation_kwargs:
  max_new_tokens: {tokens}
metric_list:
  - metric: video_score
    aggregation: mean
    higher_is_better: true
"""
# One task leaves the messages to lmms-eval, the other writes them itself; both have a video part.
INPUTS = {
    "video_auto": "doc_to_visual: !function {module}.doc_to_visual\ndoc_to_text: !function {module}.doc_to_text",
    "video_messages": "doc_to_messages: !function {module}.doc_to_messages\n"
    "doc_to_text: !function {module}.doc_to_text",
}
MODULE = """\
def doc_to_visual(doc):
    return [doc["video"]]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    lines = [f"{{letter}}. {{option}}" for letter, option in zip("ABC", doc["options"])]
    return {pre!r} + "\\n".join([doc["question"], *lines]) + {post!r}


def doc_to_messages(doc, lmms_eval_specific_kwargs=None):
    text = {{"type": "text", "text": doc_to_text(doc).removeprefix({pre!r})}}
    content = [{{"type": "text", "text": {pre!r}}}, {{"type": "video", "url": doc["video"]}}, text]
    return [{{"role": "user", "content": content}}]


def process_results(doc, results):
    return {{"video_score": float(results[0].strip() == doc["answer"])}}
"""


def write_video(path):
    """Still photographs of scikit-image, one after the other."""
    import skimage

    data = next(iter(skimage.__path__))
    frames = []
    for name in SCENES:
        with Image.open(f"{data}/data/{name}") as photograph:
            frames += [np.asarray(ImageOps.fit(photograph.convert("RGB"), SIZE))] * SECONDS * FPS
    write_frames(path, frames, fps=FPS)


def write_subtitles(path):
    def stamp(time_s):
        return f"00:00:{int(time_s):02d},000"

    cues = [f"{k}\n{stamp(start)} --> {stamp(end)}\n{text}\n" for k, (start, end, text) in enumerate(SUBTITLES, 1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(cues), encoding="utf-8")


def write_tasks(folder, video):
    """Write the task directory for `--include_path`; the names of its tasks."""
    folder.mkdir(parents=True)
    data = folder / "questions.jsonl"
    rows = [
        {"video": str(video), "question": text, "options": list(options), "answer": answer}
        for text, options, answer in QUESTIONS
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    module = "video_utils"
    (folder / f"{module}.py").write_text(MODULE.format(pre=PRE, post=POST), encoding="utf-8")
    for task, inputs in INPUTS.items():
        text = YAML.format(
            task=task, data=data, module=module, inputs=inputs.format(module=module), tokens=MAX_NEW_TOKENS
        )
        (folder / f"{task}.yaml").write_text(text, encoding="utf-8")
    return tuple(INPUTS)
