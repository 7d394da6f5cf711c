"""A reply names an option, none, or more than it can mean: never a silent A (FIELD 17)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.choices import LETTERS, as_published, strict

ITEMS = [f"pick up item with label {n}" for n in (1, 0, 12, 2)]
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
    # not this, but that
    ("Not A but B", ITEMS, "B"),
    ("The answer is not A, it is option C", ITEMS, "C"),
    ("It isn't A. It is B.", ITEMS, "B"),
    ("C rather than A", ITEMS, "C"),
    ("I choose B instead of A", ITEMS, "B"),
    ("Do not choose A; choose D", ITEMS, "D"),
    ("A is wrong, so B", ITEMS, "B"),
    # the words of an action, whole
    ("pick up item with label 12", ITEMS, "C"),
    ("I will pick up item with label 1.", ITEMS, "A"),
    ("Pick Up Orange", FRUIT, "A"),
    ("I should 'pick up apple' now", FRUIT, "B"),
    ("I have already collected 3 bananas", FRUIT, "D"),
    ("pick up  item\nwith label 2", ITEMS, "D"),
    ("B) pick up item with label 0", ITEMS, "B"),
    ("B: 'pick up item with label 0'", ITEMS, "B"),
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
        ("Based on all of the information, choose action C.", ITEMS, "C"),
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


@pytest.mark.parametrize("reply", ["Answer: \u212a", "answer: \u0130", "answer: \u0131", "Option \u017f", "\uff22"])
def test_a_letter_that_only_looks_like_one_of_the_options_names_none(reply):
    assert strict(reply, ITEMS).kind == "none"
