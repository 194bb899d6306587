# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
import pytest

from soro_launch.substitution_text import Call, parse_text, SubstitutionError


@pytest.mark.parametrize(
    ('text', 'pieces'),
    [
        ('', ('',)),
        ('plain $ text', ('plain $ text',)),
        ('$(var a)', (Call('var', (('a',),)),)),
        ('x$(var a)y', ('x', Call('var', (('a',),)), 'y')),
        ('$(dirname)', (Call('dirname', ()),)),
        (
            '$(and true $(not $(var b)))',
            (Call('and', (('true',), (Call('not', ((Call('var', (('b',),)),),)),))),),
        ),
        (
            "$(command 'echo $(var a) b')",
            (Call('command', (('echo ', Call('var', (('a',),)), ' b'),)),),
        ),
        ('$(equals \'\' "")', (Call('equals', (('',), ('',))),)),
        (r'\$(var a)', ('$(var a)',)),
        (r'$(var a\)b)', (Call('var', (('a)b',),)),)),
        ('a "quoted" text', ('a "quoted" text',)),
        (
            '$(env HOME)/$(var a b)',
            (Call('env', (('HOME',),)), '/', Call('var', (('a',), ('b',)))),
        ),
    ],
)
def test_texts_are_split(text, pieces):
    assert parse_text(text) == pieces


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('$(var a', 'closing )'),
        ('$()', 'a name must follow'),
        ('$( var a)', 'a name must follow'),
        ('$(var  a)', 'exactly one space'),
        ('$(var a )', 'exactly one space'),
        ("$(command 'echo)", "closing ' is missing"),
        ('$(equals a(b c)', 'quoted or escaped'),
        ("$(equals a'b c)", 'quoted or escaped'),
        ("$(equals 'a'b c)", 'a space or )'),
    ],
)
def test_broken_texts_are_refused(text, reason):
    with pytest.raises(SubstitutionError, match=reason.replace(')', r'\)')):
        parse_text(text)
