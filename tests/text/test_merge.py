"""Merging of several sources: duplicate text is taken from the more reliable source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.text.merge import merge_events
from framesift.types import Event


def speech(start_s, end_s, text):
    return Event(start_s, end_s, text, source="speech")


def screen(start_s, end_s, text):
    return Event(start_s, end_s, text, source="screen")


PASSIONS = "Look Celia, we have to follow our passions."
HALVES = [Event(0.0, 2.0, "You have your robotics"), Event(2.0, 4.0, "and I want to be awesome in space.")]
# What is kept, and what is left out because a more reliable source has its words at about its time.
DUPLICATES = {
    "screen text before speech": ([screen(24.0, 27.0, PASSIONS)], speech(24.3, 27.2, f"I can tell. {PASSIONS}")),
    "subtitles before screen text": ([Event(24.0, 27.0, PASSIONS)], screen(24.0, 27.0, PASSIONS.replace("v", "u"))),
    "small errors": ([Event(10, 12, "Robot's memory is synced.")], speech(9.8, 12.4, "Robots memory is sink")),
    "speech across two subtitles": (HALVES, speech(0.2, 3.9, " ".join(event.text for event in HALVES))),
    "a script without spaces": ([Event(5, 8, "我们必须追随自己的热情")], speech(5.1, 8, "我们必须追寻自己的热情。")),
}


@pytest.mark.parametrize("case", DUPLICATES)
def test_duplicates_are_taken_from_the_more_reliable_source(case):
    kept, left_out = DUPLICATES[case]
    assert merge_events([left_out], kept) == merge_events(kept, [left_out]) == kept


@pytest.mark.parametrize(
    "events",
    [
        [Event(20.0, 22.0, "It's not my fault."), speech(60.0, 62.0, "It's not my fault.")],
        [screen(43.0, 45.0, "40 YEARS LATER"), speech(43.0, 45.0, "Oh, what have I done?")],
        [speech(1.0, 2.0, "hello"), Event(9.0, 10.0, "the end")],
        [speech(1.0, 2.0, "No!"), speech(2.2, 3.0, "No!")],
        [],
    ],
)
def test_events_with_other_words_or_times_or_of_one_source_are_kept(events):
    is_one_source = len({event.source for event in events}) < 2
    assert (merge_events(events) if is_one_source else merge_events(events[1:], events[:1])) == events


events = st.lists(
    st.builds(
        lambda start, length, text, source: Event(start, start + length, text, source=source),
        st.floats(0, 30),
        st.floats(0, 5),
        st.sampled_from(["No!", "I love you.", "I love you so", "…", "go go go", "40 YEARS LATER"]),
        st.sampled_from(["subtitles", "screen", "speech", "mine"]),
    ),
    max_size=12,
)


@given(events, events)
def test_no_event_is_added_and_no_subtitle_is_dropped(one, other):
    merged = merge_events(one, other)
    given_events = [*one, *other]
    assert all(merged.count(event) <= given_events.count(event) for event in merged)
    assert all(event in merged for event in given_events if event.source == "subtitles")
    assert merged == sorted(merged, key=lambda event: (event.start_s, event.end_s))
