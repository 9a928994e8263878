"""Choice of the speech engine, missing packages and weights, and Whisper with a tiny real model."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from framesift.errors import InputError, MissingExtra, UnknownName
from framesift.text import moonshine, speech
from framesift.text.speech import engine_name, recognise, segment_words
from framesift.text.word_timing import Word
from framesift.video.audio import RATE
from helpers.sounds import music, noise, voice, write_sound

SMALL = "Systran/faster-whisper-small"


def write_whisper(folder, text):
    """Write a Whisper model of one tiny layer that outputs `text`, in two seconds, for any voice."""
    import tokenizers
    from ctranslate2.specs import whisper_spec
    from faster_whisper.tokenizer import _LANGUAGE_CODES

    width, heads = 64, 2
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    spoken_words = [f"Ġ{word}" for word in text.split()]
    tokens = [*letters, *dict.fromkeys(spoken_words)]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({token: k for k, token in enumerate(tokens)}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    languages = [f"<|{code}|>" for code in sorted(_LANGUAGE_CODES)]
    tasks = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    special = ["<|endoftext|>", "<|startoftranscript|>", *languages, *(f"<|{task}|>" for task in tasks)]
    tokenizer.add_special_tokens([tokenizers.AddedToken(mark, special=True) for mark in special])
    ids = tokenizer.get_vocab()
    vocabulary = [*sorted(ids, key=ids.__getitem__), *(f"<|{k * 0.02:.2f}|>" for k in range(1501))]

    def zeros(*shape):
        return np.zeros(shape, np.float32)

    def linear(part, rows, columns=width):
        part.weight, part.bias = zeros(rows, columns), zeros(rows)

    def fill(layer, *outputs):
        layer.layer_norm.gamma, layer.layer_norm.beta = np.ones(width, np.float32), zeros(width)
        for part, size in zip(getattr(layer, "linear", ()), outputs, strict=True):
            linear(part, size)

    spec = whisper_spec.WhisperSpec(1, heads, 1, heads)
    encoder, decoder = spec.encoder, spec.decoder
    for convolution, channels in ((encoder.conv1, 80), (encoder.conv2, width)):
        convolution.weight, convolution.bias = zeros(width, channels, 3), zeros(width)
    # Words are timed by attention: position k attends to the k-th 0.4 s.
    encoder.position_encodings.encodings = zeros(1500, width)
    for step in range(20 * width):
        encoder.position_encodings.encodings[step, step // 20] = 10.0
    for module in (encoder, decoder):
        fill(module)
        fill(module.layer[0].self_attention, 3 * width, width)
        fill(module.layer[0].ffn)
        linear(module.layer[0].ffn.linear_0, 4 * width)
        linear(module.layer[0].ffn.linear_1, width, 4 * width)
    cross_attention = decoder.layer[0].attention
    fill(cross_attention, width, 2 * width, width)
    for part in cross_attention.linear[:2]:
        part.weight[:width] = np.eye(width)
    # The position of a token alone determines the next one.
    decoder.embeddings.weight, decoder.projection.weight = zeros(len(vocabulary), width), zeros(len(vocabulary), width)
    decoder.position_encodings.encodings = zeros(448, width)
    script = ["<|0.00|>", *spoken_words, "<|2.00|>", "<|endoftext|>"]
    for position, token in enumerate(script):
        decoder.position_encodings.encodings[position, position] = 10.0
        decoder.projection.weight[vocabulary.index(token), position] = 3.0
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
    """An empty cache of the model hub; call it to add a model's files."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)

    def put(repo, files=speech.WHISPER_FILES):
        folder = tmp_path / "hub" / ("models--" + repo.replace("/", "--"))
        for name in ("refs/main", *(f"snapshots/abc/{file}" for file in files)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("abc")
        return folder / "snapshots" / "abc"

    return put


def test_whisper_from_a_folder_gives_words_language_and_times(tmp_path):
    folder = write_whisper(tmp_path / "model", text="Go to space now.")
    path = write_sound(tmp_path / "late.mkv", voice(), start_s=20.0, pictures_s=31.0)
    warnings = []
    events = recognise(path, engine=f"whisper:{folder}", language=None, warn=warnings.append)
    assert events and {event.text for event in events} == {"Go to space now."}
    assert all(20.0 <= event.start_s <= event.end_s <= 30.5 for event in events)
    assert len(warnings) == 1 and warnings[0].startswith("the language of the speech was guessed: en (probability ")


def test_text_without_a_voice_behind_it_is_left_out(tmp_path, monkeypatch):
    class HearsSentencesEverywhere:
        block_s = 30.0

        def words(self, block):
            for at_s in block.start_s + np.arange(len(block.samples) // RATE):
                yield [Word(at_s, at_s + 0.9, f" Sentence at {at_s:.0f}.")]

        def close(self):
            pass

    monkeypatch.setattr(speech, "_load", lambda *_: HearsSentencesEverywhere())
    silence, tone = np.zeros(5 * RATE), 0.2 * np.sin(np.arange(5 * RATE) * 2 * np.pi * 440 / RATE)
    samples = np.concatenate([noise(5, 0.005), noise(5), music(10), tone, voice()[: 5 * RATE], silence, music(5)])
    events = recognise(write_sound(tmp_path / "mixed.wav", samples), engine="moonshine", language=None)
    assert len(events) >= 3 and all(24 <= event.start_s <= 30 for event in events)


def test_broken_weights_are_reported_with_their_folder(tmp_path):
    for name in speech.WHISPER_FILES:
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="can't be loaded"):
        recognise(write_sound(tmp_path / "a.wav", noise(1)), engine=f"whisper:{tmp_path}", language=None)


TINY, ELVISH = "Systran/faster-whisper-tiny", "someone/faster-whisper-elvish"


@pytest.mark.parametrize(
    ("cached", "engine", "name"),
    [
        ([TINY, SMALL], "auto", "whisper:small"),
        ([TINY, SMALL], "whisper", "whisper:small"),
        ([], "auto", "moonshine"),
        ([ELVISH], f"whisper:{ELVISH}", f"whisper:{ELVISH}"),
    ],
)
def test_engine_is_the_best_whose_weights_are_cached(cached, engine, name, hub):
    for repository in cached:
        hub(repository)
    hub("Systran/faster-whisper-medium", files=("model.bin", "config.json"))  # incomplete
    assert engine_name(engine) == name


@pytest.mark.parametrize(
    ("engine", "error", "message"),
    [
        ("whisper", InputError, f"hf download {SMALL}"),
        (f"whisper:{SMALL}", InputError, f"hf download {SMALL}"),
        ("whisper:.", InputError, "has no model.bin"),
        ("whisper:gigantic", UnknownName, "turbo, .*small"),
        ("parrot", UnknownName, "moonshine, whisper"),
    ],
)
def test_engine_that_can_not_be_used_is_an_error_with_the_remedy(engine, error, message, hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        engine_name(engine)


def test_english_model_rejects_another_language(hub, tmp_path):
    hub("Systran/faster-whisper-base.en")
    with pytest.raises(InputError, match="use whisper:base"):
        recognise(write_sound(tmp_path / "a.wav", np.zeros(RATE)), engine="whisper:base.en", language="fr")


def test_choice_of_the_engine_loads_no_model(monkeypatch):
    for library in ("moonshine_voice", "faster_whisper", "ctranslate2", "torch"):
        monkeypatch.delitem(sys.modules, library, raising=False)
    engine_name("auto")
    assert not {"moonshine_voice", "faster_whisper", "ctranslate2", "torch"} & set(sys.modules)


@pytest.mark.parametrize("engine", ["auto", "moonshine", "whisper", "whisper:small"])
def test_missing_extra_is_reported_with_its_remedy(engine, monkeypatch):
    for module in (speech, moonshine):
        monkeypatch.setattr(module, "is_installed", lambda package: False)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[speech\]'"):
        engine_name(engine)


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ({}, [Word(61.0, 61.5, " Hello")]),
        ({"no_speech_prob": 0.9, "avg_logprob": -1.3}, []),
        ({"avg_logprob": -2.5}, []),
        ({"compression_ratio": 3.0}, []),
    ],
    ids=["words", "no speech", "unlikely", "repeats itself"],
)
def test_segments_that_pass_whispers_thresholds_have_words_with_times_in_the_video(measures, expected):
    usual = {"avg_logprob": -0.3, "no_speech_prob": 0.1, "compression_ratio": 1.2}
    spoken = SimpleNamespace(start=1.0, end=1.5, word=" Hello")
    assert segment_words(SimpleNamespace(words=[spoken], **usual | measures), 60.0) == expected
