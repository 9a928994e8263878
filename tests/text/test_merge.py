"""Merging of several sources: duplicate text is taken from the more reliable source."""

from hypothesis import given
from hypothesis import strategies as st

from framesift.text.merge import merge_events
from framesift.types import Event


def speech(start_s, end_s, text):
    return Event(start_s, end_s, text, source="speech")


def screen(start_s, end_s, text):
    return Event(start_s, end_s, text, source="screen")


def test_burned_in_subtitle_replaces_the_same_recognised_speech():
    on_screen = screen(24.0, 27.0, "Look Celia, we have to follow our passions.")
    recognised = speech(24.3, 27.2, "I can tell. Look Celia we have to follow our passions")
    assert merge_events([recognised], [on_screen]) == [on_screen]


def test_subtitles_replace_screen_text():
    written = Event(24.0, 27.0, "Look Celia, we have to follow our passions.")
    assert merge_events([screen(24.0, 27.0, "Look Celia, we haue to follow our passions")], [written]) == [written]


def test_small_recognition_errors_are_ignored():
    written = Event(10.0, 12.0, "Robot's memory synced and locked.")
    assert merge_events([written], [speech(9.8, 12.4, "Robots memory sink and locked")]) == [written]


def test_speech_across_two_subtitles_is_a_duplicate():
    written = [Event(0.0, 2.0, "You have your robotics"), Event(2.0, 4.0, "and I want to be awesome in space.")]
    recognised = speech(0.2, 3.9, "You have your robotics and I want to be awesome in space.")
    assert merge_events(written, [recognised]) == written


def test_same_words_at_another_time_are_kept():
    written, recognised = Event(20.0, 22.0, "It's not my fault."), speech(60.0, 62.0, "It's not my fault.")
    assert merge_events([recognised], [written]) == [written, recognised]


def test_different_words_at_the_same_time_are_kept():
    sign, recognised = screen(43.0, 45.0, "40 YEARS LATER"), speech(43.0, 45.0, "Oh, what have I done?")
    assert merge_events([sign], [recognised]) == [sign, recognised]


def test_repetition_within_one_source_is_kept():
    recognised = [speech(1.0, 2.0, "No!"), speech(2.2, 3.0, "No!")]
    assert merge_events(recognised) == recognised


def test_scripts_without_spaces_are_compared_by_character():
    written = Event(5.0, 8.0, "我们必须追随自己的热情")
    assert merge_events([written], [speech(5.1, 8.0, "我们必须追寻自己的热情。")]) == [written]


def test_events_are_sorted_by_start():
    late, early = Event(9.0, 10.0, "the end"), speech(1.0, 2.0, "hello")
    assert merge_events([late], [early]) == [early, late]


def test_no_sources_give_no_events():
    assert merge_events() == merge_events([], []) == []


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
