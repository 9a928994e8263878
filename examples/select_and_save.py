"""Index a video, select frames for a question, and write the frames with a report.

python select_and_save.py [VIDEO] [QUESTION]
"""

import sys
from pathlib import Path

import framesift as fs
from framesift.demo.video import QUESTION, sample_video

video = sys.argv[1] if len(sys.argv) > 1 else sample_video(Path("demo"))
question = fs.Question(sys.argv[2]) if len(sys.argv) > 2 else QUESTION

index = fs.index(video)  # decoded and encoded once; the next call reads the stored index
events = fs.find_events(video)  # subtitles beside or inside the video, or recognised speech
selection = fs.select(index, question, events=events, budget=16)
exhibit = fs.exhibit(video, selection)
print(exhibit)  # the time and the reason of each frame
folder = exhibit.save("evidence", force=True)  # frames/, sheet.jpg, selection.json, report.html
print(f"Open {folder / 'report.html'} in a browser.")
