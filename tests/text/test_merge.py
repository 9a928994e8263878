"""Several sources in one list: what is told twice is kept once, from the better source."""

from hypothesis import given
from hypothesis import strategies as st

from framesift.text.merge import merge_events
from framesift.types import Event


def speech(start_s, end_s, text):
    return Event(start_s, end_s, text, source="speech")


def screen(start_s, end_s, text):
    return Event(start_s, end_s, text, source="screen")


def test_burned_in_subtitle_replaces_the_same_words_heard():
    read = screen(24.0, 27.0, "Look Celia, we have to follow our passions.")
    heard = speech(24.3, 27.2, "I can tell. Look Celia we have to follow our passions")
    assert merge_events([heard], [read]) == [read]


def test_subtitles_come_before_screen_text():
    written = Event(24.0, 27.0, "Look Celia, we have to follow our passions.")
    assert merge_events([screen(24.0, 27.0, "Look Celia, we haue to follow our passions")], [written]) == [written]


def test_small_errors_of_hearing_are_no_difference():
    written = Event(10.0, 12.0, "Robot's memory synced and locked.")
    assert merge_events([written], [speech(9.8, 12.4, "Robots memory sink and locked")]) == [written]


def test_speech_across_two_subtitles_is_found_in_both_together():
    written = [Event(0.0, 2.0, "You have your robotics"), Event(2.0, 4.0, "and I want to be awesome in space.")]
    heard = speech(0.2, 3.9, "You have your robotics and I want to be awesome in space.")
    assert merge_events(written, [heard]) == written


def test_same_words_at_another_time_stay():
    written, heard = Event(20.0, 22.0, "It's not my fault."), speech(60.0, 62.0, "It's not my fault.")
    assert merge_events([heard], [written]) == [written, heard]


def test_different_words_at_the_same_time_stay():
    sign, heard = screen(43.0, 45.0, "40 YEARS LATER"), speech(43.0, 45.0, "Oh, what have I done?")
    assert merge_events([sign], [heard]) == [sign, heard]


def test_a_line_said_twice_in_one_source_stays_twice():
    heard = [speech(1.0, 2.0, "No!"), speech(2.2, 3.0, "No!")]
    assert merge_events(heard) == heard


def test_scripts_without_spaces_are_compared_by_the_character():
    written = Event(5.0, 8.0, "我们必须追随自己的热情")
    assert merge_events([written], [speech(5.1, 8.0, "我们必须追寻自己的热情。")]) == [written]


def test_events_come_out_by_their_start():
    late, early = Event(9.0, 10.0, "the end"), speech(1.0, 2.0, "hello")
    assert merge_events([late], [early]) == [early, late]


def test_nothing_gives_nothing():
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
def test_nothing_is_added_and_subtitles_never_go(one, other):
    merged = merge_events(one, other)
    given_events = [*one, *other]
    assert all(merged.count(event) <= given_events.count(event) for event in merged)
    assert all(event in merged for event in given_events if event.source == "subtitles")
    assert merged == sorted(merged, key=lambda event: (event.start_s, event.end_s))
