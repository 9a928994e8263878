"""The file of a multipart/form-data body (`curl -F file=@video.mp4`), taken from the stream as it arrives."""

import re
from collections.abc import AsyncIterator
from email.message import Message
from email.parser import HeaderParser

from framesift.errors import InputError

MAX_HEADER_BYTES = 8192


def boundary_of(content_type: str) -> bytes | None:
    """The boundary of a multipart/form-data body; None for any other content type."""
    message = Message()
    message["content-type"] = content_type
    if message.get_content_type() != "multipart/form-data":
        return None
    boundary = message.get_param("boundary")
    if not isinstance(boundary, str) or not 0 < len(boundary) <= 200:
        raise InputError("the header content-type has no boundary; expected multipart/form-data; boundary=…")
    return boundary.encode("latin-1", "replace")


async def read_file_part(chunks: AsyncIterator[bytes], boundary: bytes, names: list[str]) -> AsyncIterator[bytes]:
    """Yield the content of the first part that is a file and add its name to `names`. The rest is read and dropped."""
    opening, closing = b"--" + boundary, b"\r\n--" + boundary
    data, is_file, is_done = b"\r\n", False, False
    async for chunk in chunks:
        data += chunk
        while not is_done:
            if is_file:
                end = data.find(closing)
                if end >= 0:
                    yield data[:end]
                    is_done = True
                elif len(data) > len(closing):
                    yield data[: -len(closing)]
                    data = data[-len(closing) :]
                break
            start = data.find(opening)
            head_end = data.find(b"\r\n\r\n", max(start, 0))
            if start < 0 or head_end < 0:
                if len(data) > MAX_HEADER_BYTES + len(opening):
                    data = data[-len(opening) :] if start < 0 else data[start:]
                    if start >= 0 and len(data) > MAX_HEADER_BYTES:
                        raise InputError("the headers of a part of the form are too long")
                break
            name = _file_name(data[start:head_end])
            data = data[head_end + 4 :]
            if name is not None:
                names.append(name)
                is_file = True
        if is_done:
            data = b""
    if not is_done:
        raise InputError("the form has no file; expected one, as curl -F file=@video.mp4 sends it")


def _file_name(head: bytes) -> str | None:
    """The name in the headers of a part; None for a field that is not a file."""
    lines = head.split(b"\r\n", 1)[-1].decode("utf-8", "replace")
    disposition = HeaderParser().parsestr(lines).get("content-disposition", "")
    match = re.search(r'filename="((?:[^"\\]|\\.)*)"', disposition) or re.search(r"filename=([^;\s]+)", disposition)
    return None if match is None else re.sub(r"\\(.)", r"\1", match[1])
