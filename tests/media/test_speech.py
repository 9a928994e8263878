"""Speech: both engines run for real, on voices that moonshine-voice carries in its wheel and on sound made here."""

import importlib.util
import os
import re
import subprocess
import sys
import tracemalloc
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest

from framesift.errors import FramesiftError, InputError, MissingExtra, UnknownName
from framesift.media import moonshine, speech
from framesift.media.audio import RATE, Block, open_sound, quietest
from framesift.media.speech import engine_name, recognise, segment_words
from framesift.media.words import Word, is_invented, sentences, without_loops
from framesift.records import Event

FILM = Path(__file__).parents[3] / "shared" / "data" / "film" / "tears_of_steel_426.mp4"
INSTALL = "pip install 'framesift[speech]'"
HAS_MOONSHINE = importlib.util.find_spec("moonshine_voice") is not None
HAS_WHISPER = importlib.util.find_spec("faster_whisper") is not None
needs_moonshine = pytest.mark.skipif(not HAS_MOONSHINE, reason=f"moonshine-voice is not installed: {INSTALL}")
needs_whisper = pytest.mark.skipif(not HAS_WHISPER, reason=f"faster-whisper is not installed: {INSTALL}")


# sound made here ------------------------------------------------------------------------------------------------------


def write_sound(path, samples, *, start_s=0.0, codec="pcm_s16le", pictures_s=0.0, hole=None):
    """A file with `samples` (16 kHz mono) from start_s on; hole: (at, length) in seconds, moved apart there."""
    with av.open(str(path), "w") as out:
        video = out.add_stream("mpeg4", rate=5) if pictures_s else None
        if video is not None:
            video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound = out.add_stream(codec, rate=RATE, layout="mono")
        for number in range(int(pictures_s * 5)):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), number % 250, np.uint8), "rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 5)
            out.mux(video.encode(frame))
        if video is not None:
            out.mux(video.encode(None))
        for at in range(0, len(samples), 1024):
            part = (samples[at : at + 1024] * 32767).astype(np.int16)[None]
            frame = av.AudioFrame.from_ndarray(part, "s16", "mono")
            moved = hole[1] if hole and at / RATE >= hole[0] else 0.0
            frame.sample_rate, frame.time_base = RATE, Fraction(1, RATE)
            frame.pts = at + round((start_s + moved) * RATE)
            out.mux(sound.encode(frame))
        out.mux(sound.encode(None))
    return path


def voice(name="beckett.wav"):
    """A recording inside moonshine-voice's wheel, as 16 kHz samples."""
    place = importlib.util.find_spec("moonshine_voice").submodule_search_locations[0]
    with open_sound(Path(place, "assets", name)) as sound:
        return np.concatenate([block.samples for block in sound.blocks(30.0)])


@pytest.fixture(scope="module")
def beckett():
    """Ten seconds: "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better." """
    return voice()


@pytest.fixture(scope="module")
def spoken(tmp_path_factory, beckett):
    return recognise(write_sound(tmp_path_factory.mktemp("sound") / "voice.wav", beckett), engine="moonshine")


def noise(seconds, level=0.1):
    return (np.random.default_rng(0).normal(0, level, int(seconds * RATE))).clip(-1, 1)


def music(seconds):
    """Chords that change twice a second."""
    time = np.arange(int(seconds * RATE)) / RATE
    root = 220 * 2 ** (np.floor(time * 2) % 7 / 12)
    chord = sum(np.sin(2 * np.pi * np.cumsum(root * ratio) / RATE) for ratio in (1, 1.25, 1.5))
    return 0.15 * chord * (1 - (time * 2) % 1)


def blocks_of(path, block_s=30.0):
    with open_sound(path) as sound:
        return list(sound.blocks(block_s))


# sound ----------------------------------------------------------------------------------------------------------------


def test_blocks_hold_every_sample_once_and_follow_each_other(tmp_path):
    samples = noise(25)
    blocks = blocks_of(write_sound(tmp_path / "a.wav", samples), 10.0)
    assert np.allclose(np.concatenate([block.samples for block in blocks]), samples, atol=1e-3)
    assert all(len(block.samples) <= 10 * RATE for block in blocks)
    assert [a.end_s for a in blocks[:-1]] == pytest.approx([b.start_s for b in blocks[1:]])


def test_a_block_is_cut_where_it_is_quiet():
    samples = noise(9)
    samples[7 * RATE : 8 * RATE] = 0
    assert 7 * RATE < quietest(samples) < 8 * RATE


def test_sound_that_starts_late_has_late_times(tmp_path):
    path = write_sound(tmp_path / "late.mkv", noise(2), start_s=5.0, pictures_s=8.0)
    assert blocks_of(path)[0].start_s == pytest.approx(5.0, abs=0.05)


def test_the_containers_own_start_is_zero(tmp_path):
    path = write_sound(tmp_path / "offset.ts", noise(2), start_s=100.0, pictures_s=0.0, codec="mp2")
    with av.open(str(path)) as container:
        assert container.start_time > 50_000_000
    assert blocks_of(path)[0].start_s == pytest.approx(0.0, abs=0.05)


def test_a_hole_in_the_sound_starts_a_new_block_at_its_time(tmp_path):
    path = write_sound(tmp_path / "hole.mkv", noise(4), hole=(2.0, 10.0))
    assert [block.start_s for block in blocks_of(path)] == pytest.approx([0.0, 12.0], abs=0.1)


def test_any_rate_and_layout_becomes_16_khz_mono(tmp_path):
    with av.open(str(tmp_path / "stereo.mp4"), "w") as out:
        stream = out.add_stream("aac", rate=44100, layout="stereo")
        for at in range(0, 44100 * 2, 1024):
            frame = av.AudioFrame.from_ndarray(np.full((2, 1024), 0.1, np.float32), "fltp", "stereo")
            frame.sample_rate, frame.pts, frame.time_base = 44100, at, Fraction(1, 44100)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    (block,) = blocks_of(tmp_path / "stereo.mp4")
    assert block.samples.ndim == 1 and block.samples.dtype == np.float32
    assert block.end_s == pytest.approx(2.0, abs=0.1)


def test_memory_does_not_grow_with_length(tmp_path):
    path = write_sound(tmp_path / "long.wav", np.zeros(600 * RATE, np.float32))
    tracemalloc.start()
    with open_sound(path) as sound:
        for _ in sound.blocks(30.0):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000  # the whole would be 38 MB


def test_a_file_without_sound_is_an_error_that_says_so(tmp_path):
    with av.open(str(tmp_path / "mute.mp4"), "w") as out:
        stream = out.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        out.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), "rgb24")))
        out.mux(stream.encode(None))
    with pytest.raises(InputError, match="has no sound"):
        recognise(tmp_path / "mute.mp4")


def test_a_file_that_is_no_media_is_an_error(tmp_path):
    (tmp_path / "notes.mp4").write_text("not a video")
    with pytest.raises(InputError, match="can't be opened"):
        recognise(tmp_path / "notes.mp4")


# moonshine ------------------------------------------------------------------------------------------------------------


@needs_moonshine
def test_moonshine_hears_what_is_said(spoken):
    text = " ".join(event.text for event in spoken).lower()
    assert "tried" in text and "no matter" in text and "try again" in text
    assert {event.source for event in spoken} == {"speech"}


@needs_moonshine
def test_events_are_sentence_like_and_in_the_clip(spoken):
    assert len(spoken) >= 5
    assert all(0 <= event.start_s < event.end_s <= 10.0 and event.end_s - event.start_s <= 7.5 for event in spoken)


@needs_moonshine
def test_times_are_those_of_the_sound(spoken, beckett, tmp_path):
    late = recognise(
        write_sound(tmp_path / "late.mkv", beckett, start_s=20.0, pictures_s=31.0, codec="aac"), engine="moonshine"
    )
    assert late[0].start_s == pytest.approx(spoken[0].start_s + 20.0, abs=0.5)


@needs_moonshine
def test_a_sentence_after_a_pause_starts_where_it_is_heard(beckett, tmp_path):
    phrase = beckett[: int(1.5 * RATE)]
    samples = np.concatenate([phrase, np.zeros(6 * RATE), phrase])
    events = recognise(write_sound(tmp_path / "pause.wav", samples), engine="moonshine")
    loud = np.flatnonzero(np.abs(phrase) > 0.1 * np.abs(phrase).max())[0] / RATE
    assert [event.start_s for event in events] == pytest.approx([loud, 7.5 + loud], abs=0.5)


@needs_moonshine
@pytest.mark.parametrize(
    "samples", [np.zeros(8 * RATE), noise(8), noise(8, 0.005), music(8)], ids=["silence", "noise", "hiss", "music"]
)
def test_sound_without_speech_gives_no_events(samples, tmp_path):
    assert recognise(write_sound(tmp_path / "empty.wav", samples), engine="moonshine") == []


@needs_moonshine
def test_progress_ends_at_the_whole(tmp_path):
    calls = []
    path = write_sound(tmp_path / "quiet.wav", np.zeros(70 * RATE))
    recognise(path, engine="moonshine", progress=lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == pytest.approx((70.0, 70.0), abs=0.1)


@needs_moonshine
def test_moonshine_works_without_an_audio_device_library(beckett, tmp_path):
    path = write_sound(tmp_path / "voice.wav", beckett)
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    code = (
        "import sys; from framesift.media.speech import recognise\n"
        "print(len(recognise(sys.argv[1], engine='moonshine')))"
    )
    command = [sys.executable, "-c", code, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) >= 5


@needs_moonshine
def test_moonshine_hears_every_block_as_if_it_were_the_first(beckett):
    block = Block(0.0, beckett.astype(np.float32))
    with closing(moonshine.Moonshine(moonshine.model_folder())) as engine:
        first, second, third = (list(engine.words(block)) for _ in range(3))
    assert first and first == second == third


@needs_moonshine
def test_no_process_of_moonshine_is_left_behind(beckett, tmp_path, monkeypatch):
    started = []
    start = moonshine.Moonshine._start
    monkeypatch.setattr(moonshine.Moonshine, "_start", lambda self: started.append(start(self)) or started[-1])
    recognise(write_sound(tmp_path / "voice.wav", beckett), engine="moonshine")
    assert started and all(child.poll() is not None for child in started)


@needs_moonshine
def test_moonshine_that_dies_is_one_sentence(beckett, tmp_path, monkeypatch):
    path = write_sound(tmp_path / "voice.wav", beckett)
    monkeypatch.setattr(moonshine.sys, "executable", "false" if os.name == "posix" else sys.executable)
    with pytest.raises(FramesiftError, match="the speech engine moonshine stopped"):
        recognise(path, engine="moonshine")


@needs_moonshine
def test_moonshine_refuses_another_language(tmp_path):
    with pytest.raises(InputError, match="knows English alone"):
        recognise(write_sound(tmp_path / "a.wav", np.zeros(RATE)), engine="moonshine", language="de")


@needs_moonshine
@pytest.mark.skipif(not FILM.exists(), reason="the film is not here: expected it at " + FILM.name)
def test_words_of_a_film_are_found_near_their_subtitles(tmp_path):
    with open_sound(FILM) as sound:
        first = next(sound.blocks(60.0)).samples
    events = recognise(write_sound(tmp_path / "film.wav", first), engine="moonshine")
    passions = next(event for event in events if "passions" in event.text.lower())
    assert 22.0 <= passions.start_s <= 26.0 and 25.0 <= passions.end_s <= 29.0


# Whisper --------------------------------------------------------------------------------------------------------------


def write_whisper(folder, says):
    """A real Whisper of one tiny layer, which says the words `says` in two seconds whenever it hears a voice."""
    import tokenizers
    from ctranslate2.specs import whisper_spec
    from faster_whisper.tokenizer import _LANGUAGE_CODES

    width, heads = 64, 2
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    spoken_words = [f"Ġ{word}" for word in says.split()]
    tokens = [*letters, *dict.fromkeys(spoken_words)]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({token: k for k, token in enumerate(tokens)}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    languages = [f"<|{code}|>" for code in sorted(_LANGUAGE_CODES)]
    tasks = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    marks = ["<|endoftext|>", "<|startoftranscript|>", *languages, *(f"<|{task}|>" for task in tasks)]
    tokenizer.add_special_tokens([tokenizers.AddedToken(mark, special=True) for mark in marks])
    ids = tokenizer.get_vocab()
    vocabulary = [*sorted(ids, key=ids.__getitem__), *(f"<|{k * 0.02:.2f}|>" for k in range(1501))]

    def zeros(*shape):
        return np.zeros(shape, np.float32)

    def fill(layer, *outputs):
        layer.layer_norm.gamma, layer.layer_norm.beta = np.ones(width, np.float32), zeros(width)
        for part, size in zip(getattr(layer, "linear", ()), outputs, strict=True):
            part.weight, part.bias = zeros(size, width), zeros(size)

    def fill_forward(layer):
        fill(layer)
        layer.linear_0.weight, layer.linear_0.bias = zeros(4 * width, width), zeros(4 * width)
        layer.linear_1.weight, layer.linear_1.bias = zeros(width, 4 * width), zeros(width)

    spec = whisper_spec.WhisperSpec(1, heads, 1, heads)
    encoder, decoder = spec.encoder, spec.decoder
    encoder.conv1.weight, encoder.conv1.bias = zeros(width, 80, 3), zeros(width)
    encoder.conv2.weight, encoder.conv2.bias = zeros(width, width, 3), zeros(width)
    # Words are timed by where the decoder looks: place k looks at the k-th 0.4 s.
    encoder.position_encodings.encodings = zeros(1500, width)
    for step in range(20 * width):
        encoder.position_encodings.encodings[step, step // 20] = 10.0
    for room in (encoder, decoder):
        fill(room)
        fill(room.layer[0].self_attention, 3 * width, width)
        fill_forward(room.layer[0].ffn)
    across = decoder.layer[0].attention
    fill(across, width, 2 * width, width)
    for part in across.linear[:2]:
        part.weight[:width] = np.eye(width)
    # The place of a token alone decides the next one: times and words.
    decoder.embeddings.weight, decoder.projection.weight = zeros(len(vocabulary), width), zeros(len(vocabulary), width)
    decoder.position_encodings.encodings = zeros(448, width)
    script = ["<|0.00|>", *spoken_words, "<|2.00|>", "<|endoftext|>"]
    for place, token in enumerate(script):
        decoder.position_encodings.encodings[place, place] = 10.0
        decoder.projection.weight[vocabulary.index(token), place] = 3.0
    spec.register_vocabulary(vocabulary)
    spec.config.lang_ids = [ids[mark] for mark in languages]
    spec.config.suppress_ids, spec.config.suppress_ids_begin, spec.config.alignment_heads = [], [], [[0, 0]]
    spec.validate()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty cache of the model hub; call it to put a model's files there."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)

    def put(repo, files=speech.WHISPER_FILES):
        place = tmp_path / "hub" / ("models--" + repo.replace("/", "--"))
        (place / "refs").mkdir(parents=True)
        (place / "refs" / "main").write_text("abc")
        (place / "snapshots" / "abc").mkdir(parents=True)
        for name in files:
            (place / "snapshots" / "abc" / name).write_text("")
        return place / "snapshots" / "abc"

    return put


@needs_whisper
@needs_moonshine
def test_whisper_from_a_folder_tells_words_language_and_times(beckett, tmp_path, caplog):
    folder = write_whisper(tmp_path / "model", says="Go to space now.")
    path = write_sound(tmp_path / "late.mkv", beckett, start_s=20.0, pictures_s=31.0)
    with caplog.at_level("INFO", logger="framesift"):
        events = recognise(path, engine=f"whisper:{folder}")
    assert events and {event.text for event in events} == {"Go to space now."}
    assert all(20.0 <= event.start_s <= event.end_s <= 30.5 for event in events)
    assert "the language is en" in caplog.text


@needs_whisper
@pytest.mark.parametrize("samples", [np.zeros(8 * RATE), noise(8)], ids=["silence", "noise"])
def test_whisper_is_not_heard_where_there_is_no_voice(samples, tmp_path):
    folder = write_whisper(tmp_path / "model", says="Thank you so much.")
    assert recognise(write_sound(tmp_path / "empty.wav", samples), engine=f"whisper:{folder}") == []


@needs_whisper
def test_weights_that_are_broken_are_an_error_that_names_them(tmp_path):
    for name in speech.WHISPER_FILES:
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="can't be loaded"):
        recognise(write_sound(tmp_path / "a.wav", noise(1)), engine=f"whisper:{tmp_path}")


@needs_whisper
def test_a_folder_without_weights_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(InputError, match="has no model.bin"):
        engine_name(f"whisper:{tmp_path}")


@needs_whisper
def test_auto_takes_whisper_where_its_weights_are_on_this_machine(hub):
    hub("Systran/faster-whisper-tiny")
    hub("Systran/faster-whisper-small")
    assert engine_name() == engine_name("whisper") == "whisper:small"


@needs_whisper
@needs_moonshine
def test_auto_takes_moonshine_where_no_weights_are(hub):
    assert engine_name() == "moonshine"
    assert speech.available() == (True, "")


@needs_whisper
@needs_moonshine
def test_weights_that_came_in_part_do_not_count(hub):
    hub("Systran/faster-whisper-small", files=("model.bin", "config.json"))
    assert engine_name() == "moonshine"


@needs_whisper
def test_a_hub_name_is_found_on_this_machine(hub):
    folder = hub("someone/faster-whisper-elvish")
    assert engine_name("whisper:someone/faster-whisper-elvish") == "whisper:someone/faster-whisper-elvish"
    assert os.path.samefile(speech._whisper_folder("someone/faster-whisper-elvish"), folder)


@needs_whisper
@pytest.mark.parametrize("engine", ["whisper", "whisper:small", "whisper:Systran/faster-whisper-small"])
def test_absent_weights_are_named_with_the_command_that_fetches_them(engine, hub):
    with pytest.raises(InputError, match="hf download Systran/faster-whisper-small"):
        engine_name(engine)


@needs_whisper
def test_an_unknown_size_lists_the_known_ones(hub):
    with pytest.raises(UnknownName, match="turbo, .*small"):
        engine_name("whisper:gigantic")


@needs_whisper
def test_a_model_for_english_refuses_another_language(hub, tmp_path):
    hub("Systran/faster-whisper-base.en")
    with pytest.raises(InputError, match="use whisper:base"):
        recognise(write_sound(tmp_path / "a.wav", np.zeros(RATE)), engine="whisper:base.en", language="fr")


def test_asking_for_the_engine_loads_no_model():
    code = (
        "import sys; from framesift.media import speech; speech.available()\n"
        "print(sorted({'moonshine_voice', 'faster_whisper', 'ctranslate2', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# what is missing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["auto", "moonshine", "whisper", "whisper:small"])
def test_absent_extra_is_named_with_its_remedy(engine, monkeypatch):
    for module in (speech, moonshine):
        monkeypatch.setattr(module, "is_installed", lambda package: False)
    with pytest.raises(MissingExtra, match=re.escape(INSTALL)):
        engine_name(engine)
    assert speech.available()[0] is False and INSTALL in speech.available()[1]


def test_an_unknown_engine_lists_the_known_ones():
    with pytest.raises(UnknownName, match="moonshine, whisper"):
        engine_name("parrot")


# words into events ----------------------------------------------------------------------------------------------------


def words(text, *, start_s=0.0, each_s=0.4, pauses=()):
    """Words of equal length; pauses: {number of a word: seconds of silence before it}."""
    out, at = [], start_s
    for number, token in enumerate(text.split()):
        at += dict(pauses).get(number, 0.0)
        out.append(Word(at, at + each_s, f" {token}"))
        at += each_s
    return out


def texts(events):
    return [event.text for event in events]


def test_an_utterance_is_cut_at_its_pauses():
    events = sentences(words("we have to follow our passions", pauses={3: 1.0}))
    assert texts(events) == ["we have to", "follow our passions"]
    assert events[1].start_s == pytest.approx(2.2)


def test_an_utterance_is_cut_after_its_sentences():
    assert texts(sentences(words("This is pretty freaky. Should you be here?"))) == [
        "This is pretty freaky.",
        "Should you be here?",
    ]


def test_a_last_short_word_stays_with_its_sentence():
    assert texts(sentences(words("It is not my fault. Sorry."))) == ["It is not my fault. Sorry."]


def test_a_long_sentence_is_cut_after_a_comma_into_readable_parts():
    text = "I am having nightmares of giant claws at night now, and they chase me through the whole town every time"
    events = sentences(words(text))
    assert texts(events)[0].endswith("now,")
    assert all(event.end_s - event.start_s <= 7.0 for event in events)
    assert " ".join(texts(events)) == text


def test_words_of_languages_without_spaces_are_joined_without():
    line = [Word(0.3 * k, 0.3 * k + 0.3, letter) for k, letter in enumerate("我爱你。")]
    assert texts(sentences(line)) == ["我爱你。"]


@pytest.mark.parametrize(
    "text",
    ["", "…", "♪ ♪", "you", "Thanks for watching!", "go go go go go go go", "I am. I am. " * 20],
)
def test_what_engines_invent_is_known(text):
    assert is_invented(Event(0.0, 5.0, text, source="speech"))


def test_more_letters_than_anybody_can_say_are_invented():
    text = "There is a lesson to be learned from this, could have gone worse"
    assert is_invented(Event(0.0, 0.5, text)) and not is_invented(Event(0.0, 4.0, text))


@pytest.mark.parametrize("text", ["No!", "Go, go, go!", "Thank you.", "You know...", "我爱你", "It's 10 o'clock"])
def test_what_people_say_is_kept(text):
    assert not is_invented(Event(0.0, 1.5, text, source="speech"))


def test_a_loop_over_many_events_leaves_one():
    loop = [Event(k, k + 1, "We're only one.", source="speech") for k in range(8)]
    assert without_loops([*loop, Event(9, 10, "Go!")]) == [loop[0], Event(9, 10, "Go!")]


def test_a_line_said_three_times_stays():
    said = [Event(k, k + 1, "Sorry.", source="speech") for k in range(3)]
    assert without_loops(said) == said


def segment(**changed):
    measures = {"avg_logprob": -0.3, "no_speech_prob": 0.1, "compression_ratio": 1.2}
    spoken_word = SimpleNamespace(start=1.0, end=1.5, word=" Hello")
    return SimpleNamespace(words=[spoken_word], **{**measures, **changed})


def test_a_segment_keeps_its_words_on_the_videos_clock():
    assert segment_words(segment(), 60.0) == [Word(61.0, 61.5, " Hello")]


@pytest.mark.parametrize(
    "measures",
    [{"no_speech_prob": 0.9, "avg_logprob": -1.3}, {"avg_logprob": -2.5}, {"compression_ratio": 3.0}],
    ids=["no speech", "unlikely", "repeats itself"],
)
def test_a_segment_that_fails_whispers_own_measures_is_dropped(measures):
    assert segment_words(segment(**measures), 0.0) == []
