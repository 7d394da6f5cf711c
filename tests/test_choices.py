"""A reply names an option, none, or more than it can mean: never a silent A (FIELD 17)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.choices import LETTERS, as_published, strict

ITEMS = [f"pick up item with label {n}" for n in (1, 0, 12, 2)]
PUT = [
    "put the item from backpack A into the basket with label 2",
    "put the item from backpack B into the basket with label 2",
    "put the item from backpack A into the basket with label 0",
    "pick up the item with label 4",
]
SIXTEEN = [f"pick up item with label {n}" for n in range(16)]
FRUIT = ["pick up orange", "pick up apple", "pick up banana", "I have already collected 3 bananas"]

CHOSEN = [
    # what the text gives as examples
    ("<answer >A </answer >", ITEMS, "A"),
    ("A", ITEMS, "A"),
    ("I choose action letter B) 'pick up item with label 0'.", ITEMS, "B"),
    ("Based on all of the information, I choose action C.", ITEMS, "C"),
    # a letter alone, decorated or not
    ("B.", ITEMS, "B"),
    ("(C)", ITEMS, "C"),
    ("**D**", ITEMS, "D"),
    ("d", ITEMS, "D"),
    ("`B`\n", ITEMS, "B"),
    ("\\boxed{C}", ITEMS, "C"),
    ("\u201cA\u201d", ITEMS, "A"),
    # a cue, also before lower case
    ("Answer: d", ITEMS, "D"),
    ("answer is b", ITEMS, "B"),
    ("The answer is (c).", ITEMS, "C"),
    ("Final answer: **B**", ITEMS, "B"),
    ("My choice: A", ITEMS, "A"),
    ("The best option would be C", ITEMS, "C"),
    ("I'll go with D", ITEMS, "D"),
    ("Option B", ITEMS, "B"),
    ("I select option (b)", ITEMS, "B"),
    ("choose letter C!", ITEMS, "C"),
    ("Action = D", ITEMS, "D"),
    # an article or a pronoun is no letter
    ("A good choice is C", ITEMS, "C"),
    ("A key is needed, so the answer is B.", ITEMS, "B"),
    ("I see an apple, so I choose B", FRUIT, "B"),
    ("I think that I would pick D", ITEMS, "D"),
    ("A: I see a banana. The answer is C", FRUIT, "C"),
    # the last commitment wins over mentions
    ("Option A would pick up the wrong one. The answer is B.", ITEMS, "B"),
    ("A) leads nowhere, B) too. I choose C.", ITEMS, "C"),
    ("The answer is A. Wait, the answer is D.", ITEMS, "D"),
    ("First I thought of option B. Final answer: C", ITEMS, "C"),
    ("I would choose A... no, I choose B", ITEMS, "B"),
    ("<think>The answer is A</think> The answer is B", ITEMS, "B"),
    ("<answer>A</answer> Correction: <answer>C</answer>", ITEMS, "C"),
    ("Because A and B fail. <answer>D", ITEMS, "D"),
    # several final answers: the last one, and a commitment that is taken back
    ("Answer: A\nAnswer: B\nAnswer: C", ITEMS, "C"),
    ("Final answer: A. Final answer: D", ITEMS, "D"),
    ("<answer>A</answer><answer>B</answer>", ITEMS, "B"),
    ("The answer is A. No, wait, B.", ITEMS, "B"),
    ("The answer is A. Sorry, I meant B", ITEMS, "B"),
    ("A. Actually B.", ITEMS, "B"),
    ("A? No, B!", ITEMS, "B"),
    ("Answer: C. Wait, B is blocked.", ITEMS, "C"),
    ("I considered A, B, and C. I choose D.", ITEMS, "D"),
    ("Answer: A. B leads nowhere.", ITEMS, "A"),
    # not this, but that
    ("Not A but B", ITEMS, "B"),
    ("The answer is not A, it is option C", ITEMS, "C"),
    ("It isn't A. It is B.", ITEMS, "B"),
    ("C rather than A", ITEMS, "C"),
    ("I choose B instead of A", ITEMS, "B"),
    ("Do not choose A; choose D", ITEMS, "D"),
    ("A is wrong, so B", ITEMS, "B"),
    ("not option A but option B", ITEMS, "B"),
    ("not 'A' but 'B'", ITEMS, "B"),
    ("Not A, not B, but C", ITEMS, "C"),
    ("not A or C but B", ITEMS, "B"),
    ("Neither A nor B, so C", ITEMS, "C"),
    ("A and B are wrong. C.", ITEMS, "C"),
    ("B isn't right, so C", ITEMS, "C"),
    ("B, not A.", ITEMS, "B"),
    ("<answer>not A but B</answer>", ITEMS, "B"),
    ("Not pick up item with label 1 but pick up item with label 0", ITEMS, "B"),
    # lower case after a cue
    ("answer:d", ITEMS, "D"),
    ("answer: 'b'", ITEMS, "B"),
    ("choice: b.", ITEMS, "B"),
    ("letter c", ITEMS, "C"),
    ("option a", ITEMS, "A"),
    ("go with c.", ITEMS, "C"),
    ("the answer is a", ITEMS, "A"),
    ("<answer>a</answer>", ITEMS, "A"),
    # a letter inside an option is no option
    ("put the item from backpack A into the basket with label 0", PUT, "C"),
    ("C: put the item from backpack A into the basket with label 0", PUT, "C"),
    ("The item in backpack B belongs in basket 0, so C", PUT, "C"),
    ("The item in backpack A belongs in basket 2. Answer: D", PUT, "D"),
    # the words of an action, whole
    ("pick up item with label 12", ITEMS, "C"),
    ("I will pick up item with label 1.", ITEMS, "A"),
    ("Pick Up Orange", FRUIT, "A"),
    ("I should 'pick up apple' now", FRUIT, "B"),
    ("I have already collected 3 bananas", FRUIT, "D"),
    ("pick up  item\nwith label 2", ITEMS, "D"),
    ("B) pick up item with label 0", ITEMS, "B"),
    ("B: 'pick up item with label 0'", ITEMS, "B"),
    # words that begin as a cue does are none: 'options' is not 'option s'
    ("Answer: B. The other options are blocked.", ITEMS, "B"),
    ("Of the four options, B is best.", ITEMS, "B"),
    ("B. It picks up the key.", ITEMS, "B"),
    ("Option B picks up the key.", ITEMS, "B"),
    ("**B**\nThe other options are blocked.", ITEMS, "B"),
    ("B is chosen", ITEMS, "B"),
    ("B is chosen", SIXTEEN, "B"),
    ("All actions, choices and letters considered: C", ITEMS, "C"),
    # what explains a commitment takes nothing back
    ("Final answer: B. (Option D needs a key first.)", ITEMS, "B"),
    ("**B**\n\nExplanation: option D needs a key first.", ITEMS, "B"),
    ("Choose B because action A is blocked", ITEMS, "B"),
    ("B\n\nOption A: blocked.\nOption B: free.\nOption C: blocked.", ITEMS, "B"),
    ("A) pick up item with label 1\nB) pick up item with label 0\nThe answer is B", ITEMS, "B"),
    ("B is the correct answer, although option C looked good", ITEMS, "B"),
    ("The answer is option C", ITEMS, "C"),
    ("Therefore B. Option A leads nowhere.", ITEMS, "B"),
    # what is only supposed is no commitment
    ("If I choose A, I lose. So B it is", ITEMS, "B"),
    ("Choosing A would end the game. Answer: D", ITEMS, "D"),
    ("If the answer is A, the door stays shut. I pick C", ITEMS, "C"),
    ("I don't think it is A. Therefore B", ITEMS, "B"),
    ("A leads to label 1. Final answer: B", ITEMS, "B"),
    ("A is at label 12. I choose B", ITEMS, "B"),
    # the letter A before a word that no article stands before, as any other letter
    ("I choose A to get the key.", ITEMS, "A"),
    ("I choose B to get the key.", ITEMS, "B"),
    ("I'll go with A for now", ITEMS, "A"),
    ("The answer is A for this step.", ITEMS, "A"),
    ("choose A not B", ITEMS, "A"),
    ("choose B not A", ITEMS, "B"),
    # the end of a thought whose beginning stands in the prompt
    ("so the answer is A. Hmm no.</think>\n\nB", ITEMS, "B"),
    ("A is blocked, the key is C.</think>\nB", ITEMS, "B"),
    ("Slot B is empty. Answer: C", PUT, "C"),
    # other languages and forms
    ('{"action": "B", "reason": "A is blocked"}', ITEMS, "B"),
    ("R\u00e9ponse : B", ITEMS, "B"),
    ("\u7b54\u6848\u662fB", ITEMS, "B"),
    # one letter among words
    ("It must be C, I am sure", ITEMS, "C"),
    ("B, since the path is free", ITEMS, "B"),
    ("So: D) because nothing else works", ITEMS, "D"),
]
AMBIGUOUS = [
    ("A or B", ITEMS),
    ("Either B or C works", ITEMS),
    ("A and C", ITEMS),
    ("A) and B) are both fine", ITEMS),
    ("pick up item with label 1 or pick up item with label 2", ITEMS),
    ("B) 'pick up item with label 2'", ITEMS),
    ("The answer is B: pick up item with label 1", ITEMS),
    ("Answer: A or B", ITEMS),
    ("Answer: A and B", ITEMS),
    ("Answer: A, B", ITEMS),
    ("Answer: A (or B)", ITEMS),
    ("I choose A or option B", ITEMS),
    ("A/B", ITEMS),
    ("A, B, C or D", ITEMS),
    ("<answer>A or B</answer>", ITEMS),
    ("Step 1: A\nStep 2: B", ITEMS),
    ("Step 1: pick A. Step 2: pick B.", ITEMS),
    ("1. pick A\n2. pick B", ITEMS),
    ("Option B is free, option A is blocked", ITEMS),
    ("At first it looked like A. But it could be B", ITEMS),
    ("A\nB\nC", ITEMS),
    ("Choose A, then B.", ITEMS),
    ("So A, B and C are free", ITEMS),
]
NOTHING = [
    ("", ITEMS),
    ("   \n", ITEMS),
    ("I'm sorry, but I can't provide the correct answer as the image does not contain a dog.", ITEMS),
    ("...?-=\\== ..n\\n The-1\\n\\n The-1", ITEMS),
    ("I refuse. Can't decide.", ITEMS),
    ("Z", ITEMS),
    ("The answer is Q", ITEMS),
    ("A dog sits on the mat", ITEMS),
    ("I choose a key", ITEMS),
    ("pick up item with label 3", ITEMS),
    ("None of A's neighbours", ITEMS),
    ("DNA and CO2", ITEMS),
    ("not A", ITEMS),
    ("<answer></answer>", ITEMS),
    ("The answer is not A.", ITEMS),
    ("A or B is wrong", ITEMS),
    ("There is no B", ITEMS),
    ("I would say b", ITEMS),
    ("AB", ITEMS),
    ("I take the item from backpack A and put it in basket 0", PUT),
    ("Put the item from backpack B into the basket", PUT),
    ("The right piece is in slot B.", PUT),
    ("The missing piece is B.", PUT),
    ("I do not want to continue", ["continue"]),
    ("Many options, letters and choices", SIXTEEN),
]


@pytest.mark.parametrize(("reply", "actions", "letter"), CHOSEN)
def test_a_commitment_is_read(reply, actions, letter):
    decoded = strict(reply, actions)
    assert (decoded.kind, decoded.index) == ("chosen", LETTERS.index(letter)), decoded


@pytest.mark.parametrize(("reply", "actions"), AMBIGUOUS)
def test_two_options_without_a_commitment_are_ambiguous(reply, actions):
    assert (strict(reply, actions).kind, strict(reply, actions).index) == ("ambiguous", None)


@pytest.mark.parametrize(("reply", "actions"), NOTHING)
def test_a_reply_that_names_no_option_is_none(reply, actions):
    assert (strict(reply, actions).kind, strict(reply, actions).index) == ("none", None)


@pytest.mark.parametrize(
    ("reply", "actions", "letter"),
    [
        ("<answer >A </answer >", ITEMS, "A"),
        ("A", ITEMS, "A"),
        ("I choose action letter B) 'pick up item with label 0'.", ITEMS, "B"),
        ("Based on all of the information, I choose action C.", ITEMS, "C"),
        ("I'm sorry, but I can't provide the correct answer as the image does not contain a dog.", ITEMS, None),
        ("...?-=\\== ..n\\n The-1\\n\\n The-1", ITEMS, None),
        ("A good choice is C", ITEMS, "A"),  # what it misreads
        ("pick up item with label 12", ITEMS, "A"),
        ("Answer: d", ITEMS, None),
        ("not A but B", ITEMS, "A"),
    ],
)
def test_the_published_decoder_reads_what_the_text_says_it_reads(reply, actions, letter):
    assert as_published(reply, actions).index == (None if letter is None else LETTERS.index(letter))


@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=12), max_size=16, unique=True))
def test_whatever_the_reply_an_index_is_one_of_the_options(reply, actions):
    for decode in (strict, as_published):
        decoded = decode(reply, actions)
        assert (decoded.index is None) == (decoded.kind != "chosen")
        assert decoded.index is None or 0 <= decoded.index < len(actions)


@given(st.integers(0, 3), st.sampled_from(["{}", "The answer is {}.", "<answer>{}</answer>", "Option {}", "({})"]))
def test_every_letter_is_read_in_every_form(index, form):
    assert strict(form.format(LETTERS[index]), ITEMS).index == index


SCRAPS = [
    *(
        "A",
        "B",
        "C",
        "D",
        "a",
        "I",
        "B)",
        "(C)",
        "`A`",
        "**B**",
        "A,",
        "B;",
        "C?",
        "D!",
        "the",
        "key",
        "door",
        "is",
        "so",
    ),
    *(
        "not",
        "or",
        "and",
        "neither",
        "nor",
        "instead",
        "of",
        "no,",
        "wait",
        "but",
        "if",
        "could",
        "then",
        "because",
        "it",
    ),
    *("answer", "Answer:", "option", "option.", "choose", "best", "Step", "3:", "1.", "12", "label", "item", "wrong"),
]
COMMITMENTS = (
    ". Final answer: {}",
    ".\n\nAnswer: {}.",
    ". The answer is {}",
    ".\nTherefore, the answer is ({}).",
    ". So my final choice is option {}.",
    ". <answer>{}</answer>",
    ". I choose {}.",
)


@given(st.lists(st.sampled_from(SCRAPS), max_size=14), st.integers(0, 3), st.sampled_from(COMMITMENTS))
def test_whatever_was_said_before_a_commitment_at_the_end_is_the_answer(words, index, form):
    reply = " ".join(words) + form.format(LETTERS[index])
    assert strict(reply, ITEMS).index == index, reply


def test_there_are_far_more_than_sixty_cases() -> None:
    assert len(CHOSEN) + len(AMBIGUOUS) + len(NOTHING) > 100
    assert len({reply for reply, *_ in [*CHOSEN, *AMBIGUOUS, *NOTHING]}) > 100


@pytest.mark.parametrize(
    "letter",
    [
        "\u212a",  # KELVIN SIGN: a K to whoever folds case
        "\u0130",  # I with a dot, and i without one
        "\u0131",
        "\u017f",  # long s
        "\uff22",  # wide, circled, bold and Cyrillic
        "\u24b6",
        "\U0001d400",
        "\u0410",
        "A\u0301",  # with an accent of its own
    ],
)
@pytest.mark.parametrize("form", ["{}", "Answer: {}", "answer: {}.", "Option {}", "<answer>{}</answer>", "I choose {}"])
def test_a_letter_that_only_looks_like_one_of_the_options_names_none(letter: str, form: str) -> None:
    many = [f"pick up item with label {number}" for number in range(16)]
    assert strict(form.format(letter), many).kind == "none"


@pytest.mark.parametrize(
    "unit",
    [
        "A ",
        "A, ",
        "not A ",
        "A or ",
        "A is wrong ",
        "<think>",
        "<answer>",
        "answer ",
        "final ",
        "wait, no, ",
        '"',
        "\n",
    ],
)
def test_reading_takes_time_by_the_length_of_a_reply_alone(unit: str) -> None:
    began = time.process_time()
    for length in (20_000, 40_000):
        strict(f"Answer: B. {unit * (length // len(unit))}", ITEMS)
    assert (
        time.process_time() - began < 5
    )  # 0.2 s where the work grows with the length, and far more where it grows faster
