"""Game records: written, read back, other programs' spellings, and what disagrees with the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env import RULES, Game, Move, NotationError, Outcome
from env.records import Record, format_record, parse_record, record_of, rules_text

BRANDUBH_MOVES = (
    "d2-e2 c4-c5 f4-f5 c5-a5 d6-a6 d5-a5 f5-d5 d3-a3 e2-c2 a5-b5 b4-c4 b5-b4 d1-d3 e4-e2 d3-d2 d4-d3".split()
)

# As another program would write it: no termination of ours, captures in every spelling, information signs, variations.
FOREIGN = """\
[date:2015.05.04]
[event:A club evening]
[result:-1]
[termination:Attackers resign]
[rules:dim:7 name:Brandubh surf:n atkf:y ks:w cenh: cenhe:tcnkm start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/]
[start-comment:Played at the
kitchen table.]

1. d2-e2 c4-c5
[A usual
beginning.|]

2. f4-f5 c5-a5
3. d6-a6xta5 d5-a5xa6
[|takes back]

4. f5-d5 d3-a3xa4
4a.1.1a. f5-e5 d3-d1
[never played|]
5. e2-c2 a5-b5+
6. b4-c4 b5-b4x
7. d1-d3 e4-e2
8. d3-d2 Kd4-d3-
"""


def played(moves, rules="brandubh") -> Game:
    game = Game(rules)
    for move in moves:
        game.play(move)
    return game


def test_what_is_written():
    game = played(BRANDUBH_MOVES)
    game.resign("attackers")
    record = record_of(game, comments={1: "usual", 4: "bold"}, attackers="Ann", time_control="600")
    assert format_record(record) == (
        "[attackers:Ann]\n"
        "[time-control:600]\n"
        "[result:-1]\n"
        "[termination:resignation]\n"
        "[rules:dim:7 name:Brandubh atkf:y surf:n tfr:l ks:w cenh: cenhe:tcnkm "
        "start:/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/]\n"
        "\n"
        "1. d2-e2 c4-c5\n"
        "[usual|]\n"
        "2. f4-f5 c5-a5\n"
        "[|bold]\n"
        "3. d6-a6xa5 d5-a5xa6\n"
        "4. f5-d5 d3-a3xa4\n"
        "5. e2-c2 a5-b5\n"
        "6. b4-c4 b5-b4xc4\n"
        "7. d1-d3 e4-e2\n"
        "8. d3-d2 Kd4-d3\n"
        "9. ---\n"
    )


def test_what_another_program_wrote():
    record = parse_record(FOREIGN)
    assert record.rules is RULES["brandubh"]
    assert record.moves == [Move.parse(move) for move in BRANDUBH_MOVES]
    assert (record.result, record.reason, record.layout) == ("defenders", None, "standard")
    assert record.tags["termination"] == "Attackers resign"
    assert record.tags["start-comment"] == "Played at the\nkitchen table."
    assert record.comments == {1: "A usual\nbeginning.", 6: "takes back"}
    assert record.game().outcome is None  # the record does not say in our words how it ended
    assert parse_record(format_record(record)) == record


def test_several_captures_are_read_in_both_spellings():
    for captures in ("xb3/c2/d3", "xb3xc2xd3", "xd3/b3xc2", "x", ""):
        text = f"[rules:dim:7 name:Brandubh start:/2t4/2T4/tT1Tt2/7/7/5K1/2t4/]\n\n1. c7-c3{captures}\n"
        assert parse_record(text).game().captured == ["b3", "c2", "d3"]


def test_starts_are_read_in_either_order():
    ours = "/2t4/5K1/7/7/tT1Tt2/2T4/2t4/"
    for key, position in (("start", "/2t4/2T4/tT1Tt2/7/7/5K1/2t4/"), ("starti", ours)):
        record = parse_record(f"[rules:dim:7 name:Brandubh {key}:{position}]\n")
        assert (record.position, record.layout) == (ours, None)
    assert rules_text(RULES["brandubh"], ours, "defenders").endswith("start:/2t4/2T4/tT1Tt2/7/7/5K1/2t4/")


def end_resigned_by_mover(game):
    game.resign(game.to_play)


def end_resigned_by_other(game):
    game.resign({"attackers": "defenders", "defenders": "attackers"}[game.to_play])


def end_forfeit(game):
    game.forfeit("attackers")


def end_agreed(game):
    if game.rules.agreement and game.ply:
        game.offer_draw()
        game.accept_draw()


ENDS = (None, end_resigned_by_mover, end_resigned_by_other, end_forfeit, end_agreed)
words = st.text(
    st.characters(codec="utf-8", exclude_characters="[]|", exclude_categories=("Cs", "Cc")), max_size=20
).map(str.strip)


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
@given(seed=st.integers(0, 2**32 - 1), plies=st.integers(0, 60), end=st.sampled_from(ENDS), comment=words, player=words)
def test_records_round_trip(rules, seed, plies, end, comment, player):
    rng = np.random.default_rng(seed)
    layouts = [*rules.layouts, None]
    layout = layouts[rng.integers(len(layouts))]
    game = Game(rules, layout)
    for ply in range(plies):
        if layout is None and ply == plies // 2 and game.outcome is None:
            game = Game.from_position(rules, game.position, game.to_play)
        if game.outcome is not None:
            break
        actions = game.legal_actions()
        game.play_action(actions[rng.integers(len(actions))])
    if end and game.outcome is None:
        end(game)
    comments = {1 + int(rng.integers(game.ply)): comment} if comment and game.ply else {}
    record = record_of(game, comments, defenders=player)
    back = parse_record(format_record(record))
    assert back == record
    again = back.game()
    assert (again.position, again.outcome, again.moves) == (game.position, game.outcome, game.moves)
    assert again.start == game.start


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "problem"),
    [
        ("f4-f5 ", "f4-f9 ", 13, 8, "turn 2: there is no rank 9"),
        ("f4-f5 ", "f4~f5 ", 13, 6, "turn 2: a hyphen belongs here"),
        ("f4-f5 ", "f4-a4 ", 13, 4, "turn 2, f4-a4 is illegal: blocked by the defender on e4"),
        ("f4-f5 ", "c5-c6 ", 13, 4, "turn 2, c5-c6 is illegal: not your piece"),
        ("f4-f5 ", "f4-f5xe5 ", 13, 9, "turn 2, f4-f5: takes nothing by the rules, not e5"),
        ("f4-f5 ", "f4-f5x ", 13, 9, "takes nothing"),
        ("f4-f5 ", "f4-f5++ ", 13, 9, "said to end the game"),
        ("f4-f5 ", "f4-f5! ", 13, 9, "belongs to no move"),
        ("f4-f5 ", "Kf4-f5 ", 13, 4, "the king is not on f4"),
        ("xta5", "xta6", 14, 9, "takes a5 by the rules, not a6"),
        ("2. f4", "3. f4", 13, 1, "turn 2 is expected here, not 3"),
        ("c5-a5\n", "\n", 14, 1, "turn 2 has 1 moves"),
        ("c5-a5\n", "c5-a5 d6-a6\n", 13, 16, "turn 2 has two moves already"),
        ("1. d2", "d2", 9, 1, "begins with its number"),
        ("[result:-1]", "[result:2]", 3, 9, "'2' is no result"),
        ("[result:-1]", "[result:-1]\n[result:1]", 4, 1, "appears twice"),
        ("[result:-1]", "[result]", 3, 1, "[name:value]"),
        ("|takes back]", "|takes back", 15, 1, "never closed"),
        ("|takes back]", "|takes|back]", 15, 1, "more than two comments"),
        ("name:Brandubh", "name:Fetlar", 5, 19, "no game is called 'Fetlar'"),
        ("dim:7", "dim:9", 5, 12, "dim:9, but Brandubh has 7"),
        ("atkf:y", "atkf:x", 5, 40, "atkf:x"),
        ("/3T3/3t3/3t3/]", "/3T3/3t3/3t4/]", 5, 102, "more than 7 squares"),
    ],
)
def test_errors_name_line_and_column(old, new, line, column, problem):
    assert FOREIGN.count(old) == 1
    with pytest.raises(NotationError) as raised:
        parse_record(FOREIGN.replace(old, new), source="evening.otg")
    assert problem in str(raised.value)
    assert (raised.value.line, raised.value.column) == (line, column)
    assert str(raised.value).startswith(f"evening.otg, line {line}, column {column}: ")


HEAD = "[variant:brandubh]\n"
CORNERED = "[rules:dim:7 name:Brandubh atkf:n start:/7/7/7/K6/3T3/6t/7/]\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "does not say which game"),
        ("1. d2-e2 c4-c5\n", "does not say which game"),
        (HEAD + "[comment before all turns]\n", "[name:value]"),
        (HEAD + "[position:/7/]\n", "'position' is not read"),
        (HEAD + "1. d2-e2\n[a|b]\n", "a move that is not there"),
        (HEAD + "1. --- c4-c5\n", "nothing follows a resignation"),
        (HEAD + "[result:1]\n1. ---\n", "the attackers resign"),
        (HEAD + "[termination:agreement]\n1. d2-e2 ---\n", "the defenders resign"),
        (HEAD + "[result:0]\n[termination:agreement]\n1. d2-e2\n", "Brandubh know no draw"),
        ("[variant:tawlbwrdd]\n[result:0]\n[termination:agreement]\n", "nobody has moved"),
        (HEAD + "[termination:resignation]\n1. d2-e2\n", "has a winner"),
        (HEAD + "[result:1]\n[termination:king_captured]\n1. d2-e2\n", "the game goes on"),
        ("[result:1]\n" + CORNERED + "1. Ka4-a1--\n", "by the rules it is -1 by king_escaped"),
        ("[result:-1]\n[termination:resignation]\n" + CORNERED + "1. Ka4-a1--\n", "by the rules"),
        (CORNERED + "1. Ka4-a1-- ---\n", "after the game is over"),
        (CORNERED + "1. Ka4-a1-- g2-g3\n", "the game is over"),
    ],
)
def test_records_that_contradict_themselves_are_refused(text, problem):
    with pytest.raises(NotationError) as raised:
        parse_record(text)
    assert problem in str(raised.value)


def test_an_end_on_the_board_needs_no_tags():
    record = parse_record(CORNERED + "1. a4-a1\n")
    assert (record.result, record.reason, record.to_play) == ("defenders", "king_escaped", "defenders")
    assert record.game().outcome == Outcome("defenders", "king_escaped")


def test_a_captured_king_may_be_listed():
    text = "[rules:dim:7 name:Brandubh start:/2t4/7/tT1Kt2/7/7/7/7/]\n1. c1-c3{}\n"
    for captures in ("xb3/d3", "xb3xKd3++", "xb3++", "++"):
        assert parse_record(text.format(captures)).reason == "king_captured"
    with pytest.raises(NotationError, match="takes b3, d3 by the rules, not d3"):
        parse_record(text.format("xd3"))


def test_the_game_may_be_given_by_the_caller():
    assert parse_record("1. d2-e2\n", RULES["brandubh"]).moves == [Move("d2", "e2")]
    odd = FOREIGN.replace("name:Brandubh", "name:Brandub_of_the_club")
    assert parse_record(odd, RULES["brandubh"]).result == "defenders"
    with pytest.raises(NotationError, match="dim:7, but Tawlbwrdd has 11"):
        parse_record(FOREIGN, RULES["tawlbwrdd"])


def test_a_record_that_the_rules_forbid_is_not_written():
    record = Record(RULES["brandubh"], RULES["brandubh"].layouts["standard"], "attackers", [Move("d1", "d3")])
    with pytest.raises(ValueError, match="d1-d3 is illegal"):
        format_record(record)
    record.moves = [Move("d2", "e2")]
    for field, value, problem in (
        ("comments", {1: "a|b"}, r"comment on ply 1 holds '\|'"),
        ("comments", {2: "late"}, "comment on ply 2"),
        ("tags", {"event": "final]"}, "tag 'event' holds"),
        ("tags", {"result": "1"}, "written from the record itself"),
        ("tags", {"a b": "1"}, "no name for a tag"),
        ("reason", "resignation", "has a winner"),
    ):
        kept = getattr(record, field)
        setattr(record, field, value)
        with pytest.raises(ValueError, match=problem):
            format_record(record)
        setattr(record, field, kept)
    assert format_record(record).endswith("1. d2-e2\n")
