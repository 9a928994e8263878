"""The parsers behind `framesift.text.subtitles.reading`, one file per family of formats.

pysubs2 reads tidy files well, but one bad time or colour loses it the whole file, it takes XML entities on trust, and
it knows neither frame and tick times nor YouTube's and the benchmarks' JSON. So these parsers are our own and
forgiving; pysubs2 writes the files that they are tested on.

To add a format: write `parse_x(text) -> Parsed` whose cues hold lines cleaned by `markup`, linear in the length of any
text; raise `Unreadable` or `NotSubtitles` where nothing can be made of it; then name it, its mark in the content and
its endings in `formats`.
"""
