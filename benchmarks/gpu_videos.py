"""The videos of benchmarks/gpu.py, made from a few seconds of another one."""

from fractions import Fraction

import av
import av.filter

FPS = 24
ENCODED_S = 5
FIRST_S = 60
SIZES = {"1080": (1920, 1080), "2160": (3840, 2160)}


def make_clip(source, path, codec, size):
    """Encode ENCODED_S seconds of the source, enlarged, with grain."""
    width, height = size
    with av.open(str(source)) as video, av.open(str(path), "w") as out:
        stream = out.add_stream("libx264" if codec == "h264" else "libx265", FPS)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        stream.codec_context.thread_type = "FRAME"  # PyAV's default cuts each frame into a slice per core
        if codec == "hevc":
            stream.codec_context.options = {"x265-params": "log-level=error"}
        video.seek(FIRST_S * 1_000_000)
        graph = av.filter.Graph()
        nodes = [
            graph.add_buffer(template=video.streams.video[0]),
            graph.add("scale", f"{width}:{height}:flags=bicubic"),
        ]
        nodes += [graph.add("noise", "c0s=7:c0f=t"), graph.add("buffersink")]
        graph.link_nodes(*nodes).configure()
        for n, frame in enumerate(video.decode(video=0)):
            if n == ENCODED_S * FPS:
                break
            graph.push(frame)
            picture = graph.pull()
            picture.pts, picture.time_base, picture.pict_type = n, Fraction(1, FPS), 0
            out.mux(stream.encode(picture))
        out.mux(stream.encode(None))


def repeat_clip(clip, path, minutes):
    """Repeat the packets of a clip; the name of the file is its title, so that no two files are the same."""
    with av.open(str(clip)) as source, av.open(str(path), "w") as out:
        out.metadata["title"] = path.stem
        from_stream = source.streams.video[0]
        stream = out.add_stream_from_template(from_stream)
        packets = [p for p in source.demux(from_stream) if p.size]
        length = int(ENCODED_S / from_stream.time_base)
        stamps = [(p.pts, p.dts) for p in packets]
        for round_number in range(minutes * 60 // ENCODED_S):
            for packet, (pts, dts) in zip(packets, stamps, strict=True):
                packet.pts, packet.dts = pts + round_number * length, dts + round_number * length
                packet.stream = stream
                out.mux(packet)


def make_video(source, folder, name, minutes):
    """An hour-long file for a row such as h264-1080, by repeating its clip."""
    codec, height = name.split("-")
    clip, path = folder / f"clip-{name}.mp4", folder / f"{name}.mp4"
    if not clip.exists():
        make_clip(source, clip, codec, SIZES[height])
    repeat_clip(clip, path, minutes)
    return f"{name}: {8 * path.stat().st_size / (60 * minutes) / 1e6:.1f} Mbit/s"


def make_slides(source, path):
    """Write a video of 1280 × 720 in which each frame of the source's every 20 s is shown for 4.3 s."""
    with av.open(str(source)) as video, av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", FPS)
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        stream.codec_context.time_base = Fraction(1, FPS)
        count = 0
        for slide in range(8):
            video.seek(20_000_000 * slide)
            picture = next(video.decode(video=0)).reformat(1280, 720, "yuv420p")
            for _ in range(103):
                picture.pts, picture.time_base, picture.pict_type = count, Fraction(1, FPS), 0
                out.mux(stream.encode(picture))
                count += 1
        out.mux(stream.encode(None))
