from accounts.models.people import Account, PairwiseSubject

__all__ = ["Account", "PairwiseSubject"]
