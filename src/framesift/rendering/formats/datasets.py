"""Files with which FiftyOne and Label Studio show the moments around the selected frames as temporal labels."""

from pathlib import Path
from typing import Any

from framesift._utils.files import link_or_copy
from framesift._utils.json import dump_json
from framesift._utils.text import printable
from framesift.rendering.formats.base import Export
from framesift.rendering.formats.cut_lists import file_moments

LABEL = "moment"  # of every moment; its text is an attribute
FIFTYONE, LABEL_STUDIO = "fiftyone", "label-studio"
INTERFACE = f"""<View>
  <Header value="$question"/>
  <TimelineLabels name="moments" toName="video"><Label value="{LABEL}"/></TimelineLabels>
  <Video name="video" value="$video" frameRate="$fps"/>
</View>
"""


def write_fiftyone(export: Export) -> None:
    """fiftyone/: the videos, and their moments as a FiftyOneTemporalDetectionDataset."""
    labels: dict[str, list[dict[str, Any]]] = {}
    for moment in file_moments(export):
        attributes = {"text": moment.title, "question": _question(export)}
        row = {"label": LABEL, "timestamps": [moment.start_s, moment.end_s], "attributes": attributes}
        labels.setdefault(Path(moment.video.name).stem, []).append(row)
    folder = export.folder / FIFTYONE
    (folder / "data").mkdir(parents=True)
    for video in export.exhibit.videos:
        link_or_copy(video.path.resolve(), folder / "data" / Path(video.name).name)
    export.write(f"{FIFTYONE}/labels.json", dump_json({"classes": [LABEL], "labels": labels}))


def write_label_studio(export: Export) -> None:
    """label-studio.json: tasks with the moments as predictions; label-studio.xml: the labelling interface for them.

    Label Studio counts frames from 1, and plays the videos of a folder that it may serve.
    """
    tasks = []
    for video in export.exhibit.videos:
        results = []
        for number, moment in enumerate(file_moments(export), 1):
            if moment.video is video:
                first, *_, last = (int(time_s * video.info.fps) + 1 for time_s in (moment.start_s, moment.end_s))
                value = {"ranges": [{"start": first, "end": last}], "timelinelabels": [LABEL]}
                place = {"from_name": "moments", "to_name": "video", "type": "timelinelabels"}
                results.append(place | {"id": f"moment-{number}", "value": value, "meta": {"text": [moment.title]}})
        file = f"/data/local-files/?d={Path(video.name).name}"
        data = {"video": file, "fps": video.info.fps, "question": _question(export)}
        tasks.append({"data": data, "predictions": [{"model_version": "framesift", "result": results}]})
    export.write(f"{LABEL_STUDIO}.json", dump_json(tasks))
    export.write(f"{LABEL_STUDIO}.xml", INTERFACE)


def _question(export: Export) -> str:
    asked = export.exhibit.question
    return "" if asked is None else printable(asked.text)
