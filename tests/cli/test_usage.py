"""Mistyped commands and bad input: one line on what is wrong, what was meant, and where the help is; exit code 2."""

import json
import shlex

import pytest

from framesift.cli import main
from helpers.full_disk import contents

COMMANDS_ON_A_VIDEO = {"select": "x", "compare": "x", "ask": "x --reader similarity", "index": "", "events": ""}
URL = "'https://host/v.mp4' is a URL; expected a file: download it first"
BENCH = "bench own.json --budgets 4 --readers similarity --encoder offline"
IN_TOKENS = "select CLIP -q x --budget 4 --reader local:internvl3-8b --max-tokens-in"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("selcet", "there is no command 'selcet'; did you mean select? (see framesift --help)"),
        ("corpus indx", "there is no command 'indx'; did you mean index? (see framesift corpus --help)"),
        ("help select", "there is no command 'help'; did you mean --help? (see framesift --help)"),
        ("version", "there is no command 'version'; did you mean --version? (see framesift --help)"),
        ("clip.mp4 Cold?", "there is no command 'clip.mp4'; for example: framesift select video.mp4 \"Why"),
        ("demo x", "unexpected argument 'x' (see framesift demo --help)"),
        ("select", 'VIDEO is missing; for example: framesift select video.mp4 "Why was the launch put off?"'),
        ("select clip.mp4", "there is no question; write the video, then the question: framesift select VIDEO"),
        ("select clip.mp4 ''", "the question is empty; expected a text"),
        ("select help", "'help' is not a file; write the video, then the question: framesift select VIDEO"),
        ("ask Cold? clip.mp4", "'Cold?' is not a file; write the video, then the question: framesift ask"),
        ("select a.mp4 -q Why wait?", "'wait?' is not a file; put a text of several words in quotation marks"),
        ("select clip.mp4 Cold? --from noon", "--from is 'noon'; expected seconds, or a time such as 1:02"),
        ("select clip.mp4 Cold? --reader host:80", "there is no reader 'host:80'; did you mean http://host:80?"),
        ("--jsn", "there is no flag --jsn (see framesift --help)"),
        (
            "select a.mp4 x --bugdet 4",
            "there is no flag --bugdet; did you mean --budget? (see framesift select --help)",
        ),
        (
            "select a.mp4 x --bugdet=4",
            "there is no flag --bugdet; did you mean --budget? (see framesift select --help)",
        ),
        ("select --hlep", "there is no flag --hlep; did you mean --help? (see framesift select --help)"),
        ("select a.mp4 x --fps 2", "no flag --fps; did you mean --set fps=VALUE? (see framesift select --help)"),
        ("bench own q.csv --budget 4", "no flag --budget; did you mean --budgets? (see framesift bench own --help)"),
        ("tools --format opneai", "--format is 'opneai'; did you mean openai? (see framesift tools --help)"),
        ("select a.mp4 x --budget few", "--budget is 'few'; expected a whole number, or auto (see framesift select"),
        ("library --max-size 1GBB", "--max-size: '1GBB' is not a number with a unit; expected for example"),
        ("library --max-size nanGB", "--max-size: 'nanGB' is not a number with a unit"),
        ("library --max-size=-1G", "--max-size: '-1G' is not a number with a unit"),
        ("library --older-than 30x", "--older-than: '30x' is not a number with a unit"),
        ("library --max-size 5GB", "--prune"),
        ("index -clip.mp4", "'-clip.mp4' begins with - and was read as a flag; write ./-clip.mp4"),
        *((f"{command} https://host/v.mp4 {flags}", URL) for command, flags in COMMANDS_ON_A_VIDEO.items()),
        ("index ''", "VIDEO is empty; expected a path (see framesift index --help)"),
        ("serve ''", "FOLDER is empty; expected a path (see framesift serve --help)"),
        ("select a.mp4 x --out ''", "--out is empty; expected a path (see framesift select --help)"),
        ("demo --budget 0", "budget is 0"),
        ("index nowhere.mp4", "nowhere.mp4"),
        ("index no/such/*.mp4", "no/such/*.mp4"),
        ("index --encoder best nowhere.mp4", "best"),
        ("index --fps -1 x", "fps"),
        ("pull nosuch", "owner/model"),
        ("select CLIP -q x --questions q.json", "one or the other"),
        ("select CLIP --questions nowhere.json", "nowhere.json"),
        ("select CLIP x --set share=1", "max_share"),
        ("select CLIP x --set flor=1", "; did you mean floor?"),
        ("select CLIP x --set bugdet=2", "; did you mean budget?"),
        ("select CLIP x --set speech=wisper", "; did you mean whisper?"),
        ("select CLIP x --set overlay=aligend", "; did you mean aligned?"),
        ("select CLIP x --method sfit", "; did you mean sift?"),
        ("select CLIP x --encoder offlin", "; did you mean offline?"),
        ("select CLIP x --config settings.json", "; did you mean budget?"),
        ("select CLIP -q x --format xml", "keyframe_indices"),
        ("select CLIP -q x --clips sharp", "copy, exact"),
        ("select CLIP -q x --subtitles nowhere.srt", "nowhere.srt"),
        ("select CLIP -q x --out taken", "--force"),
        ("select CLIP -q x --from 20", "the window starts at 0:00:20, outside the video, which ends at 0:00:12"),
        ("select CLIP -q x --max-tokens-in 8000", "there is no reader whose tokens"),
        (f"{IN_TOKENS} 0", "--max-tokens-in is 0"),
        (f"{IN_TOKENS} 500", "4 frames of 96 × 64"),
        ("select CLIP -q x --reader local:gpt/x --max-tokens-in 8000", "is not known"),
        ("compare CLIP -q x --methods gcr", "two or more"),
        ("compare CLIP -q x --set visual_demand=0.7 --methods sift,uniform", "which sift does not use"),
        (
            "compare a.mp4 x --set sift.flor=1",
            "sift.flor is neither a setting nor an option of sift; did you mean floor?",
        ),
        (
            "ask a.mp4 x --set flor=1 --reader similarity",
            "neither a setting nor an option of sift or similarity; did you",
        ),
        ("ask a.mp4 x", "there is no reader: add --reader http://HOST:PORT/v1, or name it once with framesift config"),
        ("index CLIP CLIP --set device=cuda", "the encoder offline runs on the CPU only: choose device cpu or auto"),
        ("index a.mp4 --set budget=3", "budget is no setting of this command"),
        ("index a.mp4 --set devise=cpu", "devise is no setting of this command; did you mean device?"),
        ("config flor=1", "flor is neither a setting nor an option of sift; did you mean floor?"),
        ("config budget=many", "budget is 'many'"),
        ("config budget=", "budget is not set in "),
        ("config budget", "'budget' sets nothing; expected NAME=VALUE"),
        ("config reader=http://h/v1 reader.api_key=x", "api_key is given as an option of http://h/v1"),
        ("bench evidence words.json", "give a video whose frames stand for them: --video"),
        ("bench evidence words.json --methods t-star", "t-star can't run on evidence sets"),
        ("bench evidence words.json --selections x.json --methods gcr", "--methods runs selectors on"),
        ("bench evidence longvideobench", "longvideobench needs its directory; give it with --data"),
        ("bench evidence nowhere.json", "nowhere.json can't be read"),
        ("bench longvideobench --data nowhere", "nowhere"),
        ("bench report nowhere", "nowhere does not exist"),
        ("bench run nowhere.yaml", "can't be read"),
        ("bench nowhere.jsonl", "nowhere.jsonl"),
        (f"{BENCH} --methods gcrr", "gcrr"),
        (f"{BENCH} --shard 3/2", "3/2"),
        (f"{BENCH} --readers nobody", "nobody"),
        (f"{BENCH} --ids x", "x"),
        ("mcp none", "is not a directory"),
        ("mcp --token x", "--token and --allow-host go with --http"),
        ("mcp --wait -1", "wait is -1"),
        ("mcp --http --token ' '", "--token is empty"),
        ("serve --host 0.0.0.0 --port 0", "--token auto"),
        ("serve nowhere", "is not a directory"),
        ("serve --port 70000", "from 0 to 65535"),
        ("serve --port 0 --token ab\udcff", "not text"),
        (f"serve --port 0 --host {'x' * 300} --token secret", "can't listen"),
        ("serve --port 0 --set event_encoder=nope", "'nope'"),
        ("serve --port 0 --set speech=nope", "'nope'"),
    ],
)
def test_bad_usage_is_one_sentence_and_nothing_is_written(line, expected, clip, place, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
    monkeypatch.delenv("FRAMESIFT_READER", raising=False)
    (place / "taken").mkdir()
    (place / "taken" / "letter.txt").write_text("dear")
    (place / "-clip.mp4").write_text("no video")
    (place / "settings.json").write_text('{"bugdet": 4}')
    asked = {"video": "v", "question": "a red bus", "first": 0}
    (place / "words.json").write_text(json.dumps({"videos": {"v": ["A red bus."]}, "questions": [asked]}))
    row = {"id": "q", "video": str(clip), "question": "Which?", "options": ["red", "blue"], "answer": "A"}
    (place / "own.json").write_text(json.dumps([row]))
    before = contents(place)
    assert main([str(clip) if word == "CLIP" else word for word in shlex.split(line)]) == 2
    out, err = capsys.readouterr()
    *others, sentence = err.splitlines()
    assert sentence.startswith("framesift: ") and expected in sentence and not out
    assert not [other for other in others if other.startswith(("framesift: ", "Traceback"))]
    assert contents(place) == before


@pytest.mark.parametrize("words", [[], ["corpus"], ["bench"]])
def test_command_alone_prints_its_commands(words, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out.startswith(("try: framesift demo\n", "example: framesift")) and not err
