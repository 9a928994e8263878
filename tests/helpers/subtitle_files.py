"""One small file per subtitle format, all with the same two cues."""

TWO = [(1.0, 2.5, "Hello there, you"), (3.0, 4.0, "Bye & thanks")]
YOUTUBE_HEAD = '<?xml version="1.0" encoding="utf-8" ?>'

FILES = {
    "SubRip": "1\n00:00:01,000 --> 00:00:02,500\nHello there,\nyou\n\n"
    "2\n00:00:03,000 --> 00:00:04,000\nBye &amp; thanks\n",
    "WebVTT": "WEBVTT\n\n00:01.000 --> 00:02.500 align:start\nHello there,\nyou\n\n"
    "id\n00:03.000 --> 00:04.000\nBye &amp; thanks",
    "SubStation": "[Script Info]\nTitle: x\n\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: D,&Hnonsense\n\n[Events]\n"
    "Format: Start, End, Style, Text\nComment: 0:00:00.00,0:00:01.00,D,no\n"
    "Dialogue: 0:00:01.00,0:00:02.50,D,{\\an8}Hello there,\\Nyou\n"
    "Dialogue: 0:00:03.00,0:00:04.00,D,{\\p1}m 0 0 l 9 9{\\p0}Bye\\h& thanks\n",
    "SBV": "0:00:01.000,0:00:02.500\nHello there,\nyou\n\n0:00:03.000,0:00:04.000\nBye & thanks\n",
    "MicroDVD": "{1}{1}25.000\n{25}{63}{y:i}Hello there,|/you\n{75}{100}Bye & thanks\n",
    "SAMI": "<SAMI><HEAD><STYLE><!-- .ENCC {Name:English; lang:en-US;} --></STYLE></HEAD><BODY>\n"
    "<SYNC Start=1000><P Class=ENCC>Hello there,<br>you\n<SYNC Start=2500><P Class=ENCC>&nbsp;\n"
    "<SYNC Start=3000><P Class=ENCC>Bye &amp; thanks\n<SYNC Start=4000><P Class=ENCC>&nbsp;</BODY></SAMI>",
    "TTML": '<tt xmlns="http://www.w3.org/ns/ttml" xml:lang="en"><body><div>'
    '<p begin="1s" end="2.5s">Hello <span>there,</span><br/>you</p>'
    '<p begin="00:00:03.000" dur="1s">\n   Bye &amp;\n thanks </p></div></body></tt>',
    "YouTube XML": YOUTUBE_HEAD + '<transcript><text start="1" dur="1.5">Hello there,\nyou</text>'
    '<text start="3" dur="1">Bye &amp;amp; thanks</text></transcript>',
    "JSON": '[{"start": 1, "end": 2.5, "text": "Hello there, you"}, '
    '{"start": "3", "end": "00:00:04.000", "line": "Bye & thanks"}]',
}


def put(folder, content, name="film.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def subrip(*cues):
    """SubRip of (start, end, text), in seconds below a minute."""
    return "".join(f"{k}\n00:00:{a:06.3f} --> 00:00:{b:06.3f}\n{text}\n\n" for k, (a, b, text) in enumerate(cues, 1))


def triples(events):
    return [(round(e.start_s, 3), round(e.end_s, 3), e.text) for e in events]
