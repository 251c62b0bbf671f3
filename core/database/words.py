"""Search for words in names: with an index on PostgreSQL, by comparing every row on other engines."""

import re
from typing import Any, TypeVar

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchVectorField
from django.db import connections, models
from django.db.models import Func, Q, QuerySet

Row = TypeVar("Row", bound=models.Model)

_WORD = re.compile(r"[^\W_]+")
# Characters of the longest text that is searched for; no name is as long.
LONGEST = 200


class Words(Func):
    """The words of a column, in lower case and without regard to any language."""

    template = "to_tsvector('simple', %(expressions)s)"
    output_field = SearchVectorField()


class WordIndex(models.Index):
    """Index of the words of one column, for with_words(). On other engines than PostgreSQL it is an ordinary index."""

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        if schema_editor.connection.vendor != "postgresql":
            return super().create_sql(model, schema_editor, using, **kwargs)
        return GinIndex(Words(*self.fields), name=self.name).create_sql(model, schema_editor, using, **kwargs)


def with_words(rows: "QuerySet[Row]", column: str, text: str) -> "QuerySet[Row]":
    """Return the rows whose column has all words of `text`; the last word may be the beginning of a longer one.

    Letter case does not matter. A text without a letter or digit, or of more than 200 characters, finds nothing.
    """
    words = _WORD.findall(text)
    if not words or len(text) > LONGEST:
        return rows.none()
    if connections[rows.db].vendor != "postgresql":
        return rows.filter(*(Q(**{f"{column}__iregex": rf"(^|[^a-z0-9]){re.escape(word)}"}) for word in words))
    # Only letters and digits are left of the text, so no operator of the query language can be among them.
    query = SearchQuery(" & ".join(f"'{word}'" for word in words) + ":*", search_type="raw", config="simple")
    indexed: Any = rows.alias(words_of_it=Words(column))
    found: QuerySet[Row] = indexed.filter(words_of_it=query)
    return found
