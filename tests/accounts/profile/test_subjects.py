"""Pairwise subjects: made at first use, the same ever after, telling nothing."""

import pytest
from django.db import IntegrityError, transaction

from accounts.models import PairwiseSubject
from accounts.profile.subjects import subject_for
from tests.at_once import at_once
from tests.factories import make_account

pytestmark = pytest.mark.django_db


def test_the_same_person_in_the_same_sector_has_the_same_subject() -> None:
    account = make_account()
    assert subject_for(account, "prj_a") == subject_for(account, "prj_a")
    assert PairwiseSubject.objects.count() == 1


def test_another_sector_and_another_person_have_others() -> None:
    one, other = make_account(), make_account()
    subjects = [subject_for(one, "prj_a"), subject_for(one, "prj_b"), subject_for(other, "prj_a")]
    assert len({subject.sub for subject in subjects}) == 3
    assert len({subject.picture_key for subject in subjects}) == 3


def test_a_sub_is_random_and_at_most_64_characters() -> None:
    account = make_account(pk=987_654_321)
    for number in range(20):
        subject = subject_for(account, f"prj_{number}")
        assert 22 <= len(subject.sub) <= 64
        assert subject.sub.isalnum()
        assert "987654321" not in subject.sub
        assert subject.sub != subject.picture_key


def test_the_database_itself_allows_one_per_person_and_sector() -> None:
    account = make_account()
    first = subject_for(account, "prj_a")
    for clash in (
        {"account": account, "sector": "prj_a", "sub": "x", "picture_key": "x"},
        {"account": make_account(), "sector": "prj_b", "sub": first.sub, "picture_key": "y"},
        {"account": make_account(), "sector": "prj_c", "sub": "z", "picture_key": first.picture_key},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            PairwiseSubject.objects.create(**clash)


def test_a_deleted_person_leaves_none_and_a_new_one_gets_another() -> None:
    account = make_account("same@example.com")
    before = subject_for(account, "prj_a").sub
    account.delete()
    assert not PairwiseSubject.objects.exists()
    assert subject_for(make_account("same@example.com"), "prj_a").sub != before


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_many_that_ask_at_once_get_the_one() -> None:
    account = make_account()

    def ask(number: int) -> str:
        with transaction.atomic():
            return subject_for(account, f"prj_{number % 2}").sub

    assert len(set(at_once(12, ask))) == PairwiseSubject.objects.count() == 2
